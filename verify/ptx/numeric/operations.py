"""What the arithmetic instructions of PTX compute, as functions on arrays of bits."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .floats import Bits, from_bits, from_halves, halves, to_bits

Operation = Callable[..., Bits]
_MASK32: Final = np.uint64(0xFFFFFFFF)


def _signed(bits: Bits, width: int) -> npt.NDArray[np.int64]:
    shift = np.uint64(64 - width)
    return (bits << shift).view(np.int64) >> np.int64(64 - width)


def _unsigned(bits: Bits, width: int) -> Bits:
    return bits if width == 64 else bits & np.uint64((1 << width) - 1)


def _integers(bits: Bits, kind: str) -> npt.NDArray[np.int64] | Bits:
    width = int(kind[1:])
    return _signed(bits, width) if kind[0] == "s" else _unsigned(bits, width)


def _bits(values: npt.NDArray[np.int64] | Bits) -> Bits:
    return values.view(np.uint64)


def _lop3(a: Bits, b: Bits, c: Bits, table: Bits) -> Bits:
    code, result = int(table[0]), np.zeros_like(a)
    for index in range(8):
        if code >> index & 1:
            x = a if index & 4 else ~a
            y = b if index & 2 else ~b
            z = c if index & 1 else ~c
            result = result | (x & y & z)
    return result


def _prmt(a: Bits, b: Bits, selector: Bits) -> Bits:
    joined = (a & _MASK32) | b << np.uint64(32)
    result = np.zeros_like(a)
    for byte in range(4):
        code = selector >> np.uint64(4 * byte) & np.uint64(15)
        value = joined >> (code & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
        sign = np.where(value >> np.uint64(7) != 0, np.uint64(0xFF), np.uint64(0))
        value = np.where(code & np.uint64(8) != 0, sign, value)
        result = result | value << np.uint64(8 * byte)
    return result


def _select(a: Bits, b: Bits, chosen: Bits) -> Bits:
    return np.asarray(np.where(chosen != 0, a, b))


def _bfe(kind: str) -> Operation:
    def extract(a: Bits, start: Bits, length: Bits) -> Bits:
        field = _unsigned(a, 32) >> start
        width = int(length[0])
        if kind[0] == "u":
            return _unsigned(field, width)
        return _bits(_signed(field, width))

    return extract


def _shift(name: str, kind: str) -> Operation:
    width = int(kind[1:])

    def shift(a: Bits, by: Bits) -> Bits:
        distance = np.minimum(by & _MASK32, np.uint64(width))
        full = distance >= np.uint64(64)
        safe = np.where(full, np.uint64(63), distance)
        if name == "shl":
            return np.where(full, np.uint64(0), a << safe)
        if kind[0] == "s":
            return _bits(_signed(a, width) >> safe.astype(np.int64))
        return np.where(full, np.uint64(0), _unsigned(a, width) >> safe)

    return shift


_COMPARE: Final[dict[str, Callable[..., npt.NDArray[np.bool_]]]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _setp(name: str, kind: str) -> Operation:
    compare = _COMPARE[name]

    def test(a: Bits, b: Bits) -> Bits:
        if kind[0] == "f":
            return compare(from_bits(a, kind), from_bits(b, kind)).astype(np.uint64)
        kind_of = kind.replace("b", "u")
        return compare(_integers(a, kind_of), _integers(b, kind_of)).astype(np.uint64)

    return test


def _integer(name: str, kind: str) -> Operation | None:
    width = int(kind[1:])

    def minimum(a: Bits, b: Bits) -> Bits:
        return _bits(np.minimum(_integers(a, kind), _integers(b, kind)))

    def maximum(a: Bits, b: Bits) -> Bits:
        return _bits(np.maximum(_integers(a, kind), _integers(b, kind)))

    def divide(a: Bits, b: Bits) -> Bits:
        x, y = _integers(a, kind), _integers(b, kind)
        quotient = np.abs(x) // np.abs(y)
        return _bits(np.where((x < 0) != (y < 0), np.negative(quotient), quotient))

    def remainder(a: Bits, b: Bits) -> Bits:
        x = _integers(a, kind)
        return _bits(np.fmod(x, _integers(b, kind)))

    def multiply_and_add(a: Bits, b: Bits, c: Bits) -> Bits:
        return _bits(_integers(a, kind)) * _bits(_integers(b, kind)) + c

    simple: dict[str, Operation] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul.lo": lambda a, b: a * b,
        "mad.lo": lambda a, b, c: a * b + c,
        "mul.wide": lambda a, b: _bits(_integers(a, kind)) * _bits(_integers(b, kind)),
        "mad.wide": multiply_and_add,
        "mul.hi": lambda a, b: (
            _unsigned(a, width) * _unsigned(b, width) >> np.uint64(width)
        ),
        "min": minimum,
        "max": maximum,
        "neg": lambda a: np.uint64(0) - a,
        "div": divide,
        "rem": remainder,
    }
    return simple.get(name)


def _float(name: str, kind: str) -> Operation | None:
    packed = kind.endswith("x2")
    scalar = kind.removesuffix("x2")
    rules: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "fma": lambda a, b, c: a * b + c,
        "max": np.fmax,
        "min": np.fmin,
        "neg": np.negative,
        "abs": np.abs,
    }
    rule = rules.get(name)
    if rule is None:
        return None

    def one(*sources: Bits) -> Bits:
        with np.errstate(all="ignore"):
            return to_bits(rule(*(from_bits(s, scalar) for s in sources)), scalar)

    def two(*sources: Bits) -> Bits:
        pairs = [halves(s, scalar) for s in sources]
        with np.errstate(all="ignore"):
            low, high = (rule(*(pair[i] for pair in pairs)) for i in (0, 1))
        return from_halves(low, high, scalar)

    return two if packed else one


_FLOAT8: Final = {"e4m3x2": (4, 3), "e5m2x2": (5, 2)}
"""Exponent and mantissa bits."""


def _float8(
    codes: Bits, exponent_bits: int, mantissa_bits: int
) -> npt.NDArray[np.float64]:
    """Return what 8-bit floats mean; only e5m2 has infinities, e4m3 one NaN."""
    bias = (1 << exponent_bits - 1) - 1
    fraction = (codes & np.uint64((1 << mantissa_bits) - 1)).astype(np.float64)
    exponent = (codes >> np.uint64(mantissa_bits)).astype(np.int64)
    exponent &= (1 << exponent_bits) - 1
    normal = exponent > 0
    significand = fraction + np.where(normal, float(1 << mantissa_bits), 0.0)
    values = np.ldexp(significand, np.maximum(exponent, 1) - bias - mantissa_bits)
    last = exponent == (1 << exponent_bits) - 1
    if exponent_bits == 5:
        values = np.where(last, np.where(fraction == 0, np.inf, np.nan), values)
    else:
        values = np.where(last & (fraction == 7), np.nan, values)
    sign = np.where(codes >> np.uint64(7) != 0, -1.0, 1.0)
    return np.asarray(values * sign)


def _convert(target: str, source: str) -> Operation | None:
    floats = ("f16", "bf16", "f32", "f64")
    if target in ("f16x2", "bf16x2") and source == "f32":
        kind = target[:-2]

        def pack(high: Bits, low: Bits) -> Bits:
            return from_halves(from_bits(low, "f32"), from_bits(high, "f32"), kind)

        return pack
    if target == "f16x2" and source in _FLOAT8:
        exponent_bits, mantissa_bits = _FLOAT8[source]

        def widen(pair: Bits) -> Bits:
            parts = (pair & np.uint64(0xFF), pair >> np.uint64(8) & np.uint64(0xFF))
            low, high = (_float8(p, exponent_bits, mantissa_bits) for p in parts)
            return from_halves(low, high, "f16")

        return widen
    if target in floats and source in floats:
        return lambda a: to_bits(from_bits(a, source), target)
    if target in floats:
        return lambda a: to_bits(_integers(a, source).astype(np.float64), target)
    if source in floats:
        return None
    # the target's width counts: a wider register gets its sign
    return lambda a: _bits(_integers(_bits(_integers(a, source)), target))


_KIND: Final = re.compile(r"[subf]\d+(x2)?|bf16(x2)?|e4m3x2|e5m2x2|pred")
_IGNORED: Final = frozenset({"rn", "rz", "rzi", "ftz", "approx", "full", "sat"})


@cache
def operation_of(opcode: str) -> Operation | None:
    """Return what an opcode computes; None if it is not modelled.

    Example:
        >>> one = np.array([1], np.uint64)
        >>> operation = operation_of("add.s32")
        >>> operation(one, one).tolist()
        [2]
    """
    name, *parts = opcode.split(".")
    kinds = [part for part in parts if _KIND.fullmatch(part)]
    rest = [p for p in parts if p not in kinds and p not in _IGNORED]
    if any(part in ("rz", "sat") for part in parts) or not kinds:
        return None
    kind = kinds[0]
    if name == "cvt" and len(kinds) == 2 and not rest:
        return _convert(kinds[0], kinds[1])
    if name in ("mov", "cvta"):
        return lambda a: a
    if name in OPERATIONS and not rest:
        return OPERATIONS[name]
    if name in ("shl", "shr"):
        return _shift(name, kind)
    if name == "bfe":
        return _bfe(kind)
    if name == "setp" and len(rest) == 1 and rest[0] in _COMPARE:
        return _setp(rest[0], kind)
    if kind[0] == "f" or kind.startswith("bf"):
        return _float(name, kind) if not rest else None
    if kind[0] in "us" or kind == "b32":
        return _integer(".".join([name, *rest]), kind)
    return None


OPERATIONS: Final[dict[str, Operation]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "lop3": _lop3,
    "prmt": _prmt,
    "selp": _select,
}
