"""Gathers and scatters: indices that are data, checked when the kernel runs."""

from collections.abc import Sequence
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import Index, add, index
from compiler.ir.operations import type_class
from compiler.ir.scalar import (
    apply,
    cast,
    checked_index,
    compute_type,
    constant,
    type_name,
)

from .builder import Array, Builder, Indices
from .pointwise import truth
from .promotion import ONE, Operand, aligned, copied_at, value_at
from .registry import NotLowered, lowering
from .views import wrapped

aten = torch.ops.aten


def position(
    array: Array, indices: Sequence[Expression], extent: Index, wrap: bool
) -> Expression:
    """Return an element of an array of indices as an index into a dim.

    Args:
        array: Of an integer type.
        indices: Point at which it is read.
        extent: Of the dim [elements].
        wrap: Whether negative values count from the end.
    """
    if type_class(array.dtype) not in ("int", "unsigned") or array.dtype == "uint8":
        raise NotLowered(f"an index of type {array.dtype}")
    return checked_index(array.at(indices), extent, wrap)


class Advanced:
    """``x[a, :, b]`` with arrays of indices that broadcast with each other.

    Attributes:
        shape: Of what is read or written [elements].
    """

    def __init__(self, x: Array, indices: Sequence[Array | None], wrap: bool) -> None:
        self.x = x
        self.wrap = wrap
        self.indices = [*indices, *[None] * (x.rank - len(indices))]
        given = [a for a in self.indices if a is not None]
        if any(array.dtype in ("bool", "uint8") for array in given):
            raise NotLowered("an index that is a mask")
        if len(self.indices) != x.rank or not given:
            raise NotLowered("more indices than dims, or none")
        self.rank = max(array.rank for array in given)
        places = [d for d, array in enumerate(self.indices) if array is not None]
        together = places == list(range(places[0], places[-1] + 1))
        self.first = places[0] if together else 0
        plain = [x.shape[d] for d in range(x.rank) if self.indices[d] is None]
        self.shape = (
            *plain[: self.first],
            *self._broadcast(given),
            *plain[self.first :],
        )

    def _broadcast(self, given: Sequence[Array]) -> list[Expression]:
        out = [ONE] * self.rank
        for array in given:
            for back in range(1, array.rank + 1):
                if array.shape[-back] is not ONE:
                    out[-back] = array.shape[-back]
        return out

    def place(self, i: Indices) -> list[Expression]:
        """Return the point of x for a point of the result."""
        last = self.first + self.rank
        shared, plain = i[self.first : last], [*i[: self.first], *i[last:]]
        out: list[Expression] = []
        for array, extent in zip(self.indices, self.x.shape, strict=True):
            if array is None:
                out.append(plain.pop(0))
            else:
                at = aligned(shared, array)
                out.append(position(array, at, extent, self.wrap))
        return out


@lowering(aten.index.Tensor, aten._unsafe_index.Tensor)
def _index(b: Builder, x: Array, indices: Sequence[Array | None]) -> Array:
    picked = Advanced(x, indices, wrap=True)
    return b.result_map(lambda i: x.at(picked.place(i)))


@lowering(aten.index_put.default, aten._unsafe_index_put.default)
def _index_put(
    b: Builder,
    x: Array,
    indices: Sequence[Array | None],
    values: Array,
    accumulate: bool = False,
) -> Array:
    masks = [a for a in indices if a is not None and a.dtype in ("bool", "uint8")]
    if masks:
        return _masked_put(b, x, indices, values, accumulate)
    picked = Advanced(x, indices, wrap=True)
    return b.scatter(
        x,
        picked.shape,
        picked.place,
        lambda i: values.at(aligned(i, values)),
        "add" if accumulate else "set",
    )


