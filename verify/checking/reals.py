"""Float terms as expressions over the reals: one form for what is written in many ways.

Types are erased and roundings between them passed over; a difference is a sum with -1
times the subtrahend, a quotient a product with a reciprocal, ``rsqrt`` the reciprocal
of a root, ``exp2(x)`` is ``exp(x log 2)``. Numbers are finite, and constants count to
six digits. A choice between a value and a constant moves outwards as long as the other
branch stays a constant: ``exp(x if c else -inf)`` is ``exp(x) if c else 0``.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from verify.symbolic.terms import INT, VALUE, Term, choose, conjoin, invert, opaque
from verify.symbolic.walk import nodes_of

FLOAT = "f32"
DIGITS = 6
"""Significant digits of a constant."""


def operation(name: str, *parts: Term) -> Term:
    """Return a float operation as the evaluation of TTIR writes it."""
    return opaque(VALUE, name, ("", FLOAT, *parts))


def number(value: float) -> Term:
    """Return a float constant."""
    return opaque(VALUE, "constant", (repr(float(value)), FLOAT))


def value_of(term: Term) -> float | None:
    """Return the number that a constant is; ``None`` for anything else.

    Example:
        >>> value_of(number(0.5))
        0.5
        >>> value_of(opaque(VALUE, "constant", ("0xff800000", "f32")))
        -inf
    """
    if term.kind != "opaque" or term.args[0] != "constant":
        return None
    text, kind = str(term.args[1]), str(term.args[2])
    if not text.lower().startswith("0x"):
        return float(text)
    bits = int(text, 16)
    shape = _FORMATS.get(kind)
    if shape is None:
        return None
    exponent_bits, fraction_bits = shape
    fraction = bits & (1 << fraction_bits) - 1
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    sign = -1.0 if bits >> exponent_bits + fraction_bits & 1 else 1.0
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp(
        fraction + (1 << fraction_bits), exponent - bias - fraction_bits
    )


_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
"""Type -> bits of exponent and fraction."""


def _rounded(value: float) -> Term:
    return number(float(f"{value:.{DIGITS}g}") + 0.0)


def is_finite(term: Term) -> bool:
    """Whether no infinite constant is anywhere in a term."""
    return all(not math.isinf(value_of(node) or 0.0) for node in nodes_of(term))


def total(a: Term, b: Term) -> Term:
    """Return ``a + b``."""
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        undefined = math.isnan(x + y)
        return operation("addf", a, b) if undefined else _rounded(x + y)
    for one, other, known in ((a, b, x), (b, a, y)):
        if known == 0:
            return other
        if known is not None and math.isinf(known) and is_finite(other):
            return one
    return operation("addf", a, b)


def product(a: Term, b: Term) -> Term:
    """Return ``a * b``."""
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        undefined = math.isnan(x * y)
        return operation("mulf", a, b) if undefined else _rounded(x * y)
    for other, known in ((b, x), (a, y)):
        if known == 0 and is_finite(other):
            return number(0.0)
        if known == 1:
            return other
    # one constant, in front, and within sums
    for one, other in ((a, b), (b, a)):
        if value_of(one) is None:
            continue
        if other.kind == "opaque" and other.args[0] == "addf":
            return total(*(product(one, part) for part in other.args[3:]))
        if other.kind == "opaque" and other.args[0] == "mulf":
            front, rest = other.args[3:]
            if value_of(front) is not None:
                return product(product(one, front), rest)
        return operation("mulf", one, other)
    for one, other in ((a, b), (b, a)):
        if one.kind == "opaque" and one.args[0] == "mulf":
            front, rest = one.args[3:]
            if value_of(front) is not None:
                return product(front, product(rest, other))
    return operation("mulf", a, b)


def minus(a: Term) -> Term:
    """Return ``-a``."""
    return product(number(-1.0), a)


def reciprocal(a: Term) -> Term:
    """Return ``1 / a``."""
    x = value_of(a)
    if x:
        return _rounded(1 / x)
    if a.kind == "opaque" and a.args[0] == "reciprocal":
        found: Term = a.args[3]
        return found
    if a.kind == "opaque" and a.args[0] == "mulf":
        return product(*(reciprocal(part) for part in a.args[3:]))
    return operation("reciprocal", a)


def largest(a: Term, b: Term) -> Term:
    """Return the larger of two numbers."""
    return _extreme("maxnumf", max, -math.inf, a, b)


def smallest(a: Term, b: Term) -> Term:
    """Return the smaller of two numbers."""
    return _extreme("minnumf", min, math.inf, a, b)


def _extreme(
    name: str, pick: Callable[[float, float], float], least: float, a: Term, b: Term
) -> Term:
    x, y = value_of(a), value_of(b)
    if x is not None and y is not None:
        return number(pick(x, y))
    if x == least:
        return b
    if y == least:
        return a
    return operation(name, a, b)


def power(a: Term) -> Term:
    """Return ``exp(a)``."""
    x = value_of(a)
    if x == -math.inf:
        return number(0.0)
    return number(1.0) if x == 0 else operation("exp", a)


def root(a: Term) -> Term:
    """Return the square root."""
    x = value_of(a)
    return a if x is not None and x in (0, 1) else operation("sqrt", a)


def size(a: Term) -> Term:
    """Return the absolute value."""
    x = value_of(a)
    return operation("absf", a) if x is None else number(abs(x))


_MEANING: dict[str, Callable[..., Term]] = {
    "addf": total,
    "subf": lambda a, b: total(a, minus(b)),
    "mulf": product,
    "divf": lambda a, b: product(a, reciprocal(b)),
    "precise_divf": lambda a, b: product(a, reciprocal(b)),
    "negf": minus,
    "fma": lambda a, b, c: total(product(a, b), c),
    "reciprocal": reciprocal,
    "maxnumf": largest,
    "maximumf": largest,
    "minnumf": smallest,
    "minimumf": smallest,
    "exp": power,
    "exp2": lambda a: power(product(a, number(math.log(2)))),
    "sqrt": root,
    "precise_sqrt": root,
    "rsqrt": lambda a: reciprocal(root(a)),
    "absf": size,
    "extf": lambda a: a,
    "truncf": lambda a: a,
    "fp_to_fp": lambda a: a,
    **{
        name: partial(operation, name)
        for name in ("log", "log2", "sin", "cos", "erf", "tanh", "floor", "ceil")
    },
}
"""Operation -> its normal form, of operands in normal form."""

_LIBRARY = {
    f"__nv_{name}{end}": name
    for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf")
    for end in ("", "f")
} | {"__nv_tanh": "tanh", "__nv_tanhf": "tanh", "__nv_fabsf": "absf"}
"""Function of CUDA's device library -> operation."""


