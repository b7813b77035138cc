"""The faster of two actions is found, where there is a GPU to time them."""

import pytest
import torch

from compiler.permuting.measurement import fastest


@pytest.mark.gpu
def test_the_shorter_wait_wins() -> None:
    actions = [lambda n=n: torch.cuda._sleep(n) for n in (3_000_000, 100_000)]
    assert fastest(actions) == 1
