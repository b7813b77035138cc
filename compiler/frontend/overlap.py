"""Arguments that share memory although they did not when the graph was captured.

A captured graph assumes that a write to one argument does not change another, except
for those that shared memory at capture, which Dynamo guards. A later call may break
that; this module sees it, so that the call can run as written.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiler.torch_api import unseen


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

    def guarded(*args: Any) -> Any:
        if overlaps(args):
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
