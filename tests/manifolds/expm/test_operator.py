from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from manifolds import orthogonal, rebase_after_steps
from manifolds.expm import expm, frechet
from manifolds.expm.operator import frechet_operator


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_it_is_the_function(dtype: torch.dtype) -> None:
    a, e, f = torch.randn(3, 2, 3, 3, dtype=dtype)
    assert torch.equal(frechet_operator(a, []), expm(a))
    assert torch.equal(frechet_operator(a, [e, f]), frechet(a, e, f))


def test_gradients_of_both_orders() -> None:
    a, e = torch.randn(2, 3, 3, dtype=torch.float64)
    inputs = (a.requires_grad_(), e.requires_grad_())

    def operator(x: Tensor, y: Tensor) -> Tensor:
        value: Tensor = frechet_operator(x, [y])
        return value

    assert torch.autograd.gradcheck(operator, inputs)
    assert torch.autograd.gradgradcheck(operator, inputs)


def test_it_keeps_the_rules_of_operators() -> None:
    a, e = torch.randn(2, 3, 3, dtype=torch.float64)
    checked = torch.library.opcheck(
        frechet_operator,
        (a.requires_grad_(), [e]),
        test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
    )
    assert set(checked.values()) == {"SUCCESS"}


class Counter:
    """A backend that counts graphs and runs them as they are."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: Any, inputs: Any) -> Callable[..., Any]:
        self.graphs += 1
        forward: Callable[..., Any] = graph.forward
        return forward


def test_one_graph_serves_all_bases() -> None:
    """Whole graph, and no new one when the base moves."""
    layer = orthogonal(nn.Linear(4, 4, bias=False), every=1, project_every=2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    rebase_after_steps(optimizer, layer)
    counter = Counter()
    compiled: Any = torch.compile(layer, backend=counter, fullgraph=True)
    for _ in range(5):
        optimizer.zero_grad()
        out = compiled(torch.ones(1, 4))
        torch.testing.assert_close(out, layer(torch.ones(1, 4)))
        out.sum().backward()
        optimizer.step()
    assert counter.graphs == 1
    torch._dynamo.reset()


def test_differentiated_graphs() -> None:
    """Through AOTAutograd: forward and backward are graphs of the operator."""

    def f(x: Tensor) -> Tensor:
        return expm(x - x.mT).square().cumsum(0).sum()

    x = torch.randn(4, 4, requires_grad=True)
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    (found,) = torch.autograd.grad(compiled(x), x)
    (expected,) = torch.autograd.grad(f(x), x)
    torch.testing.assert_close(found, expected)
    torch._dynamo.reset()
