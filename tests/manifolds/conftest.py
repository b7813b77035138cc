from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def repeatable() -> Iterator[None]:
    """The same random tensors in each run; one thread, for tensors of a few numbers."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
