"""Arrays made of constants and of their own coordinates."""

from typing import Any

import torch

from compiler.ir.index import add, constant_value, mul
from compiler.ir.scalar import (
    apply,
    cast,
    compute_type,
    constant,
    from_index,
    type_name,
)

from .builder import Array, Builder, Indices
from .promotion import Operand, index_of, value_at
from .registry import NotLowered, lowering

aten = torch.ops.aten
prims = torch.ops.prims


def filled(b: Builder, value: Any) -> Array:
    """Emit the result with one value in all places."""
    dtype = type_name(b.result.dtype)
    return b.result_map(lambda i: constant(value, dtype))


@lowering(aten.full.default, prims.full.default)
def _full(b: Builder, _: Any, value: Operand, **__: Any) -> Array:
    return _full_like(b, None, value)


@lowering(
    aten.full_like.default,
    aten.new_full.default,
    aten.fill.Scalar,
    aten.fill.Tensor,
    prims.full_like.default,
)
def _full_like(b: Builder, _: Any, *rest: Any, **__: Any) -> Array:
    value = rest[-1]
    dtype = type_name(b.result.dtype)
    if isinstance(value, Array):
        if value.rank:
            raise NotLowered("a fill with an array")
        return b.result_map(lambda i: value.at((), dtype))
    if isinstance(value, (bool, int, float)):
        return filled(b, value)
    return b.result_map(lambda i: value_at(value, (), dtype))


@lowering(aten.scalar_tensor.default)
def _scalar_tensor(b: Builder, value: Operand, **_: Any) -> Array:
    return _full_like(b, None, value)


@lowering(
    aten.zeros.default,
    aten.zeros_like.default,
    aten.new_zeros.default,
    aten.zero.default,
    # what is never written may hold anything: zeros, which inline into readers
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.empty_strided.default,
    aten.empty_permuted.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
    prims.empty_strided.default,
    prims.empty_permuted.default,
)
def _zeros(b: Builder, *_: Any, **__: Any) -> Array:
    return filled(b, 0)


@lowering(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def _ones(b: Builder, *_: Any, **__: Any) -> Array:
    return filled(b, 1)


@lowering(prims.iota.default)
def _iota(b: Builder, length: Any, *, start: Any, step: Any, **_: Any) -> Array:
    dtype = type_name(b.result.dtype)

    def counted(i: Indices) -> Any:
        return from_index(add(mul(i[0], index_of(step)), index_of(start)), dtype)

    return b.result_map(counted)


@lowering(aten.arange.start_step, aten.arange.start, aten.arange.default)
def _arange(b: Builder, *bounds: Any, **_: Any) -> Array:
    start, step = 0, 1
    if len(bounds) > 1:
        start = bounds[0]
    if len(bounds) > 2:
        step = bounds[2]
    dtype = type_name(b.result.dtype)
    if not isinstance(start, float) and not isinstance(step, float):
        return _iota(b, None, start=start, step=step)
    # eager mode computes in float64 and rounds once
    first, stride = constant(start, "float64"), constant(step, "float64")

    def point(i: Indices) -> Any:
        moved = apply("mul", from_index(i[0], "float64"), stride)
        return cast(apply("add", moved, first), dtype)

    return b.result_map(point)


@lowering(aten.eye.default, aten.eye.m)
def _eye(b: Builder, *_: Any, **__: Any) -> Array:
    return b.result_map(
        lambda i: apply("eq", from_index(i[0], "int64"), from_index(i[1], "int64"))
    )


def _triangle(upper: bool) -> Any:
    def lower(b: Builder, x: Array, diagonal: Any = 0) -> Array:
        def kept(i: Indices) -> Any:
            row = from_index(add(i[-2], index_of(diagonal)), "int64")
            column = from_index(i[-1], "int64")
            condition = apply("ge" if upper else "le", column, row)
            return apply("where", condition, x.at(i), constant(0, x.dtype))

        return b.result_map(kept)

    return lower


lowering(aten.triu.default)(_triangle(True))
lowering(aten.tril.default)(_triangle(False))


@lowering(aten.linspace.default)
def _linspace(b: Builder, start: Any, end: Any, steps: Any, **_: Any) -> Array:
    dtype = type_name(b.result.dtype)
    count = constant_value(index_of(steps))
    number = (bool, int, float)
    if count is None or not isinstance(start, number) or not isinstance(end, number):
        raise NotLowered("a linspace with symbolic ends")
    if dtype not in ("float32", "float64"):
        raise NotLowered(f"a linspace of {dtype}")
    if count < 2:
        return filled(b, start)
    kind = compute_type(dtype)
    low, high = constant(start, kind), constant(end, kind)
    step = apply("truediv", apply("sub", high, low), constant(count - 1, kind))

    def point(i: Indices) -> Any:
        # symmetric from both ends, as eager mode computes it
        up = apply("add", low, apply("mul", step, from_index(i[0], kind)))
        left = from_index(add(count - 1, mul(i[0], -1)), kind)
        down = apply("sub", high, apply("mul", step, left))
        first = apply("lt", from_index(i[0], "int64"), constant(count // 2, "int64"))
        return apply("where", first, up, down)

    return b.result_map(point)
