from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.lower import decompositions
from compiler.lower.softmax import one_pass, statistics
from compiler.torch_api import boxed, differentiate

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@given(data=st.data())
@settings(max_examples=5)
def test_softmax_forward_and_backward(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    x = data.draw(tensors_of(dtypes=FLOATS))
    dim = data.draw(st.integers(-max(x.dim(), 1), max(x.dim() - 1, 0)))
    aten = torch.ops.aten

    def run(x: Any) -> tuple[Any, ...]:
        y, z = x.softmax(dim), x.log_softmax(dim)
        return (
            y,
            z,
            aten._softmax_backward_data(z.cos(), y, dim, x.dtype),
            aten._log_softmax_backward_data(y.cos(), z, dim, x.dtype),
        )

    agree(run, x, ulps=16)


def test_rows_without_a_finite_element(agree: Callable[..., Any]) -> None:
    low = float("-inf")
    x = torch.tensor([[low, low], [low, 0.0], [float("inf"), 1], [float("nan"), 1]])
    agree(lambda x: (x.softmax(1), x.log_softmax(1)), x)


def test_cross_entropy(agree: Callable[..., Any]) -> None:
    loss = torch.nn.functional.cross_entropy
    x, t = torch.randn(5, 7), torch.tensor([0, 6, -100, 2, 3])
    agree(lambda x, t: loss(x, t), x, t, ulps=8)
    agree(lambda x, t: loss(x, t, label_smoothing=0.1, reduction="sum"), x, t, ulps=8)


def test_a_cross_entropy_keeps_its_logits_for_the_backward_pass() -> None:
    sizes: dict[str, list[int]] = {}

    def keep(name: str) -> Any:
        def compiler(graph: Any, inputs: Any) -> Any:
            results = graph.graph.output_node().args[0]
            kept = [n.meta["val"] for n in results if n is not None]
            sizes[name] = sorted(v.numel() for v in kept)
            return boxed(lambda args: graph.forward(*args))

        return compiler

    def backend(graph: Any, inputs: Any) -> Any:
        return differentiate(
            graph,
            inputs,
            forward=keep("forward"),
            backward=keep("backward"),
            inference=keep("inference"),
            decompositions=decompositions(),
        )

    x = torch.randn(64, 32, requires_grad=True, dtype=torch.bfloat16)
    w = torch.randn(100, 32, requires_grad=True, dtype=torch.bfloat16)
    target = torch.randint(100, (64,))

    def loss(x: Any, w: Any, t: Any) -> Any:
        return torch.nn.functional.cross_entropy((x @ w.t()).float(), t)

    compiled = torch.compile(loss, backend=backend)
    compiled(x, w, target).backward()
    # logits [64, 100]; a maximum and a sum for each row; no softmax
    assert [n for n in sizes["forward"] if n >= 6400] == [6400]


def statistics_in(function: Callable[..., Any], *inputs: torch.Tensor) -> int:
    graph = make_fx(function, decompositions(), tracing_mode="fake")(*inputs)
    one_pass(graph)
    found = graph.graph.find_nodes(op="call_function", target=statistics)
    for result, expected in zip(graph(*inputs), function(*inputs), strict=True):
        torch.testing.assert_close(result, expected)
    return len(list(found))


def by_hand(x: torch.Tensor, dim: int, of: int) -> tuple[torch.Tensor, ...]:
    e = (x - x.amax(of, keepdim=True)).exp()
    return (e / e.sum(dim, keepdim=True),)


def test_maximum_and_sum_are_taken_in_one_pass_where_they_belong_together() -> None:
    x = torch.randn(5, 7, 3)
    assert statistics_in(lambda x: (x.softmax(1), x.log_softmax(2)), x) == 2
    assert statistics_in(lambda x: by_hand(x, 1, 1), x) == 1
    assert statistics_in(lambda x: by_hand(x, 0, 1), x) == 0
    assert statistics_in(lambda x: by_hand(x, 1, 2), x) == 0
    # rounded on the way, as eager mode does
    assert statistics_in(lambda x: by_hand(x, 1, 1), x.bfloat16()) == 0


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (0, 2), (4, 5)])
def test_the_statistics_of_a_softmax(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, dtype=torch.float64)
    top, total = statistics(x, -1, torch.float64)
    assert top.shape == total.shape == torch.Size([*shape[:-1], 1][: len(shape)])
    torch.testing.assert_close((x - top).exp() / total, x.softmax(-1))
    meta = statistics(x.to("meta"), -1, torch.float64)
    assert [m.shape for m in meta] == [top.shape, total.shape]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(7,), (5, 7), (2, 7, 3, 2)])
@pytest.mark.parametrize("ignored", [-100, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_of_a_negative_log_likelihood(
    reduction: str, shape: tuple[int, ...], ignored: int, weighted: bool
) -> None:
    torch.manual_seed(len(shape))
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    places = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = torch.randint(7, places)
    if target.numel() > 1:
        target.view(-1)[0] = ignored
    weight = torch.rand(7, dtype=torch.float64) if weighted else None
    aten = torch.ops.aten
    loss = aten.nll_loss2d_forward if len(shape) > 2 else aten.nll_loss_forward
    back = aten.nll_loss2d_backward if len(shape) > 2 else aten.nll_loss_backward
    kind = ["none", "mean", "sum"].index(reduction)
    value, total = loss(x.detach(), target, weight, kind, ignored)
    grad = torch.randn_like(value)
    args = (grad, x.detach(), target, weight, kind, ignored, total)
    found = decompositions()[back.default](*args)
    torch.testing.assert_close(found, back(*args), rtol=0, atol=0)
    assert not (found.signbit() & (found == 0)).any()
