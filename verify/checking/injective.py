"""Addresses that are different for all lanes of all programs, by their digits.

An address ``sum_k weight_k * digit_k`` is a number in mixed radix if each weight is
more than all smaller digits can add up to; then no two choices of digits give one
address.
Where an address divides, the numbers that it divides are taken apart first.
"""

from collections.abc import Callable, Iterable

from verify.symbolic.polynomial import polynomial
from verify.symbolic.terms import Term, constant, less

from .carriers import taken_apart

Excluded = Callable[[tuple[Term, ...]], bool]
"""Whether conditions cannot hold together."""


def is_injective(
    offset: Term, reach: Term, own: Iterable[Term], excluded: Excluded
) -> bool:
    """Whether no address is met twice where a place takes part.

    Args:
        offset: The address.
        reach: Where the place takes part.
        own: What tells one access from another: lanes and program ids, each from 0.
        excluded: Asks a solver.

    Example:
        >>> from verify.symbolic.terms import TRUE, add, mul, symbol
        >>> i, j = symbol("i", 0, 9), symbol("j", 0, 7)
        >>> def never(parts):
        ...     return False
        >>> is_injective(add(mul(i, constant(8)), j), TRUE, (i, j), never)
        True
        >>> is_injective(add(mul(i, constant(7)), j), TRUE, (i, j), never)
        False
    """
    place = taken_apart(offset, reach, own)
    weights: list[tuple[int, Term]] = []
    for monomial, coefficient in polynomial(place.offset).items():
        if not monomial:
            continue
        if len(monomial) != 1 or monomial[0] not in place.symbols:
            return False
        weights.append((abs(coefficient), monomial[0]))
    if {digit for _, digit in weights} != {
        node for node in place.symbols if node.high != 0
    }:
        return False
    weights.sort(key=lambda one: one[0])
    reached = 0
    for rank, (weight, digit) in enumerate(weights):
        if weight <= reached or digit.low != 0:
            return False
        if rank + 1 == len(weights):
            return True
        most = (weights[rank + 1][0] - 1 - reached) // weight
        if digit.high is None or digit.high > most:
            if not excluded((place.reach, less(constant(most), digit))):
                return False
            reached += weight * most
        else:
            reached += weight * digit.high
    return True
