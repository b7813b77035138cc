import math
from fractions import Fraction
from itertools import pairwise

import pytest

from manifolds.expm.scheme import SCHEMES, Row, Scheme, choose, reach, squarings

ROUNDOFFS = (2.0**-24, 2.0**-53)
Polynomial = list[Fraction]


def combine(registers: list[Polynomial], row: Row) -> Polynomial:
    length = max(map(len, registers))
    return [
        sum(
            (
                Fraction(c) * r[k]
                for c, r in zip(row, registers, strict=False)
                if k < len(r)
            ),
            Fraction(),
        )
        for k in range(length)
    ]


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    product = [Fraction()] * (len(left) + len(right) - 1)
    for i, x in enumerate(left):
        for j, y in enumerate(right):
            product[i + j] += x * y
    return product


def expand(scheme: Scheme) -> Polynomial:
    registers = [[Fraction(1)], [Fraction(), Fraction(1)]]
    for left, right in scheme.products:
        registers.append(multiply(combine(registers, left), combine(registers, right)))
    ones = (*scheme.result, *[1.0] * (len(registers) - len(scheme.result)))
    return combine(registers, ones)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: str(scheme.degree))
def test_each_scheme_expands_to_the_taylor_polynomial(scheme: Scheme) -> None:
    coefficients = expand(scheme)
    for k in range(scheme.degree + 1):
        assert abs(coefficients[k] * math.factorial(k) - 1) < 2e-15, k
    assert all(abs(c) < 1e-25 for c in coefficients[scheme.degree + 1 :])


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: str(scheme.degree))
def test_rows_cover_the_registers_before_them(scheme: Scheme) -> None:
    for register, (left, right) in enumerate(scheme.products, 2):
        assert len(left) <= register
        assert len(right) <= register
    assert len(scheme.result) == 2 + max(len(scheme.products) - 1, 0)


@pytest.mark.parametrize("roundoff", ROUNDOFFS)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: str(scheme.degree))
def test_within_reach_the_derivative_lacks_less_than_the_roundoff(
    scheme: Scheme, order: int, roundoff: float
) -> None:
    x = reach(scheme.degree, order, roundoff)
    first = scheme.degree + 1 - order
    if first <= 0:
        assert x < 0
        return
    tail = sum(x**k / math.factorial(k) for k in range(first, 60))
    assert 0.5 * roundoff < tail <= roundoff * (1 + 1e-9)


@pytest.mark.parametrize("roundoff", ROUNDOFFS)
def test_reach_grows_with_the_degree_and_falls_with_the_order(roundoff: float) -> None:
    table = [[reach(s.degree, k, roundoff) for s in SCHEMES] for k in (1, 2, 3)]
    assert all(row == sorted(row) for row in table)
    assert all(
        high >= low
        for row, next in pairwise(table)
        for high, low in zip(row, next, strict=True)
    )


@pytest.mark.parametrize("roundoff", ROUNDOFFS)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_choose_takes_the_first_that_reaches(order: int, roundoff: float) -> None:
    for scheme in SCHEMES:
        limit = reach(scheme.degree, order, roundoff)
        if limit >= 0:
            assert choose(limit, order, roundoff) is scheme
    assert choose(0.0, order, roundoff).degree >= order
    assert choose(1e30, order, roundoff).degree == 18


@pytest.mark.parametrize("roundoff", ROUNDOFFS)
@pytest.mark.parametrize("norm", [0.0, 1.0, 3.0, 100.0, 1e30])
def test_squarings_are_the_fewest(norm: float, roundoff: float) -> None:
    count = squarings(norm, 1, roundoff)
    limit = reach(18, 1, roundoff)
    assert norm / 2**count <= limit
    assert count == 0 or norm / 2 ** (count - 1) > limit


@pytest.mark.parametrize("norm", [math.nan, math.inf])
def test_what_is_not_finite_is_not_scaled(norm: float) -> None:
    assert squarings(norm, 1, 2.0**-24) == 0