def _masked_put(
    b: Builder,
    x: Array,
    indices: Sequence[Array | None],
    values: Array,
    accumulate: bool,
) -> Array:
    (mask, *others) = indices
    if mask is None or others or any(extent is not ONE for extent in values.shape):
        raise NotLowered("an assignment of many values through a mask")

    def changed(i: Indices) -> Expression:
        new = values.at([0] * values.rank, x.dtype)
        if accumulate:
            kind = compute_type(x.dtype)
            new = cast(apply("add", cast(x.at(i), kind), cast(new, kind)), x.dtype)
        return apply("where", truth(mask.at(i[: mask.rank])), new, x.at(i))

    return b.result_map(changed)


@lowering(aten._unsafe_masked_index.default)
def _masked_index(
    b: Builder, x: Array, mask: Array, indices: Sequence[Array | None], fill: Operand
) -> Array:
    picked = Advanced(x, indices, wrap=True)

    def read(i: Indices) -> Expression:
        inside = truth(mask.at(aligned(i, mask)))
        return apply(
            "guard", inside, x.at(picked.place(i)), copied_at(fill, i, x.dtype)
        )

    return b.result_map(read)


@lowering(aten._unsafe_masked_index_put_accumulate.default)
def _masked_accumulate(
    b: Builder, x: Array, mask: Array, indices: Sequence[Array | None], values: Array
) -> Array:
    picked = Advanced(x, indices, wrap=True)
    return b.scatter(
        x,
        picked.shape,
        picked.place,
        lambda i: values.at(aligned(i, values)),
        "add",
        condition=lambda i: truth(mask.at(aligned(i, mask))),
    )


@lowering(aten.gather.default)
def _gather(b: Builder, x: Array, dim: int, at: Array, **_: Any) -> Array:
    if x.rank == 0 or at.rank == 0:
        raise NotLowered("a gather of a scalar")
    dim = wrapped(dim, x.rank)

    def place(i: Indices) -> list[Expression]:
        picked = position(at, i, x.shape[dim], wrap=False)
        return [picked if d == dim else digit for d, digit in enumerate(i)]

    return b.result_map(lambda i: x.at(place(i)))


@lowering(aten.index_select.default)
def _index_select(b: Builder, x: Array, dim: int, at: Array) -> Array:
    if x.rank == 0 or at.rank != 1:
        raise NotLowered("a selection from a scalar or by one")
    dim = wrapped(dim, x.rank)

    def place(i: Indices) -> list[Expression]:
        picked = position(at, (i[dim],), x.shape[dim], wrap=False)
        return [picked if d == dim else digit for d, digit in enumerate(i)]

    return b.result_map(lambda i: x.at(place(i)))


@lowering(aten.embedding.default)
def _embedding(b: Builder, weight: Array, at: Array, *_: Any) -> Array:
    def read(i: Indices) -> Expression:
        row = position(at, i[:-1], weight.shape[0], wrap=False)
        return weight.at((row, i[-1]))

    return b.result_map(read)


@lowering(aten.embedding_dense_backward.default)
def _embedding_backward(
    b: Builder, grad: Array, at: Array, count: Any, padding: int, by_frequency: bool
) -> Array:
    if by_frequency:
        raise NotLowered("gradients scaled by frequency")
    kind = compute_type(grad.dtype)
    zeros = b.map(
        b.shape_of(b.result),
        kind,
        lambda i: constant(0, kind),
        device=grad.device,
        suffix="zeros",
    )

    def used(i: Indices) -> Expression:
        return apply("ne", at.at(i[:-1]), constant(padding, at.dtype))

    total = b.scatter(
        zeros,
        grad.shape,
        lambda i: (position(at, i[:-1], zeros.shape[0], wrap=False), i[-1]),
        lambda i: grad.at(i, kind),
        "add",
        condition=used if padding >= 0 else None,
    )
    if kind == grad.dtype:
        return total
    return b.result_map(lambda i: total.at(i))


_REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "multiply",
    "multiply": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


