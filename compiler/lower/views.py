"""Views: arrays whose value is one load at another index."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import (
    Index,
    add,
    constant_value,
    floordiv,
    index,
    maximum,
    minimum,
    mod,
    mul,
    sub,
)
from compiler.ir.ranges import Ranges
from compiler.ir.scalar import bitcast, bits, type_name

from .builder import Array, Builder, Indices, size
from .promotion import aligned, index_of
from .registry import NotLowered, lowering
from .reindex import reshaped

aten = torch.ops.aten
prims = torch.ops.prims


def viewed(
    b: Builder,
    x: Array,
    place: Callable[[Indices], Sequence[Index]],
    result: Any = None,
) -> Array:
    """Emit an array that reads another at ``place(point)``."""
    return b.result_map(lambda i: x.at(place(i)), result)


def wrapped(dim: int, rank: int) -> int:
    """Return a dim counted from the front."""
    return dim + max(rank, 1) if dim < 0 else dim


@lowering(
    aten.alias.default,
    aten.detach.default,
    aten.clone.default,
    aten.lift_fresh_copy.default,
    aten.contiguous.default,
    aten.lift_fresh.default,
    prims.clone.default,
    aten.alias_copy.default,
)
def _copy(b: Builder, x: Array, **_: Any) -> Array:
    return viewed(b, x, lambda i: i)


@lowering(
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten._reshape_alias.default,
    aten._reshape_copy.default,
    aten.view_copy.default,
)
def _view(b: Builder, x: Array, *_: Any) -> Array:
    shape = b.shape_of(b.result)
    return viewed(b, x, lambda i: reshaped(i, shape, x.shape))


@lowering(aten.permute.default, aten.permute_copy.default)
def _permute(b: Builder, x: Array, dims: Sequence[int]) -> Array:
    order = [wrapped(dim, x.rank) for dim in dims]
    return viewed(b, x, lambda i: [i[order.index(d)] for d in range(x.rank)])


@lowering(aten.transpose.int)
def _transpose(b: Builder, x: Array, first: int, second: int) -> Array:
    if x.rank == 0:
        return _copy(b, x)
    order = list(range(x.rank))
    first, second = wrapped(first, x.rank), wrapped(second, x.rank)
    order[first], order[second] = order[second], order[first]
    return _permute(b, x, order)


@lowering(aten.t.default)
def _t(b: Builder, x: Array) -> Array:
    return _permute(b, x, range(x.rank)[::-1])


@lowering(aten.unsqueeze.default)
def _unsqueeze(b: Builder, x: Array, dim: int) -> Array:
    dim = wrapped(dim, x.rank + 1)
    return viewed(b, x, lambda i: (*i[:dim], *i[dim + 1 :]))


@lowering(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
def _squeeze(b: Builder, x: Array, dims: int | Sequence[int] | None = None) -> Array:
    if dims is None:
        named = list(range(x.rank))
    else:
        listed = [dims] if isinstance(dims, int) else list(dims)
        named = [wrapped(dim, x.rank) for dim in listed]
    gone = [d for d in named if d < x.rank and constant_value(x.shape[d]) == 1]
    kept = [d for d in range(x.rank) if d not in gone]

    def place(i: Indices) -> list[Index]:
        return [0 if d in gone else i[kept.index(d)] for d in range(x.rank)]

    return viewed(b, x, place)


@lowering(aten.expand.default, aten.expand_copy.default)
def _expand(b: Builder, x: Array, *_: Any, implicit: bool = False) -> Array:
    return viewed(b, x, lambda i: aligned(i, x))


@lowering(prims.broadcast_in_dim.default)
def _broadcast_in_dim(b: Builder, x: Array, _: Any, dims: Sequence[int]) -> Array:
    def place(i: Indices) -> list[Index]:
        return [
            0 if constant_value(extent) == 1 else i[dim]
            for extent, dim in zip(x.shape, dims, strict=True)
        ]

    return viewed(b, x, place)


def clamped_start(start: Any, extent: Expression) -> Expression:
    """Return where a slice starts: negative counts from the end, both ends clamp."""
    value = index(0 if start is None else index_of(start))
    known = constant_value(value)
    if known is None:
        raise NotLowered("a slice starts at a size that is not known")
    value = add(extent, known) if known < 0 else value
    if known == 0:
        return value
    return maximum(minimum(value, extent), 0)


@lowering(aten.slice.Tensor, aten.slice_copy.Tensor)
def _slice(
    b: Builder,
    x: Array,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Array:
    dim = wrapped(dim, x.rank)
    first = clamped_start(start, x.shape[dim])

    def place(i: Indices) -> list[Index]:
        return [
            add(mul(digit, index_of(step)), first) if d == dim else digit
            for d, digit in enumerate(i)
        ]

    return viewed(b, x, place)


@lowering(aten.select.int, aten.select_copy.int)
def _select(b: Builder, x: Array, dim: int, at: Any) -> Array:
    dim = wrapped(dim, x.rank)
    known = constant_value(index_of(at))
    if known is None:
        raise NotLowered("a selected position that is a size")
    place = add(x.shape[dim], known) if known < 0 else index(known)
    return viewed(b, x, lambda i: (*i[:dim], place, *i[dim:]))


def parts(b: Builder, x: Array, dim: int, sizes: Sequence[Index]) -> tuple[Array, ...]:
    """Emit consecutive parts of an array along a dim."""
    out = []
    start = index(0)
    for result, extent in zip(b.result, sizes, strict=True):

        def place(i: Indices, start: Expression = start) -> list[Index]:
            return [add(v, start) if d == dim else v for d, v in enumerate(i)]

        out.append(viewed(b, x, place, result))
        start = add(start, extent)
    return tuple(out)


@lowering(
    aten.split_with_sizes.default,
    aten.split.Tensor,
    aten.split.sizes,
    aten.unsafe_split.Tensor,
    aten.unsafe_split_with_sizes.default,
    aten.split_with_sizes_copy.default,
    aten.unsafe_chunk.default,
    aten.chunk.default,
)
def _split(b: Builder, x: Array, sizes: Any, dim: int = 0) -> tuple[Array, ...]:
    dim = wrapped(dim, x.rank)
    return parts(b, x, dim, [size(result.shape[dim]) for result in b.result])


@lowering(aten.unbind.int)
def _unbind(b: Builder, x: Array, dim: int = 0) -> tuple[Array, ...]:
    dim = wrapped(dim, x.rank)
    return tuple(
        viewed(b, x, lambda i, n=n: (*i[:dim], n, *i[dim:]), result)  # type: ignore[misc]
        for n, result in enumerate(b.result)
    )


@lowering(aten.repeat.default)
def _repeat(b: Builder, x: Array, *_: Any) -> Array:
    def place(i: Indices) -> list[Index]:
        used = i[len(i) - x.rank :]
        ranges = Ranges(dict(zip(i, b.shape_of(b.result), strict=True)))
        return [
            0 if constant_value(e) in (0, 1) else ranges.simplify(mod(v, e))
            for v, e in zip(used, x.shape, strict=True)
        ]

    return viewed(b, x, place)


@lowering(aten.flip.default)
def _flip(b: Builder, x: Array, dims: Sequence[int]) -> Array:
    flipped = [wrapped(dim, x.rank) for dim in dims]

    def place(i: Indices) -> list[Index]:
        return [
            sub(sub(x.shape[d], 1), v) if d in flipped else v for d, v in enumerate(i)
        ]

    return viewed(b, x, place)


@lowering(aten.roll.default)
def _roll(
    b: Builder, x: Array, shifts: Sequence[Any], dims: Sequence[int] = ()
) -> Array:
    if not dims:
        if x.rank != 1:
            raise NotLowered("a roll of the flattened array")
        dims = (0,)
    moved: dict[int, Index] = {}
    for shift, dim in zip(shifts, dims, strict=True):
        dim = wrapped(dim, x.rank)
        moved[dim] = add(moved.get(dim, 0), index_of(shift))

    def place(i: Indices) -> list[Index]:
        return [
            mod(sub(v, moved[d]), x.shape[d])
            if d in moved and constant_value(x.shape[d]) != 0
            else v
            for d, v in enumerate(i)
        ]

    return viewed(b, x, place)


@lowering(aten.diagonal.default, aten.diagonal_copy.default)
def _diagonal(
    b: Builder, x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    dim1, dim2 = wrapped(dim1, x.rank), wrapped(dim2, x.rank)
    rest = [d for d in range(x.rank) if d not in (dim1, dim2)]

    def place(i: Indices) -> list[Index]:
        out: dict[int, Index] = dict(zip(rest, i[:-1], strict=True))
        out[dim1] = add(i[-1], max(-offset, 0))
        out[dim2] = add(i[-1], max(offset, 0))
        return [out[d] for d in range(x.rank)]

    return viewed(b, x, place)


@lowering(aten.unfold.default, aten.unfold_copy.default)
def _unfold(b: Builder, x: Array, dim: int, length: Any, step: Any) -> Array:
    if x.rank == 0:
        return viewed(b, x, lambda i: ())
    dim = wrapped(dim, x.rank)

    def place(i: Indices) -> list[Index]:
        moved = add(mul(i[dim], index_of(step)), i[-1])
        return [moved if d == dim else v for d, v in enumerate(i[:-1])]

    return viewed(b, x, place)


@lowering(aten.view.dtype)
def _view_dtype(b: Builder, x: Array, dtype: torch.dtype) -> Array:
    try:
        wanted = type_name(dtype)
    except ValueError as error:
        raise NotLowered(str(error)) from error
    if bits(wanted) != bits(x.dtype) or "bool" in (wanted, x.dtype):
        raise NotLowered("a view as a type of another width")
    return b.result_map(lambda i: bitcast(x.at(i), wanted))


@lowering(aten.repeat_interleave.self_int)
def _repeat_interleave(
    b: Builder, x: Array, repeats: Any, dim: int | None = None, **_: Any
) -> Array:
    if dim is None:
        shape = b.shape_of(b.result)

        def flat(i: Indices) -> tuple[Expression, ...]:
            place = floordiv(i[0], index_of(repeats))
            return reshaped((place,), (floordiv(shape[0], index_of(repeats)),), x.shape)

        return viewed(b, x, flat)
    along = wrapped(dim, x.rank)
    return viewed(
        b,
        x,
        lambda i: [
            floordiv(v, index_of(repeats)) if d == along else v for d, v in enumerate(i)
        ],
    )
