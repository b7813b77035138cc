"""Boxes of parameters: symbolic exponents of sizes, with their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

from verify.terms import Formula, Size, Term, at_most, equal, lift, variable


@dataclass(frozen=True, slots=True)
class Exponent:
    """The exponent of a symbolic size.

    Attributes:
        name: Name of the variable.
        high: Largest value.
        low: Smallest value.
    """

    name: str
    high: int
    low: int = 0

    @property
    def term(self) -> Term:
        """The variable."""
        return variable(self.name, self.high.bit_length())

    @property
    def size(self) -> Size:
        """Two to the power of the variable."""
        return Size(self.term)

    def bounds(self) -> list[Formula]:
        """Return what the box says about the variable."""
        found = []
        if self.high & self.high + 1:
            found.append(at_most(self.term, self.high))
        if self.low:
            found.append(at_most(self.low, self.term))
        return found


def exponents(prefix: str, count: int, high: int, low: int = 0) -> list[Exponent]:
    """Return exponents ``prefix0``, ``prefix1``, ...

    Example:
        >>> [each.name for each in exponents("s", 2, 10)]
        ['s0', 's1']
    """
    return [Exponent(f"{prefix}{index}", high, low) for index in range(count)]


def sizes(group: Sequence[Exponent]) -> list[Size]:
    """Return the sizes of some exponents."""
    return [each.size for each in group]


def bounds(*groups: Sequence[Exponent]) -> list[Formula]:
    """Return what the box says about all of them."""
    return [formula for group in groups for each in group for formula in each.bounds()]


def total(group: Sequence[Exponent]) -> Term:
    """Return the sum of some exponents: the exponent of the product."""
    added = lift(0)
    for each in group:
        added = added + each.term
    return added


def total_is(group: Sequence[Exponent], value: int) -> Formula:
    """Return that the product of some sizes is ``2**value``."""
    return equal(total(group), value)


def total_at_most(group: Sequence[Exponent], value: int) -> Formula:
    """Return that the product of some sizes is at most ``2**value``."""
    return at_most(total(group), value)
