"""Layer, group and batch normalisation, whole: Welford moments, one rounding."""

from collections.abc import Sequence
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import add, floordiv, index, mul, product
from compiler.ir.scalar import apply, compute_type, constant, from_index

from .builder import Array, Builder, Indices, size
from .reductions import Reduced, moments
from .registry import NotLowered, lowering

aten = torch.ops.aten

FUSED = (
    aten.native_layer_norm,
    aten.native_layer_norm_backward,
    aten.native_group_norm,
    aten.native_group_norm_backward,
    aten.native_batch_norm,
    aten.native_batch_norm_backward,
    aten._native_batch_norm_legit_functional,
)
"""Operators that PyTorch's partitioner has to be told share kernels with neighbours.

Else it takes what they read for an array, and keeps the float32 cast of a residual
stream where the bfloat16 one would do. Others that have lowerings are left out: with
them it keeps attention's scores instead of its weights, and kernels move more bytes in
all (``benchmarks/traffic_fake.py`` counts them).
"""


def inverse_deviation(
    squares: Expression, count: Expression, epsilon: float
) -> Expression:
    """Return 1 / sqrt(squares / count + epsilon)."""
    dtype = squares.dtype
    variance = apply("truediv", squares, from_index(count, dtype))
    return apply("rsqrt", apply("add", variance, constant(epsilon, dtype)))


def _scaled(
    value: Expression, weight: Expression | None, bias: Expression | None
) -> Expression:
    if weight is not None:
        value = apply("mul", value, weight)
    return value if bias is None else apply("add", value, bias)


def _at(array: Array | None, i: Sequence[Expression], dtype: str) -> Expression | None:
    return None if array is None else array.at(i, dtype)


@lowering(aten.native_layer_norm.default)
def _layer_norm(
    b: Builder,
    x: Array,
    shape: Sequence[Any],
    weight: Array | None,
    bias: Array | None,
    epsilon: float,
) -> tuple[Array, Array, Array]:
    first, second, third = b.result
    dtype = compute_type(x.dtype)
    rank = x.rank - len(shape)
    work = Reduced(b, x, list(range(rank, x.rank)))
    mean, squares = moments(work, dtype)

    def out(i: Indices) -> Expression:
        outer = i[:rank]
        scale = inverse_deviation(squares.at(outer), work.count, epsilon)
        value = apply("mul", apply("sub", x.at(i, dtype), mean.at(outer)), scale)
        inner = i[rank:]
        return _scaled(value, _at(weight, inner, dtype), _at(bias, inner, dtype))

    def scale(total: Expression) -> Expression:
        return inverse_deviation(total, work.count, epsilon)

    return (
        b.result_map(out, first),
        work.finish([mean], lambda v: v, second),
        work.finish([squares], scale, third),
    )


@lowering(aten.native_group_norm.default)
def _group_norm(
    b: Builder,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    batch: Any,
    channels: Any,
    pixels: Any,
    groups: int,
    epsilon: float,
) -> tuple[Array, Array, Array]:
    first, second, third = b.result
    dtype = compute_type(x.dtype)
    each = floordiv(x.shape[1], groups)
    inner = (each, *x.shape[2:])
    count = product(inner)

    def element(i: Indices, r: Indices) -> Expression:
        return x.at((i[0], add(mul(i[1], each), r[0]), *r[1:]), dtype)

    mean, squares, _ = b.reduce(
        (x.shape[0], index(groups)),
        inner,
        "welford",
        element,
        device=x.device,
        suffix="welford",
    )

    def out(i: Indices) -> Expression:
        group = (i[0], floordiv(i[1], each))
        scale = inverse_deviation(squares.at(group), count, epsilon)
        value = apply("mul", apply("sub", x.at(i, dtype), mean.at(group)), scale)
        return _scaled(value, _at(weight, i[1:2], dtype), _at(bias, i[1:2], dtype))

    return (
        b.result_map(out, first),
        b.result_map(lambda i: mean.at(i), second),
        b.result_map(lambda i: inverse_deviation(squares.at(i), count, epsilon), third),
    )


def _channel(i: Indices) -> Indices:
    return i[1:2]


