"""Arrays put together from parts: concatenation, padding, writes into a part.

All are maps whose loads are guarded: each element knows which part it comes from.
"""

from collections.abc import Sequence
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import Index, add, constant_value, floordiv, index, mod, mul, sub
from compiler.ir.scalar import apply, cast, constant, from_index, type_name

from .builder import Array, Builder, Indices
from .promotion import Operand, aligned, copied_at, index_of
from .registry import NotLowered, lowering
from .views import clamped_start, wrapped

aten = torch.ops.aten


def within(value: Index, low: Index | None, high: Index | None) -> Expression:
    """Return whether ``low <= value < high``; None: no bound on that side."""
    number = from_index(value, "int64")
    inside = constant(True, "bool")
    if low is not None:
        inside = apply("ge", number, from_index(low, "int64"))
    if high is not None:
        below = apply("lt", number, from_index(high, "int64"))
        inside = apply("bitwise_and", inside, below)
    return inside


@lowering(aten.cat.default)
def _cat(b: Builder, arrays: Sequence[Array], dim: int = 0) -> Array:
    dtype = type_name(b.result.dtype)
    rank = len(b.result.shape)
    dim = wrapped(dim, rank)
    # eager mode skips empty one-dimensional tensors whatever the others' shapes
    parts = [a for a in arrays if a.rank == rank and constant_value(a.shape[dim]) != 0]
    if not parts:
        return b.result_map(lambda i: constant(0, dtype))

    def joined(i: Indices) -> Expression:
        starts = [index(0)]
        for part in parts:
            starts.append(add(starts[-1], part.shape[dim]))
        total = constant(0, dtype)
        for number in reversed(range(len(parts))):
            start = starts[number]
            place = [sub(v, start) if d == dim else v for d, v in enumerate(i)]
            value = parts[number].at(place, dtype)
            low = None if number == 0 else start
            high = None if number == len(parts) - 1 else starts[number + 1]
            total = apply("guard", within(i[dim], low, high), value, total)
        return total

    return b.result_map(joined)


@lowering(aten.stack.default)
def _stack(b: Builder, arrays: Sequence[Array], dim: int = 0) -> Array:
    dtype = type_name(b.result.dtype)
    dim = wrapped(dim, len(b.result.shape))

    def joined(i: Indices) -> Expression:
        place = (*i[:dim], *i[dim + 1 :])
        total = arrays[-1].at(place, dtype)
        for number in reversed(range(len(arrays) - 1)):
            here = apply("eq", from_index(i[dim], "int64"), constant(number, "int64"))
            total = apply("guard", here, arrays[number].at(place, dtype), total)
        return total

    return b.result_map(joined)


@lowering(aten.constant_pad_nd.default)
def _pad(b: Builder, x: Array, pads: Sequence[Any], value: Operand = 0) -> Array:
    before: dict[int, Index] = {}
    after: dict[int, Index] = {}
    for number in range(len(pads) // 2):
        dim = x.rank - 1 - number
        before[dim], after[dim] = (
            index_of(pads[2 * number]),
            index_of(pads[2 * number + 1]),
        )

    def padded(i: Indices) -> Expression:
        inside = constant(True, "bool")
        place: list[Index] = []
        for d, digit in enumerate(i):
            start = before.get(d, 0)
            place.append(sub(digit, start))
            low = start if constant_value(index(start)) != 0 else None
            end = after.get(d, 0)
            high = add(start, x.shape[d]) if constant_value(index(end)) != 0 else None
            inside = apply("bitwise_and", inside, within(digit, low, high))
        return apply("guard", inside, x.at(place), copied_at(value, i, x.dtype))

    return b.result_map(padded)


@lowering(aten.slice_scatter.default)
def _slice_scatter(
    b: Builder,
    x: Array,
    source: Array,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Array:
    dim = wrapped(dim, x.rank)
    first = clamped_start(start, x.shape[dim])
    stride = index_of(step)
    past = add(first, mul(sub(source.shape[dim], 1), stride), 1)

    def changed(i: Indices) -> Expression:
        at_front = constant_value(first) == 0
        inside = within(i[dim], None if at_front else first, past)
        moved = sub(i[dim], first)
        if constant_value(index(stride)) != 1:
            rest = from_index(mod(moved, stride), "int64")
            inside = apply(
                "bitwise_and", inside, apply("eq", rest, constant(0, "int64"))
            )
        place = [floordiv(moved, stride) if d == dim else v for d, v in enumerate(i)]
        new = source.at(aligned(place, source), x.dtype)
        return apply("guard", inside, new, x.at(i))

    if constant_value(source.shape[dim]) == 0:
        return b.result_map(x.at)
    return b.result_map(changed)


@lowering(aten.select_scatter.default)
def _select_scatter(b: Builder, x: Array, source: Array, dim: int, at: Any) -> Array:
    dim = wrapped(dim, x.rank)
    known = constant_value(index_of(at))
    if known is None:
        raise NotLowered("a selected position that is a size")
    place = add(x.shape[dim], known) if known < 0 else index(known)

    def changed(i: Indices) -> Expression:
        here = apply("eq", from_index(i[dim], "int64"), from_index(place, "int64"))
        rest = (*i[:dim], *i[dim + 1 :])
        return apply("guard", here, cast(source.at(rest), x.dtype), x.at(i))

    return b.result_map(changed)
