from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from verify.oracle import Wheel


@pytest.fixture(scope="session")
def wheel() -> Iterator[Wheel]:
    """The installed Triton, in a child process."""
    if find_spec("triton") is None:
        pytest.skip("needs the triton wheel")
    with Wheel() as judge:
        yield judge
