"""Elementwise arithmetic, comparisons, logic and functions."""

from collections.abc import Callable
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.operations import type_class
from compiler.ir.scalar import (
    apply,
    cast,
    compute_type,
    constant,
    type_name,
)

from .builder import Array, Builder
from .promotion import Operand, common_type, copied_at, float_type, value_at
from .registry import NotLowered, lowering

aten = torch.ops.aten
prims = torch.ops.prims

Function = Callable[..., Expression]


def _same(op: str) -> Function:
    return lambda *values: apply(op, *values)


def _one(dtype: str) -> Expression:
    return constant(1, dtype)


def sigmoid(x: Expression) -> Expression:
    """Return 1 / (1 + exp(-x))."""
    one = _one(x.dtype)
    return apply("truediv", one, apply("add", one, apply("exp", apply("neg", x))))


def reciprocal(x: Expression) -> Expression:
    """Return 1 / x."""
    return apply("truediv", _one(x.dtype), x)


def relu(x: Expression) -> Expression:
    """Return x where it is positive or NaN, else 0."""
    return apply("maximum", x, constant(0, x.dtype))


# functions whose result is floating
_FLOAT_FUNCTIONS: dict[str, Function] = {
    **{
        name: _same(name)
        for name in (
            *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "erf", "erfc", "lgamma"),
        )
    },
    "sigmoid": sigmoid,
    "reciprocal": reciprocal,
}


def _float_function(name: str, function: Function) -> None:
    @lowering(getattr(aten, name).default)
    def lower(b: Builder, x: Array) -> Array:
        dtype = compute_type(type_name(b.result.dtype))
        return b.result_map(lambda i: function(x.at(i, dtype)))


for _name, _function in _FLOAT_FUNCTIONS.items():
    _float_function(_name, _function)


def _rounding(op: str) -> Function:
    def rounded(x: Expression) -> Expression:
        return apply(op, x) if type_class(x.dtype) == "float" else x

    return rounded


def _absolute(x: Expression) -> Expression:
    return x if type_class(x.dtype) in ("bool", "unsigned") else apply("abs", x)


def _sign(x: Expression) -> Expression:
    return x if x.dtype == "bool" else apply("sign", x)


def _nan_test(op: str) -> Function:
    def tested(x: Expression) -> Expression:
        if type_class(x.dtype) == "float":
            return apply(op, x)
        return constant(False, "bool")

    return tested


def _negative(x: Expression) -> Expression:
    if type_class(x.dtype) == "float":
        return apply("signbit", x)
    if type_class(x.dtype) == "int":
        return apply("lt", x, constant(0, x.dtype))
    return constant(False, "bool")


def truth(x: Expression) -> Expression:
    """Return whether a value is not zero (NaN is not)."""
    return cast(x, "bool")


def negated(x: Expression) -> Expression:
    """Return the logical not."""
    return apply("bitwise_not", truth(x))


# functions whose result has the operand's type, or is a truth value
_PLAIN_FUNCTIONS: dict[str, Function] = {
    "neg": _same("neg"),
    "abs": _absolute,
    "sign": _sign,
    "sgn": _sign,
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "round": _rounding("round"),
    "relu": relu,
    "bitwise_not": _same("bitwise_not"),
    "logical_not": negated,
    "isnan": _nan_test("isnan"),
    "isinf": _nan_test("isinf"),
    "signbit": _negative,
    "positive": lambda x: x,
    "square": lambda x: apply("mul", x, x),
}


def _plain_function(name: str, function: Function) -> None:
    @lowering(getattr(aten, name).default)
    def lower(b: Builder, x: Array) -> Array:
        return b.result_map(lambda i: function(x.computed(i)))


for _name, _function in _PLAIN_FUNCTIONS.items():
    _plain_function(_name, _function)


def _binary(
    b: Builder,
    function: Function,
    left: Operand,
    right: Operand,
    common: str,
    exact: bool = False,
) -> Array:
    return b.result_map(
        lambda i: function(
            value_at(left, i, common, exact=exact),
            value_at(right, i, common, exact=exact),
        )
    )


@lowering(aten.add.Tensor, aten.add.Scalar)
def _add(b: Builder, x: Operand, y: Operand, alpha: Any = 1) -> Array:
    common = common_type(x, y)
    if common == "bool":
        if alpha is not True and alpha != 1:
            raise NotLowered("a sum of truth values with a factor")
        return _binary(b, _same("bitwise_or"), x, y, common)
    factor = value_at(alpha, (), common, exact=True)

    def total(left: Expression, right: Expression) -> Expression:
        return apply("add", left, apply("mul", right, factor))

    return _binary(b, total, x, y, common, exact=True)


@lowering(aten.sub.Tensor, aten.sub.Scalar)
def _sub(b: Builder, x: Operand, y: Operand, alpha: Any = 1) -> Array:
    common = common_type(x, y)
    factor = value_at(alpha, (), common, exact=True)

    def difference(left: Expression, right: Expression) -> Expression:
        return apply("sub", left, apply("mul", right, factor))

    return _binary(b, difference, x, y, common, exact=True)