def simplified(term: Term) -> Term:
    """Return the normal form of a float term whose parts are in normal form.

    Example:
        >>> x = opaque(VALUE, "argument", ("x", FLOAT))
        >>> half = operation("divf", x, number(2))
        >>> simplified(half) is simplified(operation("mulf", x, number(0.5)))
        True
    """
    if term.sort != VALUE:
        return term
    if term.kind == "ite":
        return chosen(*term.args)
    if term.kind != "opaque":
        return term
    name = str(term.args[0])
    if name == "constant":
        value = value_of(term)
        return term if value is None or math.isnan(value) else _rounded(value)
    if name == "argument":
        return opaque(VALUE, name, (term.args[1], FLOAT))
    parts = [arg for arg in term.args[1:] if isinstance(arg, Term)]
    if name in ("sitofp", "uitofp") and parts[0].sort == INT:
        if parts[0].kind == "const":
            return number(parts[0].args[0])
        return operation("sitofp", parts[0])
    if name == "extern_elementwise":
        names = [a for a in term.args[1:] if isinstance(a, str) and a in _LIBRARY]
        name = _LIBRARY[names[0]] if names else name
    meaning = _MEANING.get(name)
    if meaning is None or any(part.sort != VALUE for part in parts):
        return term
    return applied(meaning, parts)


def applied(meaning: Callable[..., Term], parts: Sequence[Term]) -> Term:
    """Apply an operation, moving choices with a constant branch outwards."""
    for part in parts:
        if part.kind != "ite":
            continue
        test = part.args[0]
        other = meaning(*_taken(parts, test, 2))
        if value_of(other) is not None:
            return chosen(test, applied(meaning, list(_taken(parts, test, 1))), other)
    return meaning(*parts)


def _taken(parts: Sequence[Term], test: Term, branch: int) -> Iterator[Term]:
    for part in parts:
        mine = part.kind == "ite" and part.args[0] is test
        yield part.args[branch] if mine else part


def chosen(test: Term, then: Term, other: Term) -> Term:
    """Return a choice of floats; a constant branch comes last, and only once."""
    if value_of(then) is not None and value_of(other) is None:
        test, then, other = invert(test), other, then
    if then.kind == "ite":
        inner, value, rest = then.args
        if inner is test:
            return chosen(test, value, other)
        if rest is other and value_of(other) is not None:
            return choose(conjoin(test, inner), value, other)
    return choose(test, then, other)
