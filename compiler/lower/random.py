"""Random numbers: Philox, keyed by a seed of the call and the element's own position.

An element's number depends on its row-major position only, never on how a kernel is
tiled. Seeds are drawn from torch's generator once a call, so ``torch.manual_seed``
repeats results and later draws are others.
"""

import math
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import add, flatten, mul
from compiler.ir.scalar import (
    apply,
    cast,
    compute_type,
    constant,
    from_index,
    random_bits,
    type_name,
)

from .builder import Array, Builder, Indices, static
from .promotion import Operand, index_of
from .registry import NotLowered, lowering

aten = torch.ops.aten

# uniform numbers are multiples of 2^-digits, so none rounds up to 1
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24}


class _Words:
    """Random words for each element of the result.

    Attributes:
        each: Words for an element.
    """

    def __init__(self, b: Builder, each: int = 1) -> None:
        if getattr(b.options, "eager_parity", False):
            raise NotLowered("eager mode's random numbers were asked for")
        self.each = each
        self.shape = b.shape_of(b.result)
        self.seed = b.seed(str(b.result.device))

    def __call__(self, i: Indices, number: int = 0) -> Expression:
        """Return an int32 word of an element."""
        position = add(mul(flatten(i, self.shape), self.each), number)
        return random_bits(self.seed, from_index(position, "int64"))

    def uniform(self, i: Indices, dtype: str, number: int = 0) -> Expression:
        """Return a number in [0, 1), in the type to compute ``dtype`` in."""
        if dtype == "float64":
            high = _unsigned(self(i, 2 * number))
            low = _unsigned(self(i, 2 * number + 1))
            upper = apply("mul", cast(high, dtype), constant(2.0**21, dtype))
            lower = apply("shift_right", low, constant(11, "int64"))
            total = apply("add", upper, cast(lower, dtype))
            return apply("mul", total, constant(2.0**-53, dtype))
        digits = _DIGITS[dtype]
        mask = constant((1 << digits) - 1, "int32")
        whole = cast(apply("bitwise_and", self(i, number), mask), "float32")
        return apply("mul", whole, constant(2.0**-digits, "float32"))


def _unsigned(word: Expression) -> Expression:
    mask = constant(0xFFFFFFFF, "int64")
    return apply("bitwise_and", cast(word, "int64"), mask)


def _dtype(b: Builder, result: Any = None) -> str:
    dtype = type_name((b.result if result is None else result).dtype)
    if not dtype.startswith(("float", "bf")):
        raise NotLowered(f"random numbers of {dtype}")
    return dtype


@lowering(aten.rand.default, aten.rand_like.default)
def _rand(b: Builder, *_: Any, **__: Any) -> Array:
    dtype = _dtype(b)
    words = _Words(b, 2 if dtype == "float64" else 1)
    return b.result_map(lambda i: words.uniform(i, dtype))


@lowering(aten.uniform.default)
def _uniform(
    b: Builder, _: Array, low: float = 0, high: float = 1, *, generator: Any = None
) -> Array:
    dtype = _dtype(b)
    _no(generator)
    words = _Words(b, 2 if dtype == "float64" else 1)
    kind = compute_type(dtype)
    start, width = constant(low, kind), constant(high - low, kind)
    return b.result_map(
        lambda i: apply("add", start, apply("mul", width, words.uniform(i, dtype)))
    )


def _normal_at(words: _Words, i: Indices, dtype: str) -> Expression:
    """Return a standard normal number, by Box and Muller's transform."""
    kind = compute_type(dtype)
    wide = kind if kind == "float64" else "float32"
    one = constant(1, wide)
    first = apply("sub", one, words.uniform(i, wide))  # in (0, 1]
    second = words.uniform(i, wide, 1)
    radius = apply("sqrt", apply("mul", constant(-2, wide), apply("log", first)))
    angle = apply("mul", constant(2 * math.pi, wide), second)
    return apply("mul", radius, apply("cos", angle))


@lowering(aten.randn.default, aten.randn_like.default)
def _randn(b: Builder, *_: Any, **__: Any) -> Array:
    dtype = _dtype(b)
    words = _Words(b, 4 if dtype == "float64" else 2)
    return b.result_map(lambda i: _normal_at(words, i, dtype))


