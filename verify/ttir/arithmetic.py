"""Meaning of ``arith`` and ``math`` operations on integers and truth values.

An integer is its signed value. What can leave its type's range is a ``fit``. Operations
on floats have no meaning here: they are opaque, named after themselves.
"""

from collections.abc import Callable, Mapping

from verify.mlir import ScalarType, Type, element_of
from verify.symbolic.polynomial import polynomial, split_by
from verify.symbolic.terms import (
    BOOL,
    INT,
    ONE,
    ZERO,
    Term,
    add,
    at_most,
    beside,
    choose,
    conjoin,
    constant,
    disjoin,
    div,
    equal,
    fit,
    invert,
    less,
    maximum,
    minimum,
    mod,
    mul,
    negated,
    opaque,
    sub,
)

from .tensor import range_of, sort_of

Meaning = Callable[..., Term]


def bits_of(kind: Type) -> int:
    """Return the width of an element [bits]."""
    kind = element_of(kind)
    return kind.bits if isinstance(kind, ScalarType) else 64


def fitted(kind: Type, value: Term, source: str = "") -> Term:
    """Return ``value`` as a result of a type, to be checked to lie in its range."""
    low, high = range_of(kind)
    assert low is not None and high is not None
    return fit(value, low, high, source)


def unsigned(kind: Type, value: Term) -> Term:
    """Return the unsigned reading of a signed value."""
    if value.low is not None and value.low >= 0:
        return value
    wrapped = add(value, constant(1 << bits_of(kind)))
    return choose(less(value, ZERO), wrapped, value)


def signed(kind: Type, value: Term) -> Term:
    """Return the signed reading of an unsigned value."""
    half = 1 << bits_of(kind) - 1
    if value.high is not None and value.high < half:
        return value
    return choose(at_most(constant(half), value), sub(value, constant(2 * half)), value)


def truncated_div(a: Term, b: Term) -> Term:
    """Return ``a / b`` rounded towards zero, as ``arith.divsi`` does."""
    if a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0:
        return div(a, b)
    if b.low is not None and b.low > 0:
        return choose(at_most(ZERO, a), div(a, b), negated(div(negated(a), b)))
    same_sign = equal(at_most(ZERO, a), at_most(ZERO, b))
    size_a, size_b = (choose(at_most(ZERO, x), x, negated(x)) for x in (a, b))
    size = div(size_a, size_b)
    return choose(same_sign, size, negated(size))


def remainder(a: Term, b: Term) -> Term:
    """Return the remainder with the sign of ``a``, as ``arith.remsi`` does."""
    if a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0:
        return mod(a, b)
    return sub(a, mul(b, truncated_div(a, b)))


def _constant_of(term: Term) -> int | None:
    parts = polynomial(term)
    if not parts:
        return 0
    if set(parts) == {()}:
        return parts[()]
    return None


def bitwise_and(kind: Type, a: Term, b: Term) -> Term:
    """Return ``a & b``; masks of low or of high bits have a meaning."""
    for x, y in ((a, b), (b, a)):
        mask = _constant_of(y)
        if mask is None:
            continue
        if mask >= 0 and mask & mask + 1 == 0:
            return mod(x, constant(mask + 1))
        if mask < 0 and -mask & -mask - 1 == 0:
            return sub(x, mod(x, constant(-mask)))
    if min_of(a) >= 0 or min_of(b) >= 0:
        highs = [x.high for x in (a, b) if min_of(x) >= 0 and x.high is not None]
        return _opaque(kind, "andi", a, b, high=min(highs, default=None))
    return _opaque(kind, "andi", a, b)


def bitwise_or(kind: Type, a: Term, b: Term) -> Term:
    """Return ``a | b``; of numbers without a common bit it is their sum."""
    for x, y in ((a, b), (b, a)):
        if min_of(y) >= 0 and y.high is not None:
            size = 1 << y.high.bit_length()
            if split_by(x, size)[1] is ZERO or x is ZERO:
                return beside(add(x, y), x)
    return _nonnegative_bits(kind, "ori", a, b)


def bitwise_xor(kind: Type, a: Term, b: Term) -> Term:
    """Return ``a ^ b``; with -1 it is the complement."""
    for x, y in ((a, b), (b, a)):
        value = _constant_of(y)
        if value == -1:
            return sub(constant(-1), x)
        if value == 0:
            return x
    return _nonnegative_bits(kind, "xori", a, b)


def _nonnegative_bits(kind: Type, name: str, a: Term, b: Term) -> Term:
    if min_of(a) >= 0 and min_of(b) >= 0 and None not in (a.high, b.high):
        assert a.high is not None and b.high is not None
        high = (1 << max(a.high, b.high).bit_length()) - 1
        return _opaque(kind, name, a, b, high=high)
    return _opaque(kind, name, a, b)


def min_of(a: Term) -> int:
    """Return the lower end of a range, or -1 where there is none."""
    return -1 if a.low is None else a.low


