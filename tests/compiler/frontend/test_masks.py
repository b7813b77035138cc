"""Masks that are known when a graph is compiled, and those that are not."""

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch.nn.functional import scaled_dot_product_attention as attention

from compiler.frontend import masks
from compiler.frontend.masks import without_idle_masks

Function = Callable[..., torch.Tensor]


def both_ways(x: torch.Tensor) -> torch.Tensor:
    rows = (torch.arange(6) + 0)[None, None, :, None]
    mask = (rows >= 0).expand(2, -1, 6, 6)
    return attention(x, x, x, attn_mask=mask, dropout_p=0.0, scale=0.5)


def zeros(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, torch.zeros(6, 6))


def causal(x: torch.Tensor) -> torch.Tensor:
    at = torch.arange(6)
    return attention(x, x, x, (at[None, :] <= at[:, None]).expand(2, 1, 6, 6))


def causal_of_numbers(x: torch.Tensor) -> torch.Tensor:
    mask = torch.full((6, 6), -torch.inf).triu(1)
    return attention(x, x, x, attn_mask=mask)


def two_sides(x: torch.Tensor) -> torch.Tensor:
    at = torch.arange(6)
    near = (at[None, :] - at[:, None]).abs() < 7
    return attention(x, x, x, near & (at[None, :] <= at[:, None]))


def window(x: torch.Tensor) -> torch.Tensor:
    at = torch.arange(6)
    return attention(x, x, x, (at[None, :] - at[:, None]).abs() < 3)


def shifted(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, torch.zeros(6, 6) - 1.0)


def of_an_input(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, x[0, 0] @ x[0, 0].T > -100.0)


def random(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, torch.rand(6, 6) >= 0)


def written(x: torch.Tensor) -> torch.Tensor:
    mask = torch.arange(6)[None, :] >= torch.zeros(6, 1)
    mask[:, 3] = False
    return attention(x, x, x, mask)


def written_through_a_view(x: torch.Tensor) -> torch.Tensor:
    mask = torch.arange(6)[None, :] >= torch.zeros(6, 1)
    mask.view(36).logical_not_()
    mask[:, 0].fill_(True)
    return attention(x, x, x, mask)


def one_row_for_all(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, torch.arange(6)[None, :] < 1)


def more_batches(x: torch.Tensor) -> torch.Tensor:
    return attention(x[:1], x[:1], x[:1], torch.zeros(5, 1, 6, 6))


def more_dims(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, torch.zeros(1, 1, 1, 6, 6))


def more_rows(x: torch.Tensor) -> torch.Tensor:
    return attention(x[:, :, :1], x, x, torch.zeros(6, 6))


def both_given(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, x, torch.zeros(6, 6), is_causal=True)


GONE: dict[str, Function] = {"both ways": both_ways, "zeros": zeros}
CAUSAL: dict[str, Function] = {
    "a comparison": causal,
    "numbers": causal_of_numbers,
    "two sides": two_sides,
}
STAY: dict[str, Function] = {
    "a window": window,
    "a shift": shifted,
    "of an input": of_an_input,
    "random": random,
    "written": written,
    "written through a view": written_through_a_view,
    "one row for all": one_row_for_all,
    "both are given": both_given,
}
REFUSED: dict[str, Function] = {
    "more batches": more_batches,
    "more dims": more_dims,
    "more rows": more_rows,
}


