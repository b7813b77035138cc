"""The exponential in a compiled model: one operator forward, one backward, no block."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import manifolds.expm.rewrite
from compiler.lower import REWRITES
from manifolds import orthogonal


@pytest.mark.parametrize("shape", [(5, 5), (2, 5, 5)])
def test_matrix_exp_and_its_gradient(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch's own exponential is not called, in either pass."""

    def f(x: Tensor) -> Tensor:
        upper = x.triu(1)
        return (torch.matrix_exp(upper - upper.mT) * 2).sin()

    x = torch.randn(shape, requires_grad=True)
    gradient = torch.randn(shape)
    expected = f(x)
    (slope,) = torch.autograd.grad(expected, x, gradient)
    counts = []
    rewrites = [lambda g: counts.append(manifolds.expm.rewrite.use_frechet(g))]
    monkeypatch.setattr("compiler.lower.REWRITES", rewrites)
    compiled: Any = torch.compile(f, backend="tilewright")
    value = compiled(x)
    (found,) = torch.autograd.grad(value, x, gradient)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, slope, rtol=1e-5, atol=1e-5)
    assert counts == [1, 1]
    torch._dynamo.reset()


def test_an_orthogonal_layer_trains_compiled() -> None:
    assert manifolds.expm.rewrite.use_frechet in REWRITES
    torch.manual_seed(0)
    layers = [nn.Linear(6, 6, bias=False) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    plain, other = (orthogonal(layer, "weight") for layer in layers)
    compiled: Any = torch.compile(other, backend="tilewright")
    x = torch.randn(3, 6)
    for layer in (plain, compiled):
        layer(x).square().cumsum(0).sum().backward()
    for one, two in zip(plain.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-5, atol=1e-5)
    torch._dynamo.reset()