def _apply_batch_norm(
    b: Builder,
    x: Array,
    mean: Any,
    scale: Any,
    weight: Array | None,
    bias: Array | None,
    dtype: str,
    result: Any,
) -> Array:
    def out(i: Indices) -> Expression:
        c = _channel(i)
        value = apply("mul", apply("sub", x.at(i, dtype), mean(c)), scale(c))
        return _scaled(value, _at(weight, c, dtype), _at(bias, c, dtype))

    return b.result_map(out, result)


def _is_empty(result: Any) -> bool:
    return all(size(extent) is index(0) for extent in result.shape)


def _empty(b: Builder, result: Any) -> Array:
    return b.result_map(lambda i: constant(0, str(result.dtype)[6:]), result)


@lowering(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_inference(
    b: Builder,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    variance: Array,
    momentum: float,
    epsilon: float,
) -> tuple[Array, ...]:
    first, *rest = b.result
    dtype = compute_type(x.dtype)

    def scale(c: Indices) -> Expression:
        total = apply("add", variance.at(c, dtype), constant(epsilon, dtype))
        # as eager mode computes it: the root, then the quotient
        return apply("truediv", constant(1, dtype), apply("sqrt", total))

    out = _apply_batch_norm(
        b, x, lambda c: mean.at(c, dtype), scale, weight, bias, dtype, first
    )
    # eager mode saves nothing on a CPU, the statistics on a GPU
    saved = (lambda c: mean.at(c, dtype), scale)
    return (
        out,
        *(
            _empty(b, result) if _is_empty(result) else b.result_map(value, result)
            for result, value in zip(rest, saved, strict=True)
        ),
    )


@lowering(aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
def _batch_norm(
    b: Builder,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array | None,
    variance: Array | None,
    training: bool,
    momentum: float,
    epsilon: float,
) -> tuple[Array, ...]:
    if training or mean is None or variance is None:
        raise NotLowered("a batch normalisation that writes running statistics")
    return _batch_norm_inference(b, x, weight, bias, mean, variance, momentum, epsilon)


def _batch_norm_training(
    b: Builder,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    epsilon: float,
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Reduced]]:
    dtype = compute_type(x.dtype)
    work = Reduced(b, x, [d for d in range(x.rank) if d != 1])
    mean, squares = moments(work, dtype)

    def scale(c: Indices) -> Expression:
        return inverse_deviation(squares.at(c), work.count, epsilon)

    out = _apply_batch_norm(b, x, mean.at, scale, weight, bias, dtype, b.result[0])
    saved = (
        out,
        b.result_map(lambda i: mean.at(i), b.result[1]),
        b.result_map(scale, b.result[2]),
    )
    return saved, (mean, squares, work)


@lowering(aten._native_batch_norm_legit.no_stats)
def _batch_norm_no_stats(
    b: Builder,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    training: bool,
    momentum: float,
    epsilon: float,
) -> tuple[Array, ...]:
    return _batch_norm_training(b, x, weight, bias, epsilon)[0]


@lowering(aten._native_batch_norm_legit_functional.default)
def _batch_norm_functional(
    b: Builder,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    variance: Array,
    training: bool,
    momentum: float,
    epsilon: float,
) -> tuple[Array, ...]:
    if not training:
        results = b.result
        b.result = results[:3]
        found = _batch_norm_inference(
            b, x, weight, bias, mean, variance, momentum, epsilon
        )
        return (
            *found,
            b.result_map(mean.at, results[3]),
            b.result_map(variance.at, results[4]),
        )
    saved, (new_mean, squares, work) = _batch_norm_training(b, x, weight, bias, epsilon)

    def moved(old: Array, new: Expression, i: Indices) -> Expression:
        share, rest = constant(momentum, new.dtype), constant(1 - momentum, new.dtype)
        return apply(
            "add",
            apply("mul", share, new),
            apply("mul", rest, old.at(i, new.dtype)),
        )

    def unbiased(i: Indices) -> Expression:
        total = squares.at(i)
        one = constant(1, total.dtype)
        degrees = apply("sub", from_index(work.count, total.dtype), one)
        return apply("truediv", total, degrees)

    return (
        *saved,
        b.result_map(lambda i: moved(mean, new_mean.at(i), i), b.result[3]),
        b.result_map(lambda i: moved(variance, unbiased(i), i), b.result[4]),
    )