def captured(function: Function, *inputs: torch.Tensor) -> fx.GraphModule:
    """Return what Dynamo captures of a function."""
    graphs: list[fx.GraphModule] = []

    def backend(graph: fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    with contextlib.suppress(RuntimeError):  # of what eager mode refuses, too
        torch.compile(function, backend=backend)(*inputs)
    (graph,) = graphs
    return graph


def calls(graph: fx.GraphModule) -> list[dict[str, Any]]:
    return [dict(n.kwargs) for n in graph.graph.nodes if n.target is attention]


def images() -> torch.Tensor:
    return torch.randn(2, 3, 6, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", GONE)
def test_a_mask_that_lets_all_pass_goes(name: str) -> None:
    graph = captured(GONE[name], images())
    assert without_idle_masks(graph) == 1
    (found,) = calls(graph)
    assert found["attn_mask"] is None
    assert not found.get("is_causal", False)
    torch.testing.assert_close(graph(images())[0], GONE[name](images()))


@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_mask_is_named_so(name: str) -> None:
    graph = captured(CAUSAL[name], images())
    assert without_idle_masks(graph) == 1
    (found,) = calls(graph)
    assert found["attn_mask"] is None
    assert found["is_causal"] is True
    torch.testing.assert_close(graph(images())[0], CAUSAL[name](images()))


@pytest.mark.parametrize("name", [n for n in STAY if n != "both are given"])
def test_other_masks_stay(name: str) -> None:
    graph = captured(STAY[name], images())
    assert without_idle_masks(graph) == 0
    if name != "random":
        torch.testing.assert_close(graph(images())[0], STAY[name](images()))


@pytest.mark.parametrize("name", REFUSED)
def test_masks_of_more_than_the_scores_stay(name: str) -> None:
    graph = captured(REFUSED[name], images())
    assert without_idle_masks(graph) == 0
    for run in (graph, REFUSED[name]):
        with pytest.raises(RuntimeError, match="broadcast shape"):
            run(images())


def test_a_call_that_eager_mode_refuses_stays() -> None:
    graph = fx.symbolic_trace(both_given)
    assert without_idle_masks(graph) == 0


def test_sizes_that_are_not_known_keep_the_mask() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return attention(x, x, x, torch.arange(x.shape[-2])[None, :] >= 0)

    graphs: list[int] = []

    def backend(graph: fx.GraphModule, _: Any) -> Any:
        graphs.append(without_idle_masks(graph))
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(f, backend=backend, dynamic=True)
    torch.testing.assert_close(compiled(images()), f(images()))
    assert graphs == [0]


def test_large_masks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = captured(causal, images())
    monkeypatch.setattr(masks, "LARGEST", 35)
    assert without_idle_masks(graph) == 0


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["lower", "all", "one less", "diagonal"]),
    st.booleans(),
)
def test_any_mask_means_the_same(
    rows: int, columns: int, kind: str, one_row: bool
) -> None:
    queries, rows = rows, 1 if one_row else rows
    mask = torch.ones(rows, columns, dtype=torch.bool)
    if kind == "lower":
        mask = mask.tril()
    elif kind == "one less":
        mask[rows - 1, columns - 1] = False
    elif kind == "diagonal":
        mask = mask.tril(1)
    # a graph that sets one place of the mask after the other
    graph = fx.Graph()
    q, k = graph.placeholder("q"), graph.placeholder("k")
    at = graph.call_function(torch.arange, (rows * columns,))
    bits = graph.call_method("view", (at, rows, columns))
    held = graph.call_function(torch.zeros, (rows, columns), {"dtype": torch.bool})
    for n, passes in enumerate(mask.flatten().tolist()):
        if passes:
            here = graph.call_function(operator.eq, (bits, n))
            held = graph.call_function(operator.or_, (held, here))
    graph.output(graph.call_function(attention, (q, k, k, held)))
    module = fx.GraphModule({}, graph)
    data = torch.Generator().manual_seed(rows + 7 * columns)
    inputs = tuple(
        torch.randn(2, length, 4, generator=data) for length in (queries, columns)
    )
    for node, value in zip(
        module.graph.find_nodes(op="placeholder"), inputs, strict=True
    ):
        node.meta["example_value"] = value
    before = module(*inputs)
    changed = without_idle_masks(module)
    assert changed == 1 or kind not in ("lower", "all") or one_row
    torch.testing.assert_close(module(*inputs), before, equal_nan=True)


def test_compiled_attention_needs_no_mask() -> None:
    torch.compiler.reset()
    for function in (*GONE.values(), *CAUSAL.values(), *STAY.values()):
        if function in (random, both_given):
            continue
        compiled = torch.compile(function, backend="tilewright")
        torch.testing.assert_close(compiled(images()), function(images()))
