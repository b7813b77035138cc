"""Activation functions and their derivatives: computed in float32, rounded once."""

import math
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.scalar import apply, compute_type, constant, type_name

from .builder import Array, Builder
from .pointwise import sigmoid
from .promotion import aligned, value_at
from .registry import NotLowered, lowering

aten = torch.ops.aten


def _unary(b: Builder, x: Array, function: Any) -> Array:
    if type_name(b.result.dtype) != x.dtype or not x.dtype.startswith(("float", "bf")):
        raise NotLowered(f"an activation of {x.dtype}")
    return b.result_map(lambda i: function(x.computed(i)))


def _gradient(b: Builder, grad: Array, x: Array, slope: Any) -> Array:
    """Return a gradient times the slope at x; inside vmap one of them broadcasts."""
    kind = compute_type(x.dtype)

    def body(i: tuple[Expression, ...]) -> Expression:
        value = slope(x.at(aligned(i, x), kind))
        return apply("mul", grad.at(aligned(i, grad), kind), value)

    return b.result_map(body)


def gelu(x: Expression, approximate: str = "none") -> Expression:
    """Return x times the normal distribution function of x, or its tanh form."""
    half, one = constant(0.5, x.dtype), constant(1, x.dtype)
    if approximate == "tanh":
        cube = apply("mul", apply("mul", x, x), x)
        inner = apply("add", x, apply("mul", constant(0.044715, x.dtype), cube))
        factor = constant(math.sqrt(2 / math.pi), x.dtype)
        tail = apply("tanh", apply("mul", factor, inner))
    else:
        tail = apply("erf", apply("mul", x, constant(math.sqrt(0.5), x.dtype)))
    return apply("mul", apply("mul", half, x), apply("add", one, tail))


@lowering(aten.gelu.default)
def _gelu(b: Builder, x: Array, *, approximate: str = "none") -> Array:
    return _unary(b, x, lambda v: gelu(v, approximate))


@lowering(aten.gelu_backward.default)
def _gelu_backward(
    b: Builder, grad: Array, x: Array, *, approximate: str = "none"
) -> Array:
    kind = compute_type(x.dtype)

    def derivative(v: Expression) -> Expression:
        half, one = constant(0.5, kind), constant(1, kind)
        if approximate == "tanh":
            factor = constant(math.sqrt(2 / math.pi), kind)
            coefficient = constant(0.044715, kind)
            square = apply("mul", v, v)
            cube = apply("mul", square, v)
            inner = apply(
                "mul", factor, apply("add", v, apply("mul", coefficient, cube))
            )
            tail = apply("tanh", inner)
            left = apply("mul", half, apply("add", one, tail))
            slope = apply("sub", one, apply("mul", tail, tail))
            three = apply("mul", constant(3 * 0.044715, kind), square)
            inner_slope = apply("mul", factor, apply("add", one, three))
            right = apply(
                "mul", apply("mul", apply("mul", half, v), slope), inner_slope
            )
            return apply("add", left, right)
        tail = apply("erf", apply("mul", v, constant(math.sqrt(0.5), kind)))
        cdf = apply("mul", half, apply("add", one, tail))
        exponent = apply("mul", apply("mul", v, v), constant(-0.5, kind))
        density = constant(1 / math.sqrt(2 * math.pi), kind)
        pdf = apply("mul", apply("exp", exponent), density)
        return apply("add", cdf, apply("mul", v, pdf))

    return _gradient(b, grad, x, derivative)


@lowering(aten.silu.default)
def _silu(b: Builder, x: Array) -> Array:
    def swish(v: Expression) -> Expression:
        one = constant(1, v.dtype)
        return apply("truediv", v, apply("add", one, apply("exp", apply("neg", v))))

    return _unary(b, x, swish)


@lowering(aten.silu_backward.default)
def _silu_backward(b: Builder, grad: Array, x: Array) -> Array:
    def slope(v: Expression) -> Expression:
        one, gate = constant(1, v.dtype), sigmoid(v)
        rest = apply("mul", v, apply("sub", one, gate))
        return apply("mul", gate, apply("add", one, rest))

    return _gradient(b, grad, x, slope)


def _chosen(
    condition: str, x: Expression, then: Expression, other: Expression
) -> Expression:
    return apply("where", apply(condition, x, constant(0, x.dtype)), then, other)


@lowering(aten.leaky_relu.default)
def _leaky_relu(b: Builder, x: Array, slope: Any = 0.01) -> Array:
    def leak(v: Expression) -> Expression:
        factor = value_at(slope, (), v.dtype, exact=True)
        return _chosen("gt", v, v, apply("mul", v, factor))

    return _unary(b, x, leak)


@lowering(aten.elu.default)
def _elu(
    b: Builder, x: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1
) -> Array:
    def elu(v: Expression) -> Expression:
        grown = apply("expm1", apply("mul", v, constant(input_scale, v.dtype)))
        below = apply("mul", grown, constant(alpha * scale, v.dtype))
        return _chosen("le", v, below, apply("mul", v, constant(scale, v.dtype)))

    return _unary(b, x, elu)


def _between(v: Expression, low: Any, high: Any) -> Expression:
    above = apply("maximum", v, constant(low, v.dtype))
    return apply("minimum", above, constant(high, v.dtype))


@lowering(aten.hardtanh.default)
def _hardtanh(b: Builder, x: Array, low: Any = -1, high: Any = 1) -> Array:
    if isinstance(low, float) and not x.dtype.startswith(("float", "bf")):
        raise NotLowered("a clamp of integers by numbers")
    return b.result_map(lambda i: _between(x.computed(i), low, high))


@lowering(aten.hardsigmoid.default)
def _hardsigmoid(b: Builder, x: Array) -> Array:
    def gate(v: Expression) -> Expression:
        clipped = _between(apply("add", v, constant(3, v.dtype)), 0, 6)
        return apply("truediv", clipped, constant(6, v.dtype))

    return _unary(b, x, gate)


@lowering(aten.hardswish.default)
def _hardswish(b: Builder, x: Array) -> Array:
    def swish(v: Expression) -> Expression:
        clipped = _between(apply("add", v, constant(3, v.dtype)), 0, 6)
        return apply("truediv", apply("mul", v, clipped), constant(6, v.dtype))

    return _unary(b, x, swish)


@lowering(aten.threshold_backward.default)
def _threshold_backward(b: Builder, grad: Array, x: Array, threshold: Any) -> Array:
    kind = compute_type(x.dtype)

    def passed(i: tuple[Expression, ...]) -> Expression:
        below = apply("le", x.at(aligned(i, x), kind), constant(threshold, kind))
        return apply("where", below, constant(0, grad.dtype), grad.at(aligned(i, grad)))

    return b.result_map(passed)


@lowering(aten.tanh_backward.default)
def _tanh_backward(b: Builder, grad: Array, y: Array) -> Array:
    def slope(value: Expression) -> Expression:
        return apply("sub", constant(1, value.dtype), apply("mul", value, value))

    return _gradient(b, grad, y, slope)


@lowering(aten.sigmoid_backward.default)
def _sigmoid_backward(b: Builder, grad: Array, y: Array) -> Array:
    def slope(value: Expression) -> Expression:
        rest = apply("sub", constant(1, value.dtype), value)
        return apply("mul", rest, value)

    return _gradient(b, grad, y, slope)