@lowering(aten.rsub.Tensor, aten.rsub.Scalar)
def _rsub(b: Builder, x: Operand, y: Operand, alpha: Any = 1) -> Array:
    return _sub(b, y, x, alpha)


@lowering(aten.mul.Tensor, aten.mul.Scalar)
def _mul(b: Builder, x: Operand, y: Operand) -> Array:
    common = common_type(x, y)
    op = "bitwise_and" if common == "bool" else "mul"
    return _binary(b, _same(op), x, y, common, exact=True)


@lowering(aten.div.Tensor, aten.div.Scalar, aten.div.Tensor_mode, aten.div.Scalar_mode)
def _div(b: Builder, x: Operand, y: Operand, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return _binary(b, _same("truediv"), x, y, float_type(x, y), exact=True)
    common = common_type(x, y)
    _nonzero(y, common)
    floor = rounding_mode == "floor"
    op = "floordiv" if floor else "truncdiv"
    return _binary(b, _same(op), x, y, common, exact=floor)


@lowering(aten.floor_divide.default, aten.floor_divide.Scalar)
def _floor_divide(b: Builder, x: Operand, y: Operand) -> Array:
    return _div(b, x, y, "floor")


def _nonzero(divisor: Operand, common: str) -> None:
    """Refuse an integer divisor that may be 0, for which eager mode raises."""
    if type_class(common) == "float":
        return
    if common == "bool" or isinstance(divisor, Array):
        raise NotLowered("an integer division by a tensor raises where it is 0")
    if not isinstance(divisor, Expression) and constant(divisor, common).data == 0:
        raise NotLowered("an integer division by 0 raises")


def _remainder(op: str) -> Callable[[Builder, Operand, Operand], Array]:
    def lower(b: Builder, x: Operand, y: Operand) -> Array:
        common = common_type(x, y)
        _nonzero(y, common)
        return _binary(b, _same(op), x, y, common)

    return lower


lowering(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)(
    _remainder("remainder")
)
lowering(aten.fmod.Tensor, aten.fmod.Scalar)(_remainder("fmod"))


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _comparison(op: str) -> None:
    packet = getattr(aten, op)

    @lowering(packet.Tensor, packet.Scalar)
    def lower(b: Builder, x: Operand, y: Operand) -> Array:
        common = common_type(x, y)
        return _binary(b, _same(op), x, y, common)


for _name in _COMPARISONS:
    _comparison(_name)


def _bitwise(name: str, op: str) -> None:
    packet = getattr(aten, name)

    @lowering(packet.Tensor, packet.Scalar, packet.Scalar_Tensor)
    def lower(b: Builder, x: Operand, y: Operand) -> Array:
        return _binary(b, _same(op), x, y, common_type(x, y))


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _bitwise(_name, _name)


@lowering(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
    aten.bitwise_left_shift.Scalar_Tensor,
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
)
def _shift_left(b: Builder, x: Operand, y: Operand) -> Array:
    return _binary(b, _same("shift_left"), x, y, common_type(x, y))


@lowering(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
    aten.bitwise_right_shift.Scalar_Tensor,
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
)
def _shift_right(b: Builder, x: Operand, y: Operand) -> Array:
    return _binary(b, _same("shift_right"), x, y, common_type(x, y))


def _logical(name: str, op: str) -> None:
    @lowering(getattr(aten, name).default)
    def lower(b: Builder, x: Array, y: Array) -> Array:
        return b.result_map(
            lambda i: apply(
                op,
                truth(value_at(x, i, x.dtype)),
                truth(value_at(y, i, y.dtype)),
            )
        )


for _name in ("logical_and", "logical_or", "logical_xor"):
    _logical(_name, _name.replace("logical", "bitwise"))


def extreme(op: str, left: Expression, right: Expression) -> Expression:
    """Return the maximum or minimum, NaN if there is one."""
    if left.dtype == "bool":
        op = "bitwise_or" if op == "maximum" else "bitwise_and"
    return apply(op, left, right)


@lowering(aten.maximum.default)
def _maximum(b: Builder, x: Operand, y: Operand) -> Array:
    return _binary(b, lambda *v: extreme("maximum", *v), x, y, common_type(x, y))


@lowering(aten.minimum.default)
def _minimum(b: Builder, x: Operand, y: Operand) -> Array:
    return _binary(b, lambda *v: extreme("minimum", *v), x, y, common_type(x, y))


def _ignoring_nan(op: str) -> Function:
    def chosen(left: Expression, right: Expression) -> Expression:
        best = extreme(op, left, right)
        if type_class(left.dtype) != "float":
            return best
        best = apply("where", apply("isnan", right), left, best)
        return apply("where", apply("isnan", left), right, best)

    return chosen


@lowering(aten.fmax.default)
def _fmax(b: Builder, x: Operand, y: Operand) -> Array:
    return _binary(b, _ignoring_nan("maximum"), x, y, common_type(x, y))


@lowering(aten.fmin.default)
def _fmin(b: Builder, x: Operand, y: Operand) -> Array:
    return _binary(b, _ignoring_nan("minimum"), x, y, common_type(x, y))


for _name in ("atan2", "hypot", "copysign"):

    def _float_binary(name: str) -> None:
        packet = getattr(aten, name)
        overloads = [packet.default if name == "hypot" or name == "atan2" else None]
        if name == "copysign":
            overloads = [packet.Tensor, packet.Scalar]

        @lowering(*overloads)
        def lower(b: Builder, x: Operand, y: Operand) -> Array:
            return _binary(b, _same(name), x, y, float_type(x, y))

    _float_binary(_name)


@lowering(aten.where.self, prims.where.default)
def _where(b: Builder, condition: Array, x: Operand, y: Operand) -> Array:
    common = type_name(b.result.dtype)

    def chosen(i: tuple[Expression, ...]) -> Expression:
        then, other = (copied_at(v, i, common) for v in (x, y))
        return apply(
            "where", truth(value_at(condition, i, condition.dtype)), then, other
        )

    return b.result_map(chosen)


@lowering(aten.clamp.default, aten.clamp.Tensor)
def _clamp(
    b: Builder, x: Array, low: Operand | None = None, high: Operand | None = None
) -> Array:
    common = type_name(b.result.dtype)

    def clamped(i: tuple[Expression, ...]) -> Expression:
        value = value_at(x, i, common)
        if low is not None:
            value = extreme("maximum", value, value_at(low, i, common))
        if high is not None:
            value = extreme("minimum", value, value_at(high, i, common))
        return value

    return b.result_map(clamped)


@lowering(aten.clamp_min.default, aten.clamp_min.Tensor)
def _clamp_min(b: Builder, x: Array, low: Operand) -> Array:
    return _clamp(b, x, low)


@lowering(aten.clamp_max.default, aten.clamp_max.Tensor)
def _clamp_max(b: Builder, x: Array, high: Operand) -> Array:
    return _clamp(b, x, None, high)


@lowering(prims.fma.default)
def _fma(b: Builder, x: Operand, y: Operand, z: Operand) -> Array:
    common = type_name(b.result.dtype)
    if type_class(common) != "float":
        raise NotLowered("a fused multiply-add of integers")
    return b.result_map(
        lambda i: apply("fma", *(value_at(v, i, common) for v in (x, y, z)))
    )


@lowering(aten.addcmul.default)
def _addcmul(b: Builder, x: Array, y: Array, z: Array, value: Any = 1) -> Array:
    common = type_name(b.result.dtype)
    factor = value_at(value, (), common, exact=True)

    def total(i: tuple[Expression, ...]) -> Expression:
        left, first, second = (value_at(v, i, common) for v in (x, y, z))
        return apply("add", left, apply("mul", apply("mul", factor, first), second))

    return b.result_map(total)


@lowering(aten.addcdiv.default)
def _addcdiv(b: Builder, x: Array, y: Array, z: Array, value: Any = 1) -> Array:
    common = type_name(b.result.dtype)
    factor = value_at(value, (), common, exact=True)

    def total(i: tuple[Expression, ...]) -> Expression:
        left, first, second = (value_at(v, i, common) for v in (x, y, z))
        return apply("add", left, apply("truediv", apply("mul", factor, first), second))

    return b.result_map(total)


@lowering(aten.pow.Tensor_Scalar, aten.pow.Tensor_Tensor, aten.pow.Scalar)
def _pow(b: Builder, x: Operand, y: Operand) -> Array:
    common = type_name(b.result.dtype)
    if isinstance(y, (int, float)):
        return b.result_map(lambda i: _power(value_at(x, i, common), y))
    if type_class(common) != "float":
        raise NotLowered("an integer power with a tensor for exponent")
    return _binary(b, _same("pow"), x, y, common)


_LARGEST_UNROLLED_POWER = 64


def _power(x: Expression, exponent: int | float) -> Expression:
    floating = type_class(x.dtype) == "float"
    if exponent == 0.5 and floating:
        return apply("sqrt", x)
    if exponent == -0.5 and floating:
        return apply("rsqrt", x)
    whole = int(exponent) if float(exponent).is_integer() else None
    if floating:
        if whole in (1, 2, 3):
            return _product(x, whole)
        if whole in (-1, -2):
            return reciprocal(_product(x, -whole))
        return apply("pow", x, constant(exponent, x.dtype))
    if whole is None or not 0 <= whole <= _LARGEST_UNROLLED_POWER or x.dtype == "bool":
        raise NotLowered(f"an integer to the power {exponent}")
    return _product(x, whole)


def _product(x: Expression, power: int) -> Expression:
    """Return a power by repeated squaring; up to the cube as eager multiplies."""
    total = constant(1, x.dtype)
    square = x
    while power:
        if power & 1:
            total = apply("mul", total, square)
        power >>= 1
        square = apply("mul", square, square) if power else square
    return total
