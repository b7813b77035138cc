"""Operations on numpy arrays: what ``arith`` and ``math`` do to numbers.

Integers are int64 arrays that are wrapped to their type after each operation; in exact
runs they are arrays of Python integers that never wrap. Floats are float64: their
rounding is not modelled.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from verify.mlir import ScalarType, Type, element_of

Array = Any


def integer_range(kind: Type) -> tuple[int, int] | None:
    """Return the range of a signed integer type; ``None`` for other types."""
    kind = element_of(kind)
    if isinstance(kind, ScalarType) and kind.is_integer:
        half = 1 << kind.bits - 1
        return (0, 1) if kind.bits == 1 else (-half, half - 1)
    return None


def array(values: Any, exact: bool) -> Array:
    """Return an array; integers of an exact run stay Python's."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, int) and not isinstance(values, bool):
        return np.asarray(values, dtype=object if exact else np.int64)
    return np.asarray(values)


def wrapped(kind: Type, values: Array, exact: bool) -> Array:
    """Return integers as their type holds them; unchanged in an exact run."""
    span = integer_range(kind)
    values = array(values, exact)
    if exact or span is None or values.dtype == bool:
        return values
    low, high = span
    if high - low >= 2**63:
        return values
    return (values - low) % (high - low + 1) + low


def truncated(a: Array, b: Array) -> Array:
    """Return the quotient rounded towards zero; 0 where the divisor is 0."""
    safe = np.where(b == 0, 1, b)
    size = abs(a) // abs(safe)
    return np.where(b == 0, 0, np.where((a < 0) != (safe < 0), -size, size))


def unsigned(kind: Type, a: Array) -> Array:
    """Return the unsigned reading."""
    span = integer_range(kind)
    assert span is not None
    bits = (span[1] - span[0] + 1).bit_length() - 1
    if bits >= 64 and a.dtype != object:
        a = a.astype(object)
    return np.where(a < 0, a + (1 << bits), a)


_PLAIN: dict[str, Callable[..., Array]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": truncated,
    "floordivsi": lambda a, b: a // np.where(b == 0, 1, b),
    "ceildivsi": lambda a, b: -((-a) // np.where(b == 0, 1, b)),
    "remsi": lambda a, b: a - b * truncated(a, b),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a * 2 ** np.minimum(b, 62),
    "shrsi": lambda a, b: a // 2 ** np.minimum(b, 62),
    "minsi": np.minimum,
    "maxsi": np.maximum,
}
_UNSIGNED: dict[str, Callable[..., Array]] = {
    "divui": truncated,
    "remui": lambda a, b: a - b * truncated(a, b),
    "shrui": lambda a, b: a // 2 ** np.minimum(b, 62),
    "minui": np.minimum,
    "maxui": np.maximum,
}
_TRUTH: dict[str, Callable[..., Array]] = {
    "andi": np.logical_and,
    "muli": np.logical_and,
    "minui": np.logical_and,
    "maxsi": np.logical_and,
    "ori": np.logical_or,
    "maxui": np.logical_or,
    "minsi": np.logical_or,
}
_ORDER: dict[str, Callable[..., Array]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_FLOAT: dict[str, Callable[..., Array]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
    "precise_divf": lambda a, b: a / b,
    "remf": np.fmod,
    "negf": lambda a: -a,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "extf": lambda a: a,
    "truncf": lambda a: a,
    "fp_to_fp": lambda a: a,
    "sitofp": lambda a: a.astype(float),
    "uitofp": lambda a: a.astype(float),
    "absf": np.abs,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "precise_sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "pow": np.power,
    "powf": np.power,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fabs": np.abs,
    "log10": np.log10,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "round": np.round,
    "roundeven": np.round,
    "rint": np.rint,
    "trunc": np.trunc,
    "fmod": np.fmod,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "floor": np.floor,
    "ceil": np.ceil,
    "fma": lambda a, b, c: a * b + c,
    "clampf": lambda a, low, high: np.minimum(np.maximum(a, low), high),
}


def binary_integer(name: str, kind: Type, a: Array, b: Array, exact: bool) -> Array:
    """Return an ``arith`` operation of two integers.

    Raises:
        KeyError: the operation is none of integers.
    """
    if a.dtype == bool:
        return _TRUTH.get(name, np.logical_xor)(a, b)
    if name in _UNSIGNED:
        result = _UNSIGNED[name](unsigned(kind, a), unsigned(kind, b))
        span = integer_range(kind)
        assert span is not None
        size = span[1] - span[0] + 1
        result = np.where(result > span[1], result - size, result)
        return result.astype(object if exact else np.int64)
    return wrapped(kind, _PLAIN[name](a, b), exact)


def compare_integers(kind: Type, predicate: str, a: Array, b: Array) -> Array:
    """Return an ``arith.cmpi``."""
    if a.dtype == bool:
        a, b = a.astype(np.int64), b.astype(np.int64)
        if predicate.startswith("s"):
            a, b = -a, -b
    elif predicate.startswith("u"):
        a, b = unsigned(kind, a), unsigned(kind, b)
    order = _ORDER[predicate if predicate in _ORDER else predicate[1:]]
    return np.asarray(order(a, b)).astype(bool)


def compare_floats(predicate: str, a: Array, b: Array) -> Array:
    """Return an ``arith.cmpf``; an ordered comparison with a NaN is false."""
    if predicate in ("ord", "uno"):
        nan = np.isnan(a) | np.isnan(b)
        return ~nan if predicate == "ord" else nan
    result = _ORDER[predicate[1:]](a, b)
    nan = np.isnan(a) | np.isnan(b)
    return result | nan if predicate.startswith("u") else result & ~nan


def float_operation(name: str) -> Callable[..., Array] | None:
    """Return an operation on floats; ``None`` where there is none of that name."""
    return _FLOAT.get(name)


_VIEWED: dict[tuple[str, str], tuple[Any, Any]] = {
    ("f32", "i32"): (np.float32, np.int32),
    ("f16", "i16"): (np.float16, np.int16),
    ("f64", "i64"): (np.float64, np.int64),
}


def bitcast(source: Type, target: Type, a: Array) -> Array:
    """Return the bits of one type read as another of the same width.

    Raises:
        KeyError: the types have no view here.
    """
    names = (str(element_of(source)), str(element_of(target)))
    if names[0][0] == names[1][0] == "i":
        return a
    if names in _VIEWED:
        there, back = _VIEWED[names]
        return np.asarray(a).astype(there).view(back).astype(np.int64)
    back, there = _VIEWED[names[1], names[0]]
    return np.asarray(a).astype(there).view(back).astype(float)
