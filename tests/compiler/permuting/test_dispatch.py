"""What a call asks for reaches the right place."""

import torch

from compiler import permutations
from compiler.permuting.dispatch import dispatch

SWAP = permutations.transpose(2, 2)


def test_own_width_is_no_special_case() -> None:
    x = torch.arange(4.0)
    assert torch.equal(
        dispatch(x, SWAP, None, "auto", None, 32),
        dispatch(x, SWAP, None, "auto", None, None),
    )


def test_derivatives_are_recorded_only_without_out() -> None:
    x = torch.randn(4, requires_grad=True)
    assert dispatch(x, SWAP, None, "auto", None, None).requires_grad
    with torch.no_grad():
        out = torch.empty(4)
        assert dispatch(x, SWAP, out, "auto", None, None) is out
        assert not dispatch(x, SWAP, None, "auto", None, None).requires_grad