def _scattered(
    b: Builder, x: Array, dim: int, at: Array, source: Operand, mode: str = "set"
) -> Array:
    if x.rank == 0 or at.rank == 0:
        raise NotLowered("a scatter into a scalar")
    if x.dtype == "bool" and mode not in ("set", "add"):
        raise NotLowered("a reduction of truth values by a scatter")
    dim = wrapped(dim, x.rank)

    def place(i: Indices) -> list[Expression]:
        picked = position(at, i, x.shape[dim], wrap=False)
        return [picked if d == dim else digit for d, digit in enumerate(i)]

    def value(i: Indices) -> Expression:
        if isinstance(source, Array):
            return cast(source.at(i), x.dtype)
        return cast(value_at(source, i, x.dtype), x.dtype)

    return b.scatter(x, at.shape, place, value, mode)


@lowering(aten.scatter.src, aten.scatter.value)
def _scatter(b: Builder, x: Array, dim: int, at: Array, source: Operand) -> Array:
    return _scattered(b, x, dim, at, source)


@lowering(aten.scatter.reduce, aten.scatter.value_reduce)
def _scatter_reducing(
    b: Builder, x: Array, dim: int, at: Array, source: Operand, *, reduce: str
) -> Array:
    return _scattered(b, x, dim, at, source, _REDUCTIONS[reduce])


@lowering(aten.scatter_add.default)
def _scatter_add(b: Builder, x: Array, dim: int, at: Array, source: Array) -> Array:
    if x.dtype not in ("bfloat16", "float16"):
        return _scattered(b, x, dim, at, source, "add")
    # as in eager mode: sums of many such numbers would lose the last ones
    wide = b.map(
        x.shape, "float32", lambda i: cast(x.at(i), "float32"), device=x.device
    )
    total = _scattered(b, wide, dim, at, source, "add")
    return b.result_map(lambda i: cast(total.at(i), x.dtype))


@lowering(aten.scatter_reduce.two)
def _scatter_reduce(
    b: Builder,
    x: Array,
    dim: int,
    at: Array,
    source: Array,
    reduce: str,
    *,
    include_self: bool = True,
) -> Array:
    if not include_self or reduce not in _REDUCTIONS:
        raise NotLowered(f"a scatter that reduces by {reduce}")
    return _scattered(b, x, dim, at, source, _REDUCTIONS[reduce])


@lowering(aten.index_add.default)
def _index_add(
    b: Builder, x: Array, dim: int, at: Array, source: Array, *, alpha: Any = 1
) -> Array:
    if x.rank == 0 or at.rank != 1 or source.rank != x.rank:
        raise NotLowered("an addition into a scalar")
    dim = wrapped(dim, x.rank)

    def value(i: Indices) -> Expression:
        if alpha == 1:
            return source.at(i)
        factor = value_at(alpha, i, x.dtype, exact=True)
        return cast(apply("mul", source.computed(i), factor), x.dtype)

    return b.scatter(
        x,
        source.shape,
        lambda i: [
            position(at, (digit,), x.shape[dim], wrap=False) if d == dim else digit
            for d, digit in enumerate(i)
        ],
        value,
        "add",
    )


@lowering(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def _masked_fill(b: Builder, x: Array, mask: Array, value: Operand) -> Array:
    dtype = type_name(b.result.dtype)
    return b.result_map(
        lambda i: apply(
            "where",
            truth(mask.at(aligned(i, mask))),
            copied_at(value, i, dtype),
            x.at(aligned(i, x)),
        )
    )


@lowering(aten.diagonal_scatter.default)
def _diagonal_scatter(
    b: Builder, x: Array, source: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    dim1, dim2 = wrapped(dim1, x.rank), wrapped(dim2, x.rank)
    rest = [d for d in range(x.rank) if d not in (dim1, dim2)]

    def place(i: Indices) -> list[Index]:
        out: dict[int, Index] = dict(zip(rest, i[:-1], strict=True))
        out[dim1] = add(i[-1], max(-offset, 0))
        out[dim2] = add(i[-1], max(offset, 0))
        return [index(out[d]) for d in range(x.rank)]

    return b.scatter(x, source.shape, place, source.at, unique=True)
