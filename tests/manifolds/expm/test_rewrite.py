from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn
from torch._dynamo.backends.common import aot_autograd
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.lower import REWRITES
from manifolds import orthogonal
from manifolds.expm.rewrite import use_frechet

DOUBLE = torch.float64
EXP = torch.ops.aten.linalg_matrix_exp.default
FRECHET = torch.ops.tilewright.frechet.default


def targets(graph: fx.GraphModule) -> list[Any]:
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def block(a: Tensor, e: Tensor) -> Tensor:
    upper, lower = torch.cat([a, e], -1), torch.cat([torch.zeros_like(a), a], -1)
    return torch.cat([upper, lower], -2)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
def test_the_backward_pass_has_no_block(shape: tuple[int, ...]) -> None:
    """As AOTAutograd makes it, of a batch too."""
    graphs = []

    def compiler(graph: fx.GraphModule, _: Any) -> Callable[..., Any]:
        count = use_frechet(graph)
        graphs.append((count, targets(graph)))
        forward: Callable[..., Any] = graph.forward

        def boxed(args: list[Any]) -> Any:
            return forward(*args)

        boxed._boxed_call = True  # type: ignore[attr-defined]
        return boxed

    def f(x: Tensor) -> Tensor:
        return torch.matrix_exp(x - x.mT).square().cumsum(-1)

    x = torch.randn(shape, dtype=DOUBLE, requires_grad=True)
    compiled = torch.compile(f, backend=aot_autograd(fw_compiler=compiler))
    gradient = torch.randn(shape, dtype=DOUBLE)
    value = compiled(x)
    (found,) = torch.autograd.grad(value, x, gradient)
    expected = f(x)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(found, torch.autograd.grad(expected, x, gradient)[0])
    assert [count for count, _ in graphs] == [1, 1]
    for _, seen in graphs:
        assert FRECHET in seen and EXP not in seen
        assert torch.ops.aten.cat.default not in seen
    torch._dynamo.reset()


def test_a_block_of_which_more_is_read_stays_a_block() -> None:
    def f(a: Tensor, e: Tensor) -> Tensor:
        return torch.matrix_exp(block(a, e))[:3]

    a, e = torch.randn(2, 3, 3, dtype=DOUBLE)
    graph = make_fx(f)(a, e)
    assert use_frechet(graph) == 1
    assert torch.ops.aten.cat.default in targets(graph)
    torch.testing.assert_close(graph(a, e), f(a, e))


@pytest.mark.parametrize(
    "fault", ["another matrix below", "ones below", "rows swapped", "another corner"]
)
def test_what_only_looks_like_it_is_left_alone(fault: str) -> None:
    def f(a: Tensor, e: Tensor) -> Tensor:
        zero = torch.ones_like(a) if fault == "ones below" else torch.zeros_like(a)
        last = e if fault == "another matrix below" else a
        rows = [torch.cat([a, e], -1), torch.cat([zero, last], -1)]
        if fault == "rows swapped":
            rows.reverse()
        first = 0 if fault == "another corner" else 3
        return torch.matrix_exp(torch.cat(rows, -2))[:3][:, first : first + 3]

    a, e = torch.randn(2, 3, 3, dtype=DOUBLE)
    graph = make_fx(f)(a, e)
    assert use_frechet(graph) == 1
    torch.testing.assert_close(graph(a, e), f(a, e))


def test_a_block_by_hand() -> None:
    def f(a: Tensor, e: Tensor) -> Tensor:
        return torch.matrix_exp(block(a, e))[:3, 3:]

    a, e = torch.randn(2, 3, 3, dtype=DOUBLE)
    graph = make_fx(f)(a, e)
    use_frechet(graph)
    assert targets(graph) == [FRECHET]
    torch.testing.assert_close(graph(a, e), f(a, e))


def test_half_precision_and_other_graphs_are_left_alone() -> None:
    half = make_fx(torch.matrix_exp)(torch.eye(2, dtype=torch.bfloat16))
    assert use_frechet(half) == 0 and EXP in targets(half)
    assert use_frechet(make_fx(torch.sin)(torch.ones(2))) == 0


@pytest.mark.parametrize("shape", [(5, 5), (2, 5, 5)])
def test_the_fusing_compiler_calls_no_exponential_of_torch(
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
    rewrites = [lambda g: counts.append(use_frechet(g))]
    monkeypatch.setattr("compiler.lower.REWRITES", rewrites)
    compiled: Any = torch.compile(f, backend="tilewright")
    value = compiled(x)
    (found,) = torch.autograd.grad(value, x, gradient)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, slope, rtol=1e-5, atol=1e-5)
    assert counts == [1, 1]
    torch._dynamo.reset()


def test_an_orthogonal_layer_trains_compiled() -> None:
    assert use_frechet in REWRITES
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
