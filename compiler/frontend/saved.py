"""Arrays that the forward pass keeps for the backward pass, with strides of our choice.

Nobody but the backward graph reads them. So the forward graph may lay them out as suits
it, channels last around convolutions, and tells AOTAutograd the strides, which compiles
the backward graph for them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from compiler import torch_api
from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.kernel import Schedule


def mark_saved(graph: fx.GraphModule) -> None:
    """Say which results of the forward graph under compilation are only kept.

    They are those from number ``graph.meta["saved"]`` on.
    """
    first = torch_api.first_saved()
    if first is not None:
        graph.meta["saved"] = first


def mark_given(graph: fx.GraphModule, inputs: Sequence[Any]) -> None:
    """Say which inputs of a graph come with other strides than it was captured with.

    Args:
        graph: Its placeholders get ``meta["strides"]`` [elements] where they differ.
        inputs: Fake tensors as the graph gets them.
    """
    for node, given in zip(_placeholders(graph), inputs, strict=False):
        meant = node.meta.get("val")
        if not isinstance(meant, torch.Tensor) or not isinstance(given, torch.Tensor):
            continue
        numbers = (*meant.shape, *meant.stride(), *given.shape, *given.stride())
        known = all(type(number) is int for number in numbers)
        if known and meant.shape == given.shape and meant.stride() != given.stride():
            node.meta["strides"] = tuple(given.stride())


def restored(graph: fx.GraphModule) -> Callable[[list[Any]], None] | None:
    """Take the marks of :func:`mark_given` away from a graph.

    Returns:
        What gives a list of arguments the strides of the capture instead; None where
        all have them.
    """
    restore = _restoring(graph)
    for node in _placeholders(graph):
        node.meta.pop("strides", None)
    return restore


def as_captured(graph: fx.GraphModule) -> Callable[..., Any]:
    """Return what runs a graph by PyTorch's operators, whatever was marked.

    Operators that look at strides, as views do, get those of the capture.
    """
    restore = _restoring(graph)
    if restore is None:
        plain: Callable[..., Any] = graph.forward
        return plain

    def run(*args: Any) -> Any:
        given = list(args)
        restore(given)
        return graph.forward(*given)

    return run


def _restoring(graph: fx.GraphModule) -> Callable[[list[Any]], None] | None:
    wanted = {
        number: (tuple(node.meta["val"].shape), node.meta["val"].stride())
        for number, node in enumerate(_placeholders(graph))
        if "strides" in node.meta
    }

    def restore(args: list[Any]) -> None:
        for number, (shape, strides) in wanted.items():
            if args[number].stride() != strides:
                fresh = args[number].new_empty_strided(shape, strides)
                args[number] = fresh.copy_(args[number])

    return restore if wanted else None


def report_strides(schedule: Schedule, graph: fx.GraphModule) -> None:
    """Tell AOTAutograd which strides the results of a forward graph have.

    Args:
        schedule: What the graph was compiled to.
        graph: Marked by :func:`mark_saved`.
    """
    if "saved" not in graph.meta:
        return
    strides = [
        _numbers(schedule.strides.get(name, ())) if isinstance(name, str) else None
        for name in schedule.outputs
    ]
    if any(strides):
        torch_api.report_strides(strides)


def _numbers(strides: Sequence[Expression]) -> tuple[int, ...] | None:
    found = [constant_value(step) for step in strides]
    known = tuple(step for step in found if step is not None)
    return known if known and len(known) == len(found) else None


def _placeholders(graph: fx.GraphModule) -> list[fx.Node]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]
