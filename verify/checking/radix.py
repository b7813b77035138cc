"""Addresses as digits: ``row * stride + column`` with ``0 <= column < stride``.

Two such addresses are equal only where rows and columns are; questions about pairs of
programs become linear. The digits' ranges are asked for one program at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verify.symbolic.polynomial import Monomial, polynomial, term_of
from verify.symbolic.terms import ZERO, Term, at_most, disjoin, less

from .setting import Setting


@dataclass(frozen=True, slots=True)
class Digits:
    """An address as a sum of digits times strides.

    Attributes:
        digits: Most significant first; the last has stride 1.
        strides: The symbol by which the digits before are multiplied.
    """

    digits: tuple[Term, ...]
    strides: tuple[Term, ...]


def candidates(parts: Mapping[Monomial, int], shared: frozenset[Term]) -> list[Term]:
    """Return the scalars that multiply something, the most frequent last."""
    count: dict[Term, int] = {}
    for monomial in parts:
        for atom in set(monomial):
            if atom in shared and atom.kind == "symbol":
                count[atom] = count.get(atom, 0) + 1
    return sorted(count, key=lambda a: (-count[a], str(a.args[0])))


def digits_of(
    setting: Setting, offset: Term, reach: Sequence[Term], shared: frozenset[Term]
) -> Digits | None:
    """Split an address by its strides; ``None`` where no split is proved.

    Args:
        setting: Facts and solver.
        offset: The address [elements].
        reach: Where the access takes part.
        shared: Scalars that all programs share.
    """
    parts = polynomial(offset)
    options = candidates(parts, shared)
    if not options:
        return Digits((offset,), ())
    for stride in options:
        above: dict[Monomial, int] = {}
        below: dict[Monomial, int] = {}
        for monomial, coefficient in parts.items():
            if stride in monomial:
                place = monomial.index(stride)
                rest = monomial[:place] + monomial[place + 1 :]
                above[rest] = above.get(rest, 0) + coefficient
            else:
                below[monomial] = coefficient
        digit = term_of(below)
        broken = disjoin(less(digit, ZERO), at_most(stride, digit))
        if setting.ask((*reach, broken)) is not False:
            continue
        rest_digits = digits_of(setting, term_of(above), reach, shared)
        if rest_digits is None:
            continue
        return Digits((*rest_digits.digits, digit), (*rest_digits.strides, stride))
    return None
