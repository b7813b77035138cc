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


def private_results(schedule: Schedule, graph: fx.GraphModule) -> frozenset[str]:
    """Return the names of nodes that are kept in memory that no other result shares.

    Args:
        schedule: What the forward graph was compiled to.
        graph: The forward graph, marked by :func:`mark_saved`.
    """
    if "saved" not in graph.meta:
        return frozenset()
    (nodes,) = graph.graph.find_nodes(op="output")[0].args
    pairs = list(zip(nodes, schedule.outputs, strict=True))
    return frozenset(
        node.name
        for node, name in pairs[graph.meta["saved"] :]
        if isinstance(node, fx.Node) and name in schedule.private
    )


def mark_donated(graph: fx.GraphModule, private: frozenset[str]) -> None:
    """Say which inputs of a backward graph it may write over.

    Args:
        graph: Placeholders that nobody reads afterwards get ``meta["donated"]``:
            whether they are alone in their storage, which may be taken then.
        private: What :func:`private_results` gave for the forward graph.
    """
    nodes = _placeholders(graph)
    values = [node.meta.get("val") for node in nodes]
    storages = [
        torch_api.storage_key(value)
        for value in values
        if isinstance(value, torch.Tensor) and value.layout == torch.strided
    ]
    for number in torch_api.donated_inputs():
        node, value = nodes[number], values[number]
        if isinstance(value, torch.Tensor):
            alone = storages.count(torch_api.storage_key(value)) == 1
            node.meta["donated"] = alone and node.name in private


def restored(graph: fx.GraphModule) -> Callable[[list[Any]], None] | None:
    """Take the marks of :func:`mark_given` and :func:`mark_donated` away from a graph.

    Returns:
        What gives a list of arguments the strides of the capture instead; None where
        all have them.
    """
    restore = _restoring(graph)
    for node in _placeholders(graph):
        node.meta.pop("strides", None)
        node.meta.pop("donated", None)
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
