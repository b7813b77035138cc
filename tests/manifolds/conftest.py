import pytest
import torch


@pytest.fixture(autouse=True)
def repeatable() -> None:
    """The same random tensors in each run."""
    torch.manual_seed(0)