@lowering(aten.normal_functional.default)
def _normal(
    b: Builder, _: Array, mean: float = 0, std: float = 1, *, generator: Any = None
) -> Array:
    dtype = _dtype(b)
    _no(generator)
    words = _Words(b, 4 if dtype == "float64" else 2)
    kind = compute_type(dtype)
    centre, width = constant(mean, kind), constant(std, kind)
    return b.result_map(
        lambda i: apply("add", centre, apply("mul", width, _normal_at(words, i, dtype)))
    )


@lowering(aten.exponential.default)
def _exponential(
    b: Builder, _: Array, rate: float = 1, *, generator: Any = None
) -> Array:
    dtype = _dtype(b)
    _no(generator)
    words = _Words(b, 2 if dtype == "float64" else 1)
    kind = compute_type(dtype)

    def drawn(i: Indices) -> Expression:
        left = apply("sub", constant(1, kind), words.uniform(i, dtype))
        return apply("truediv", apply("neg", apply("log", left)), constant(rate, kind))

    return b.result_map(drawn)


@lowering(aten.randint.default, aten.randint_like.default)
def _randint(b: Builder, *args: Any, **more: Any) -> Array:
    first = args[1] if isinstance(args[0], Array) else args[0]
    return _integers(b, 0, first)


@lowering(aten.randint.low, aten.randint_like.low_dtype)
def _randint_low(b: Builder, *args: Any, **more: Any) -> Array:
    first = 1 if isinstance(args[0], Array) else 0
    return _integers(b, args[first], args[first + 1])


def _integers(b: Builder, low: Any, high: Any) -> Array:
    least = static(index_of(low), "a bound")
    count = static(index_of(high), "a bound") - least
    if not 0 < count < 2**62:
        raise NotLowered(f"{count} random integers")
    dtype = type_name(b.result.dtype)
    words = _Words(b, 1 if count <= 2**24 else 2)

    def drawn(i: Indices) -> Expression:
        bits = _unsigned(words(i))
        if words.each == 2:
            left = apply("shift_left", bits, constant(31, "int64"))
            bits = apply("bitwise_xor", left, _unsigned(words(i, 1)))
            bits = apply("bitwise_and", bits, constant(2**63 - 1, "int64"))
        value = apply("remainder", bits, constant(count, "int64"))
        return cast(apply("add", value, constant(least, "int64")), dtype)

    return b.result_map(drawn)


@lowering(aten.bernoulli.p)
def _bernoulli(b: Builder, x: Array, p: float = 0.5, *, generator: Any = None) -> Array:
    _no(generator)
    words = _Words(b)
    chance = constant(p, "float32")
    return b.result_map(lambda i: apply("lt", words.uniform(i, "float32"), chance))


@lowering(aten.bernoulli.default, aten.bernoulli.Tensor)
def _bernoulli_each(
    b: Builder, x: Array, chances: Operand | None = None, *, generator: Any = None
) -> Array:
    _no(generator)
    if chances is not None and not isinstance(chances, Array):
        raise NotLowered("a chance that is no tensor")
    odds = x if chances is None else chances
    words = _Words(b)
    return b.result_map(
        lambda i: apply("lt", words.uniform(i, "float32"), odds.at(i, "float32"))
    )


@lowering(aten.native_dropout.default)
def _dropout(b: Builder, x: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    first, second = b.result
    kind = compute_type(x.dtype)
    if train is False or p == 0:
        return (
            b.result_map(lambda i: x.at(i), first),
            b.result_map(lambda i: constant(True, "bool"), second),
        )
    if p == 1:
        return (
            b.result_map(
                lambda i: apply("mul", x.at(i, kind), constant(0, kind)), first
            ),
            b.result_map(lambda i: constant(False, "bool"), second),
        )
    b.result = second
    words = _Words(b)
    chance = constant(1 - p, "float32")
    mask = b.result_map(lambda i: apply("lt", words.uniform(i, "float32"), chance))
    scale = constant(1 / (1 - p), kind)

    def kept(i: Indices) -> Expression:
        chosen = cast(mask.at(i), kind)
        return apply("mul", apply("mul", x.at(i, kind), chosen), scale)

    out = b.result_map(kept, first)
    b.result = (first, second)
    return out, mask


def _no(generator: Any) -> None:
    if generator is not None:
        raise NotLowered("a generator of the caller's")
