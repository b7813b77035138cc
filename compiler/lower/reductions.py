"""Sums, extremes, means, variances and positions of extremes.

A half type accumulates in float32 and rounds once at the end, an integer in the type
that eager mode accumulates in, which is the result's.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import Index, constant_value, product
from compiler.ir.operations import type_class
from compiler.ir.scalar import (
    apply,
    cast,
    compute_type,
    constant,
    from_index,
    type_name,
)

from .builder import Array, Builder, Indices
from .pointwise import truth
from .registry import NotLowered, lowering
from .views import wrapped

aten = torch.ops.aten
prims = torch.ops.prims

Dims = int | Sequence[int] | None


def listed(dims: Dims, rank: int) -> list[int]:
    """Return which dims a reduction names, in order; all if it names none."""
    if dims is None or (not isinstance(dims, int) and not len(dims)):
        return list(range(rank))
    named = [dims] if isinstance(dims, int) else list(dims)
    return sorted({wrapped(dim, rank) for dim in named} & set(range(rank)))


class Reduced:
    """An array seen as (kept dims, reduced dims).

    Attributes:
        dims: Which dims are reduced.
        kept: Extents of the others.
        inner: Extents of the reduced.
    """

    def __init__(self, b: Builder, x: Array, dims: Dims) -> None:
        self.builder = b
        self.x = x
        self.dims = listed(dims, x.rank)
        self.others = [d for d in range(x.rank) if d not in self.dims]
        self.kept = [x.shape[d] for d in self.others]
        self.inner = [x.shape[d] for d in self.dims]

    @property
    def count(self) -> Expression:
        """Number of elements that one result is made of."""
        return product(self.inner)

    def point(self, outer: Sequence[Index], inner: Sequence[Index]) -> list[Index]:
        """Return the array's point."""
        places = dict(zip(self.others, outer, strict=True))
        places.update(zip(self.dims, inner, strict=True))
        return [places[d] for d in range(self.x.rank)]

    def outer(self, indices: Indices) -> list[Expression]:
        """Return the kept digits of a point of the whole array."""
        return [indices[d] for d in self.others]

    def run(
        self, reducer: str, change: Callable[[Expression], Expression], suffix: str
    ) -> tuple[Array, ...]:
        """Emit a reduction of ``change(element)`` to the kept dims."""
        return self.builder.reduce(
            self.kept,
            self.inner,
            reducer,
            lambda i, r: change(self.x.at(self.point(i, r))),
            device=self.x.device,
            suffix=suffix,
        )

    def finish(
        self,
        parts: Sequence[Array],
        change: Callable[..., Expression],
        result: Any = None,
    ) -> Array:
        """Emit the operator's result from reduced parts, with kept dims of 1 or not."""
        result = self.builder.result if result is None else result
        keep = len(result.shape) != len(self.others)

        def body(i: Indices) -> Expression:
            outer = self.outer(i) if keep else list(i)
            return change(*(part.at(outer) for part in parts))

        return self.builder.result_map(body, result)


@lowering(aten.sum.default, aten.sum.dim_IntList, prims.sum.default)
def _sum(b: Builder, x: Array, dims: Dims = None, *_: Any, **__: Any) -> Array:
    return _accumulated(b, x, dims, "sum")


@lowering(aten.prod.default)
def _prod(b: Builder, x: Array, **_: Any) -> Array:
    return _accumulated(b, x, None, "product")


@lowering(aten.prod.dim_int)
def _prod_dim(b: Builder, x: Array, dim: int, *_: Any, **__: Any) -> Array:
    return _accumulated(b, x, dim, "product")


def _accumulated(b: Builder, x: Array, dims: Dims, reducer: str) -> Array:
    result = type_name(b.result.dtype)
    work = Reduced(b, x, dims)
    if result == "bool":
        reducer = {"sum": "any", "product": "all"}[reducer]
    parts = work.run(
        reducer, lambda v: cast(cast(v, result), compute_type(result)), reducer
    )
    return work.finish(parts, lambda v: v)


@lowering(aten.mean.default, aten.mean.dim)
def _mean(b: Builder, x: Array, dims: Dims = None, *_: Any, **__: Any) -> Array:
    dtype = compute_type(type_name(b.result.dtype))
    work = Reduced(b, x, dims)
    parts = work.run("sum", lambda v: cast(v, dtype), "sum")
    count = from_index(work.count, dtype)
    return work.finish(parts, lambda v: apply("truediv", v, count))


def _nonempty(work: Reduced, what: str) -> None:
    known = constant_value(work.count)
    if known == 0:
        raise NotLowered(f"{what} of nothing raises")


def _extreme(reducer: str) -> Callable[..., Array]:
    def lower(b: Builder, x: Array, dims: Dims = None, *_: Any) -> Array:
        work = Reduced(b, x, dims)
        _nonempty(work, reducer)
        kind = reducer
        if x.dtype == "bool":
            kind = "any" if reducer == "maximum" else "all"
        parts = work.run(kind, lambda v: cast(v, compute_type(x.dtype)), kind)
        return work.finish(parts, lambda v: v)

    return lower


lowering(aten.amax.default, aten.max.default, prims.amax.default)(_extreme("maximum"))
lowering(aten.amin.default, aten.min.default, prims.amin.default)(_extreme("minimum"))