def _opaque(kind: Type, name: str, *args: Term, high: int | None = None) -> Term:
    low, top = range_of(kind)
    if high is not None:
        low, top = 0, high
    return opaque(sort_of(kind), name, args, low, top)


def shift_left(kind: Type, a: Term, b: Term, source: str) -> Term:
    """Return ``a << b``, to be checked to fit."""
    amount = _constant_of(b)
    if amount is None or amount < 0:
        return _opaque(kind, "shli", a, b)
    return fitted(kind, mul(a, constant(1 << amount)), source)


def shift_right(kind: Type, a: Term, b: Term, logical: bool) -> Term:
    """Return ``a >> b``."""
    amount = _constant_of(b)
    name = "shrui" if logical else "shrsi"
    if amount is None or amount < 0:
        high = a.high if min_of(a) >= 0 else None
        return _opaque(kind, name, a, b, high=high)
    value = unsigned(kind, a) if logical and amount else a
    return div(value, constant(1 << amount))


_COMPARE: Mapping[str, Meaning] = {
    "eq": equal,
    "ne": lambda a, b: invert(equal(a, b)),
    "lt": less,
    "le": at_most,
    "gt": lambda a, b: less(b, a),
    "ge": lambda a, b: at_most(b, a),
}


def compare(kind: Type, predicate: str, a: Term, b: Term) -> Term:
    """Return an ``arith.cmpi``.

    Raises:
        KeyError: the predicate is none of MLIR's.
    """
    if a.sort == BOOL:
        if predicate in ("eq", "ne"):
            same = equal(a, b)
            return same if predicate == "eq" else invert(same)
        minus = constant(-1) if predicate.startswith("s") else ONE
        a, b = (choose(x, minus, ZERO) for x in (a, b))
        return _COMPARE[predicate[1:]](a, b)
    if predicate in ("eq", "ne"):
        return _COMPARE[predicate](a, b)
    if predicate.startswith("u"):
        a, b = unsigned(kind, a), unsigned(kind, b)
    return _COMPARE[predicate[1:]](a, b)


def _on_truth(name: str, a: Term, b: Term) -> Term:
    if name in ("andi", "muli", "minui", "maxsi"):
        return conjoin(a, b)
    if name in ("ori", "maxui", "minsi"):
        return disjoin(a, b)
    return invert(equal(a, b))  # addi, subi, xori


def binary(name: str, kind: Type, a: Term, b: Term, source: str) -> Term | None:
    """Return ``arith.<name>`` of two integers; ``None`` where it has no meaning here.

    Args:
        name: Without the dialect.
        kind: Type of the result.
        a: Left operand.
        b: Right operand.
        source: Where the program computes it.
    """
    if a.sort == BOOL:
        if name in ("andi", "ori", "xori", "addi", "subi", "muli") or name[:3] in (
            "min",
            "max",
        ):
            return _on_truth(name, a, b)
        return None
    if name in ("addi", "subi", "muli"):
        value = {"addi": add, "subi": sub, "muli": mul}[name](a, b)
        return fitted(kind, value, source)
    if name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi"):
        if name.endswith("ui"):
            a, b = unsigned(kind, a), unsigned(kind, b)
        if name == "floordivsi":
            return div(a, b)
        if name == "ceildivsi":
            return negated(div(negated(a), b))
        rule = truncated_div if name.startswith("div") else remainder
        value = rule(a, b)
        return signed(kind, value) if name.endswith("ui") else value
    if name in ("andi", "ori", "xori"):
        rule2 = {"andi": bitwise_and, "ori": bitwise_or, "xori": bitwise_xor}[name]
        return rule2(kind, a, b)
    if name == "shli":
        return shift_left(kind, a, b, source)
    if name in ("shrsi", "shrui"):
        return shift_right(kind, a, b, name == "shrui")
    if name in ("minsi", "maxsi"):
        return minimum(a, b) if name == "minsi" else maximum(a, b)
    if name in ("minui", "maxui"):
        test = at_most(unsigned(kind, a), unsigned(kind, b))
        return choose(test, a, b) if name == "minui" else choose(test, b, a)
    return None


def widened(name: str, source: Type, target: Type, a: Term, where: str) -> Term:
    """Return ``extsi``, ``extui``, ``trunci`` or ``index_cast``.

    A truncation is to be checked to keep the value.
    """
    if a.sort == BOOL:
        return choose(a, constant(-1) if name == "extsi" else ONE, ZERO)
    if sort_of(target) == BOOL:
        return equal(mod(a, constant(2)), ONE)
    if name == "extui":
        return unsigned(source, a)
    return fitted(target, a, where)


def absolute(kind: Type, a: Term, source: str) -> Term:
    """Return ``math.absi``."""
    assert a.sort == INT
    return fitted(kind, choose(less(a, ZERO), negated(a), a), source)
