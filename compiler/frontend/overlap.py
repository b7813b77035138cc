"""Arguments that share memory as a captured graph assumes that they do not.

A captured graph assumes that a write to one argument does not change another, except
for those that shared memory at capture, which Dynamo guards. A later call may break
that; this module sees it, so that the call can run as written. So does a written
argument whose own elements share memory (an expanded one, overlapping windows): a graph
without writes gives each element a value of its own, and memory has room for one. A
graph that makes such a tensor and writes a part of it runs as captured.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from compiler.torch_api import guarded, unseen

_PARTS_WRITTEN = (
    torch.ops.aten.select_scatter.default,
    torch.ops.aten.slice_scatter.default,
    torch.ops.aten.diagonal_scatter.default,
)


def unless_they_overlap(
    run: Callable[..., Any],
    as_written: Callable[..., Any],
    mutated: Sequence[int],
    example_inputs: Sequence[Any],
) -> Callable[..., Any]:
    """Return the compiled function, but calls whose arguments share memory anew.

    Args:
        run: What was compiled.
        as_written: What such a call runs.
        mutated: Numbers of the arguments that it writes.
        example_inputs: Fake tensors, sizes, as at capture.
    """
    if not mutated or max(mutated) >= len(example_inputs):
        return run
    overlaps = overlap_guard(mutated, shared_at_capture(example_inputs))
    inside = {place: overlaps_itself(example_inputs[place]) for place in mutated}
    if True in inside.values():
        return as_written  # sizes and strides that are known are guarded
    unknown = [place for place, found in inside.items() if found is None]

    def guarded(*args: Any) -> Any:
        if overlaps(args) or any(overlaps_itself(args[place]) for place in unknown):
            return as_written(*args)
        return run(*args)

    return unseen(guarded)


def shared_at_capture(inputs: Sequence[Any]) -> list[int]:
    """Return a number for each input, equal for those that share memory.

    Inputs on one storage whose elements lie apart share none: nothing guards that.

    Args:
        inputs: Fake tensors, sizes.
    """
    groups: list[int] = []
    for position, value in enumerate(inputs):
        group = position
        for other in range(position):
            if _may_meet(inputs[other], value):
                group = groups[other]
                break
        groups.append(group)
    return groups


def overlaps_itself(value: Any) -> bool | None:
    """Return whether elements of a tensor share memory, None where sizes are unknown.

    Strides that interleave without meeting, as (2, 3) of two by two, count as
    overlapping.

    Args:
        value: A tensor, or a size, which has no elements.

    Example:
        >>> x = torch.zeros(6)
        >>> overlaps_itself(x.expand(2, 6)), overlaps_itself(x.unfold(0, 3, 2))
        (True, True)
        >>> overlaps_itself(x.view(2, 3).t()[::2])
        False
    """
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return False
    if not all(type(number) is int for number in (*value.shape, *value.stride())):
        return None
    return _strides_meet(value)


def _strides_meet(value: torch.Tensor) -> bool:
    """Return whether elements share memory; symbolic sizes are guarded to say so."""
    if value.numel() < 2:
        return False
    reach = 0
    for stride, size in sorted(zip(value.stride(), value.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


def written_overlap(graph: fx.GraphModule) -> bool:
    """Return whether an operator writes a part of a copy whose elements share memory.

    ``select_scatter`` and its like copy what has such strides with these strides. In
    eager mode what is written then shows up at other places too; a graph of values
    knows nothing of that.

    Symbolic sizes become guards: with others that overlap the graph is compiled anew.

    Args:
        graph: ATen operators, with fake tensors in ``meta["val"]``.
    """
    return any(
        _overlaps_by_guards(value)
        for target in _PARTS_WRITTEN
        for node in graph.graph.find_nodes(op="call_function", target=target)
        for value in (node.meta.get("val"), _changed(node))
    )


def _overlaps_by_guards(value: Any) -> bool | None:
    known = overlaps_itself(value)
    return known if known is not None else guarded(lambda: _strides_meet(value))


def _changed(node: fx.Node) -> Any:
    """Return what an operator copies before it writes a part, as a fake tensor."""
    first = node.args[0] if node.args else None
    return first.meta.get("val") if isinstance(first, fx.Node) else None


def _may_meet(one: Any, other: Any) -> bool:
    """Return whether two fake tensors have memory in common, as far as is known."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    if one.untyped_storage()._cdata != other.untyped_storage()._cdata:
        return False
    spans = []
    for value in (one, other):
        numbers = (*value.shape, *value.stride(), value.storage_offset())
        if not all(type(number) is int for number in numbers):
            return True
        if value.numel() == 0:
            return False
        start = value.storage_offset() * value.element_size()
        spans.append((start, start + _reach(value)))
    (a, b), (c, d) = spans
    return a < d and c < b


def _reach(value: torch.Tensor) -> int:
    """Return how much memory a tensor's elements lie in, from the first on [bytes]."""
    last = sum(
        (size - 1) * stride
        for size, stride in zip(value.shape, value.stride(), strict=True)
    )
    return (last + 1) * value.element_size()


def overlap_guard(
    mutated: Sequence[int], groups: Sequence[int]
) -> Callable[[Sequence[Any]], bool]:
    """Return a function that says whether a written argument shares memory anew.

    Args:
        mutated: Numbers of the arguments that the graph writes.
        groups: From :func:`shared_at_capture`.

    Example:
        >>> x, y = torch.zeros(4), torch.zeros(4)
        >>> guard = overlap_guard([0], [0, 1])
        >>> guard([x, y]), guard([x[:3], x[1:]]), guard([x[:2], x[2:]])
        (False, True, False)
    """
    written = tuple(mutated)
    others = tuple(i for i in range(len(groups)) if i not in set(written))

    def guard(args: Sequence[Any]) -> bool:
        homes: dict[int, int] = {}
        for position in written:
            value = args[position]
            if isinstance(value, torch.Tensor):
                home = value.untyped_storage()._cdata
                if home in homes:
                    return _overlaps(args, written, groups)
                homes[home] = position
        for position in others:
            value = args[position]
            if isinstance(value, torch.Tensor):
                home = value.untyped_storage()._cdata
                if home in homes:
                    return _overlaps(args, written, groups)
        return False

    return guard


def _overlaps(args: Sequence[Any], written: tuple[int, ...], groups: Any) -> bool:
    spans = [_span(value) for value in args]
    for one in written:
        for other, span in enumerate(spans):
            if other == one or span is None or spans[one] is None:
                continue
            if groups[other] == groups[one]:
                continue
            mine = spans[one]
            if mine[0] == span[0] and mine[1] < span[2] and span[1] < mine[2]:
                return True
    return False


def _span(value: Any) -> Any:
    """Return (storage, first byte, end) of a tensor's elements, None for nothing."""
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return None
    first = value.data_ptr()
    return value.untyped_storage()._cdata, first, first + _reach(value)