def _position(reducer: str) -> Callable[..., Array]:
    def lower(b: Builder, x: Array, dim: int | None = None, *_: Any) -> Array:
        work = Reduced(b, x, dim)
        _nonempty(work, reducer)
        parts = work.run(reducer, _ordered, reducer)
        return work.finish(parts, lambda v: v)

    return lower


def _ordered(value: Expression) -> Expression:
    """Return a value in a type that has an order: truth as uint8."""
    return cast(value, "uint8" if value.dtype == "bool" else compute_type(value.dtype))


lowering(aten.argmax.default)(_position("argmax"))
lowering(aten.argmin.default)(_position("argmin"))


def _extreme_and_position(reducer: str) -> Callable[..., tuple[Array, ...]]:
    def lower(b: Builder, x: Array, dim: int, *_: Any) -> tuple[Array, ...]:
        work = Reduced(b, x, dim)
        _nonempty(work, reducer)
        best = work.run(reducer, _ordered, reducer)
        place = work.run(f"arg{reducer[:3]}", _ordered, f"arg{reducer[:3]}")
        values, positions = b.result
        return (
            work.finish(best, lambda v: v, values),
            work.finish(place, lambda v: v, positions),
        )

    return lower


lowering(aten.max.dim)(_extreme_and_position("maximum"))
lowering(aten.min.dim)(_extreme_and_position("minimum"))


def _logical(reducer: str) -> Callable[..., Array]:
    def lower(b: Builder, x: Array, dims: Dims = None, *_: Any) -> Array:
        work = Reduced(b, x, dims)
        if not isinstance(dims, int) and dims is not None and not len(dims):
            raise NotLowered("a reduction over an empty list of dims")
        parts = work.run(reducer, truth, reducer)
        return work.finish(parts, lambda v: v)

    return lower


lowering(aten.any.default, aten.any.dim, aten.any.dims)(_logical("any"))
lowering(aten.all.default, aten.all.dim, aten.all.dims)(_logical("all"))


def moments(work: Reduced, dtype: str) -> tuple[Array, Array]:
    """Emit the means and the sums of squared deviations."""
    mean, squares, _ = work.run("welford", lambda v: cast(v, dtype), "welford")
    return mean, squares


def variance(
    squares: Expression, count: Expression, correction: float | None
) -> Expression:
    """Return the variance from squared deviations; NaN or inf where too few."""
    dtype = squares.dtype
    degrees = from_index(count, dtype)
    less = constant(1.0 if correction is None else correction, dtype)
    left = apply("maximum", apply("sub", degrees, less), constant(0, dtype))
    return apply("truediv", squares, left)


@lowering(aten.var.correction, aten.std.correction)
def _var(
    b: Builder,
    x: Array,
    dims: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    root: bool = False,
) -> Array:
    dtype = compute_type(type_name(b.result.dtype))
    work = Reduced(b, x, dims)
    _real(x)
    _, squares = moments(work, dtype)

    def finish(total: Expression) -> Expression:
        found = variance(total, work.count, correction)
        return apply("sqrt", found) if root else found

    return work.finish([squares], finish)


@lowering(aten.std.correction)
def _std(b: Builder, x: Array, dims: Dims = None, **more: Any) -> Array:
    return _var(b, x, dims, root=True, **more)


@lowering(aten.var_mean.correction)
def _var_mean(
    b: Builder,
    x: Array,
    dims: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Array, Array]:
    first, second = b.result
    dtype = compute_type(type_name(first.dtype))
    work = Reduced(b, x, dims)
    _real(x)
    mean, squares = moments(work, dtype)

    def deviation(total: Expression) -> Expression:
        return variance(total, work.count, correction)

    def average(value: Expression) -> Expression:
        if constant_value(work.count) == 0:
            return constant(math.nan, dtype)
        return value

    return (
        work.finish([squares], deviation, first),
        work.finish([mean], average, second),
    )


def _real(x: Array) -> None:
    if type_class(x.dtype) != "float":
        raise NotLowered(f"a variance of {x.dtype}")


@lowering(aten.linalg_vector_norm.default)
def _norm(
    b: Builder,
    x: Array,
    order: float = 2,
    dims: Dims = None,
    keepdim: bool = False,
    **_: Any,
) -> Array:
    dtype = compute_type(type_name(b.result.dtype))
    work = Reduced(b, x, dims)

    def size(value: Expression) -> Expression:
        return apply("abs", cast(value, dtype))

    if order == 2:
        parts = work.run(
            "sum", lambda v: apply("mul", cast(v, dtype), cast(v, dtype)), "squares"
        )
        return work.finish(parts, lambda v: apply("sqrt", v))
    if order == 1:
        return work.finish(work.run("sum", size, "sum"), lambda v: v)
    if order == 0:
        parts = work.run("sum", lambda v: cast(truth(v), dtype), "count")
        return work.finish(parts, lambda v: v)
    if math.isinf(order):
        _nonempty(work, "a norm")
        kind = "maximum" if order > 0 else "minimum"
        return work.finish(work.run(kind, size, kind), lambda v: v)
    power, root = constant(order, dtype), constant(1 / order, dtype)
    parts = work.run("sum", lambda v: apply("pow", size(v), power), "powers")
    return work.finish(parts, lambda v: apply("pow", v, root))
