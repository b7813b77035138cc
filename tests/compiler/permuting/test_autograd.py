"""The derivative of permute is permute by the inverse."""

import pytest
import torch
from hypothesis import given

from algebra import AffineLayout
from compiler import permute
from compiler.permutations import from_columns
from compiler.permuting.execute import Backend
from compiler.permuting.index_map import IndexMap
from verify.strategies.layouts import affine_layouts

ROTATE = from_columns([2, 4, 1])


@given(affine_layouts(max_bits=6))
def test_gradients_go_back_where_they_came_from(layout: AffineLayout) -> None:
    size = 2 << IndexMap.from_layout(layout).bits
    tensor = torch.arange(float(size), requires_grad=True)
    weight = torch.randn(size, generator=torch.Generator().manual_seed(0))
    (permute(tensor, layout) * weight).sum().backward()
    assert tensor.grad is not None
    assert torch.equal(tensor.grad, permute(weight, layout.invert()))


@pytest.mark.parametrize("backend", ["cpp", "torch", "interpreter"])
def test_first_and_second_derivatives(backend: Backend) -> None:
    tensor = torch.randn(4, dtype=torch.float64, requires_grad=True)
    swap = from_columns([2, 1])

    def cubed(x: torch.Tensor) -> torch.Tensor:
        return permute(x, swap, backend=backend) ** 3

    assert torch.autograd.gradcheck(cubed, (tensor,))
    assert torch.autograd.gradgradcheck(cubed, (tensor,))


def test_nothing_is_recorded_without_need() -> None:
    tensor = torch.randn(8, requires_grad=True)
    with torch.no_grad():
        assert not permute(tensor, ROTATE).requires_grad
    assert not permute(tensor.detach(), ROTATE).requires_grad
