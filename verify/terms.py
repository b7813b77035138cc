"""Symbolic natural numbers: what index formulas are made of when a solver reads them.

A ``Term`` stands for a natural number, so nothing wraps around: a translator picks a
bit-vector width in which no value overflows. Each term knows ``ones``, the bits that
can be set. Dividing, reducing and multiplying by a power of two become shifts and
masks, and a sum of terms without a common bit becomes ``or``: both are identities of
natural numbers, so that a small term means the same as the formula as written.

The operators ``+ * // % ^`` are those of Python ints. A formula written with them
runs on ints, on numpy arrays and on terms, from one text. ``Size`` is a power of two
whose exponent is itself a term: with it the same text has symbolic sizes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from algebra.errors import NotPowerOfTwoError


def _exponent(size: int) -> int:
    if size > 0 and size & (size - 1) == 0:
        return size.bit_length() - 1
    raise NotPowerOfTwoError(
        f"a term is divided and multiplied by powers of two only, got size={size!r}; "
        "pad the size",
        size=size,
    )


class Term:
    """A natural number that depends on variables.

    Attributes:
        kind: ``var const add sub or and xor shl lshr shlv lshrv ite``.
        args: Operands; shift amounts of ``shl`` and ``lshr`` are ints.
        ones: Mask of the bits that can be one.

    Example:
        >>> lane = variable("lane", 5)
        >>> (lane // 4 * 8 + lane % 4).ones == 0b111011
        True
        >>> evaluate(lane // 4 * 8 + lane % 4, {"lane": 13})
        25
    """

    __slots__ = ("args", "kind", "ones")

    def __init__(self, kind: str, args: tuple[Any, ...], ones: int) -> None:
        """Build a node; formulas use the operators instead."""
        self.kind = kind
        self.args = args
        self.ones = ones

    def __repr__(self) -> str:
        return f"Term({self.kind}, {self.args!r})"

    def __add__(self, other: "Term | int") -> "Term":
        right = lift(other)
        mine, others = self.ones, right.ones
        if not others:
            return self
        if not mine:
            return right
        if not mine & others:
            return Term("or", (self, right), mine | others)
        return Term("add", (self, right), _below((mine + others).bit_length()))

    __radd__ = __add__

    def __sub__(self, other: "Term | int") -> "Term":
        """Difference; the caller knows that it is not negative."""
        right = lift(other)
        if not right.ones:
            return self
        return Term("sub", (self, right), _below(self.ones.bit_length()))

    def __xor__(self, other: "Term | int") -> "Term":
        right = lift(other)
        if not right.ones:
            return self
        if not self.ones:
            return right
        kind = "xor" if self.ones & right.ones else "or"
        return Term(kind, (self, right), self.ones | right.ones)

    __rxor__ = __xor__

    def __and__(self, other: "Term | int") -> "Term":
        right = lift(other)
        ones = self.ones & right.ones
        if not ones:
            return ZERO
        if right.kind == "const" and ones == self.ones:
            return self
        return Term("and", (self, right), ones)

    def __floordiv__(self, size: "int | Size") -> "Term":
        if isinstance(size, Size):
            return Term("lshrv", (self, size.exponent), _below(self.ones.bit_length()))
        amount = _exponent(size)
        ones = self.ones >> amount
        if not ones:
            return ZERO
        return Term("lshr", (self, amount), ones) if amount else self

    def __mod__(self, size: "int | Size") -> "Term":
        if isinstance(size, Size):
            return self & (size.value() - 1)
        return self & (1 << _exponent(size)) - 1

    def __mul__(self, size: "int | Size") -> "Term":
        if isinstance(size, Size):
            reach = self.ones.bit_length() + size.exponent.ones
            return Term("shlv", (self, size.exponent), _below(reach))
        if size == 0 or not self.ones:
            return ZERO
        amount = _exponent(size)
        return Term("shl", (self, amount), self.ones << amount) if amount else self

    __rmul__ = __mul__


def _below(bits: int) -> int:
    return (1 << bits) - 1


ZERO = Term("const", (0,), 0)


def lift(value: "Term | int") -> Term:
    """Return a term for an int; a term stays itself."""
    return value if isinstance(value, Term) else Term("const", (value,), value)


def variable(name: str, bits: int) -> Term:
    """Return a variable that ranges over 0 .. 2**bits - 1."""
    return Term("var", (name, bits), _below(bits)) if bits else ZERO


class Size:
    """The power of two ``2**exponent`` with a symbolic exponent.

    Example:
        >>> size = Size(variable("k", 3))
        >>> evaluate(lift(100) // size, {"k": 4})
        6
    """

    __slots__ = ("exponent",)

    def __init__(self, exponent: Term | int) -> None:
        self.exponent = lift(exponent)

    def __mul__(self, other: "Size | int") -> "Size":
        return Size(self.exponent + as_size(other).exponent)

    __rmul__ = __mul__

    def __rfloordiv__(self, other: int) -> Term:
        return lift(other) // self

    def __rmod__(self, other: int) -> Term:
        return lift(other) % self

    def value(self) -> Term:
        """Return the size as a term."""
        return lift(1) * self


def as_size(size: "Size | int") -> Size:
    """Return a ``Size`` for a power of two; a ``Size`` stays itself."""
    return size if isinstance(size, Size) else Size(_exponent(size))


class Formula:
    """A truth value that depends on variables: ``eq ult not and or true false``."""

    __slots__ = ("args", "kind")

    def __init__(self, kind: str, args: tuple[Any, ...]) -> None:
        """Build a node; the functions of this module are the interface."""
        self.kind = kind
        self.args = args

    def __repr__(self) -> str:
        return f"Formula({self.kind}, {self.args!r})"


TRUE = Formula("true", ())
FALSE = Formula("false", ())


def equal(left: Term | int, right: Term | int) -> Formula:
    """Return ``left == right``."""
    return Formula("eq", (lift(left), lift(right)))


def less(left: Term | int, right: Term | int) -> Formula:
    """Return ``left < right``."""
    return Formula("ult", (lift(left), lift(right)))


def at_most(left: Term | int, right: Term | int) -> Formula:
    """Return ``left <= right``."""
    return negate(less(right, left))


def negate(formula: Formula) -> Formula:
    """Return the negation."""
    return formula.args[0] if formula.kind == "not" else Formula("not", (formula,))


def all_of(formulas: Iterable[Formula]) -> Formula:
    """Return the conjunction; of none it is true."""
    args = tuple(formulas)
    return Formula("and", args) if len(args) > 1 else args[0] if args else TRUE


def any_of(formulas: Iterable[Formula]) -> Formula:
    """Return the disjunction; of none it is false."""
    args = tuple(formulas)
    return Formula("or", args) if len(args) > 1 else args[0] if args else FALSE


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Return ``premise => conclusion``."""
    return any_of((negate(premise), conclusion))


def choose(condition: Formula, then: Term | int, otherwise: Term | int) -> Term:
    """Return ``then`` where the condition holds, else ``otherwise``."""
    yes, no = lift(then), lift(otherwise)
    return Term("ite", (condition, yes, no), yes.ones | no.ones)


def monus(left: Term, right: Term | int) -> Term:
    """Return ``max(0, left - right)``."""
    other = lift(right)
    return choose(less(left, other), ZERO, left - other)


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """Return the number that a term stands for: the meaning that all else must keep."""
    kind, args = term.kind, term.args
    if kind == "const":
        return int(args[0])
    if kind == "var":
        return int(values[args[0]])
    if kind == "ite":
        return evaluate(args[1] if holds(args[0], values) else args[2], values)
    left = evaluate(args[0], values)
    if kind in ("shl", "lshr"):
        amount = int(args[1])
        return left << amount if kind == "shl" else left >> amount
    right = evaluate(args[1], values)
    if kind == "add":
        return left + right
    if kind == "sub":
        return left - right
    if kind == "or":
        return left | right
    if kind == "and":
        return left & right
    if kind == "xor":
        return left ^ right
    return left << right if kind == "shlv" else left >> right


def holds(formula: Formula, values: Mapping[str, int]) -> bool:
    """Return the truth value of a formula."""
    kind, args = formula.kind, formula.args
    if kind in ("true", "false"):
        return kind == "true"
    if kind == "not":
        return not holds(args[0], values)
    if kind == "and":
        return all(holds(part, values) for part in args)
    if kind == "or":
        return any(holds(part, values) for part in args)
    left, right = evaluate(args[0], values), evaluate(args[1], values)
    return left == right if kind == "eq" else left < right
