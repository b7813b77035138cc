"""Results with the strides that they had at capture, in graphs that wrote in place.

Without writes, ``x.scatter_(...)`` is an array of its own, whose strides need not be
those of ``x``; what is computed from it then has others than in eager mode. Capture ran
the program as it stands, on fake tensors, and knows the strides of what leaves the
graph.
"""

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

from compiler.lower.families import VIEWS
from compiler.torch_api import plain_outputs, size_hint, statically_true

aten = torch.ops.aten

Strides = tuple[Any, ...]
"""Numbers, or symbols of one program's sizes."""


def captured_strides(graph: fx.GraphModule) -> dict[int, Strides]:
    """Return the strides of results of a graph of Dynamo's that writes in place.

    Args:
        graph: As captured, with fake tensors in ``meta["example_value"]``.

    Returns:
        Number of the result -> its strides [elements], where they are known. Nothing
        for a graph that writes nothing.
    """
    if not any(map(_writes, graph.graph.nodes)):
        return {}
    (results,) = graph.graph.find_nodes(op="output")[0].args
    found = {}
    for number, node in enumerate(results):
        value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            continue
        if _is_static(value) or _order(tuple(value.shape), value.stride()):
            found[number] = value.stride()
    return found


def _is_static(value: torch.Tensor) -> bool:
    return all(type(number) is int for number in (*value.shape, *value.stride()))


def _order(shape: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...]:
    """Return the dims, outermost first, of a dense layout for all sizes; else none."""
    hints = [(size_hint(a), size_hint(b)) for a, b in zip(strides, shape, strict=True)]
    if any(None in pair for pair in hints):
        return ()
    order = sorted(range(len(shape)), key=lambda dim: hints[dim])  # innermost first
    step: Any = 1
    for dim in order:
        if not statically_true(shape[dim] == 1):
            if not statically_true(strides[dim] == step):
                return ()
            step = step * shape[dim]
    return tuple(reversed(order))


def _writes(node: fx.Node) -> bool:
    if node.op == "call_method":
        name = str(node.target)
        return name.endswith("_") and not name.endswith("__")
    if node.op != "call_function":
        return False
    if "out" in node.kwargs or node.kwargs.get("inplace"):
        return True
    name = getattr(node.target, "__name__", "")
    if getattr(node.target, "__module__", "") == "_operator":
        return name == "setitem" or name.startswith("i")
    return name.endswith("_") and not name.endswith("__")


def restride(graph: fx.GraphModule, wanted: Mapping[int, Strides]) -> None:
    """Copy results of a graph of ATen operators that have other strides than wanted.

    Results that share memory go on sharing it; what shares an argument's is left alone.

    Args:
        graph: AOTAutograd's, under compilation; it is changed.
        wanted: From :func:`captured_strides`.
    """
    if not wanted:
        return
    output = graph.graph.find_nodes(op="output")[0]
    results: list[Any] = list(output.args[0])
    places = [
        (place, wanted[number])
        for place, number in plain_outputs().items()
        if number in wanted and isinstance(results[place], fx.Node)
    ]
    for place, strides in places:
        node = results[place]
        whole = _root(node) is node and node.op != "placeholder"
        if whole and not _has(node, strides):
            copied = _copied(graph, node, strides)
            results = [copied if one is node else one for one in results]
    shared = Counter(_root(node) for node in results if isinstance(node, fx.Node))
    for place, strides in places:
        node = results[place]
        root = _root(node)
        if root.op != "placeholder" and shared[root] == 1 and not _has(node, strides):
            results[place] = _copied(graph, node, strides)
    output.args = (tuple(results),)


def _root(node: fx.Node) -> fx.Node:
    """Return the node whose memory a node shows."""
    while node.op == "call_function" and (
        node.target in VIEWS or node.target is operator.getitem
    ):
        inner: Any = node.args[0]
        if node.target is operator.getitem and inner.target not in VIEWS:
            return node
        node = inner
    return node


def _has(node: fx.Node, strides: Strides) -> bool:
    value: Any = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.dim() != len(strides):
        return True
    rows = zip(value.shape, value.stride(), strides, strict=True)
    if not _is_static(value):
        if not _order(tuple(value.shape), strides):
            return True
        return all(
            statically_true(size == 1) or statically_true(a == b) for size, a, b in rows
        )
    return not value.numel() or all(size == 1 or a == b for size, a, b in rows)


def _copied(graph: fx.GraphModule, node: fx.Node, strides: Strides) -> fx.Node:
    """Return a copy of a node with other strides, which all others take for it."""
    first, copied = (_by_order if not _is_static(node.meta["val"]) else _empty)(
        graph, node, strides
    )
    if "stack_trace" in node.meta:
        copied.meta["stack_trace"] = node.meta["stack_trace"]
    node.replace_all_uses_with(copied, delete_user_cb=lambda user: user is not first)
    _shown_anew(copied)
    return copied


def _empty(
    graph: fx.GraphModule, node: fx.Node, strides: Strides
) -> tuple[fx.Node, fx.Node]:
    """Emit a copy into empty memory; return what reads the node, and the copy."""
    value = node.meta["val"]
    call = graph.graph.call_function
    with graph.graph.inserting_after(node):
        empty = call(
            aten.empty_strided.default,
            (list(value.shape), list(strides)),
            {"dtype": value.dtype, "device": value.device},
        )
    with graph.graph.inserting_after(empty):
        copied = call(aten.copy.default, (empty, node))
    made = value.new_empty_strided(tuple(value.shape), strides)
    empty.meta["val"] = copied.meta["val"] = made
    return copied, copied


def _by_order(
    graph: fx.GraphModule, node: fx.Node, strides: Strides
) -> tuple[fx.Node, fx.Node]:
    """Emit a row-major copy of permuted dims, for sizes that are symbols."""
    value = node.meta["val"]
    order = list(_order(tuple(value.shape), strides))
    back = sorted(range(len(order)), key=order.__getitem__)
    steps: tuple[tuple[Any, Any, Any], ...] = (
        (aten.permute.default, (order,), {}),
        (aten.clone.default, (), {"memory_format": torch.contiguous_format}),
        (aten.permute.default, (back,), {}),
    )
    made = [node]
    for target, args, kwargs in steps:
        last = made[-1]
        with graph.graph.inserting_after(last):
            made.append(graph.graph.call_function(target, (last, *args), kwargs))
        made[-1].meta["val"] = target(last.meta["val"], *args, **kwargs)
    return made[1], made[-1]


def _shown_anew(node: fx.Node) -> None:
    """Give views of a node the strides that follow from its own."""
    for user in node.users:
        if user.op != "call_function" or user.args[0] is not node:
            continue
        value: Any = node.meta["val"]
        if user.target is operator.getitem and isinstance(value, (tuple, list)):
            place: Any = user.args[1]
            user.meta["val"] = value[place]
        elif user.target in VIEWS and not any(
            isinstance(arg, fx.Node) for arg in (*user.args[1:], *user.kwargs.values())
        ):
            user.meta["val"] = user.target(value, *user.args[1:], **user.kwargs)
        else:
            continue
        _shown_anew(user)
