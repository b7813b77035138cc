"""Arguments that share memory although they did not when the graph was captured.

A captured graph assumes that a write to one argument does not change another, except
for those that shared memory at capture, which Dynamo guards. A later call may break
that; this module sees it, so that the call can run as written.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch


def shared_at_capture(inputs: Sequence[Any]) -> list[int]:
    """Return a number for each input, equal for those that share a storage.

    Args:
        inputs: Fake tensors, sizes.
    """
    seen: dict[int, int] = {}
    groups = []
    for position, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()._cdata
            groups.append(seen.setdefault(storage, position))
        else:
            groups.append(position)
    return groups


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
    last = sum(
        (size - 1) * stride
        for size, stride in zip(value.shape, value.stride(), strict=True)
    )
    first = value.data_ptr()
    return (
        value.untyped_storage()._cdata,
        first,
        first + (last + 1) * value.element_size(),
    )
