import itertools
from collections.abc import Sequence

import pytest

from verify.checking.injective import is_injective
from verify.symbolic.question import Solver
from verify.symbolic.terms import (
    TRUE,
    Term,
    add,
    constant,
    div,
    less,
    mod,
    mul,
    symbol,
)
from verify.symbolic.walk import value_at

ROW, COLUMN = symbol("i", 0, 3), symbol("j", 0, 5)


def never(_: Sequence[Term]) -> bool:
    return False


def excluded(parts: Sequence[Term]) -> bool:
    solver = Solver()
    try:
        return solver.satisfy(parts, 5.0) is False
    finally:
        solver.close()


def is_one_to_one(offset: Term, reach: Term) -> bool:
    seen = set()
    for i, j in itertools.product(range(4), range(6)):
        values = {ROW: i, COLUMN: j}
        if value_at(reach, values):
            place = value_at(offset, values)
            if place in seen:
                return False
            seen.add(place)
    return True


@pytest.mark.parametrize("weight", range(1, 9))
@pytest.mark.parametrize("other", range(1, 9))
def test_what_is_said_to_be_injective_is(weight: int, other: int) -> None:
    offset = add(
        mul(ROW, constant(weight)), add(mul(COLUMN, constant(other)), constant(3))
    )
    said = is_injective(offset, TRUE, (ROW, COLUMN), never)
    assert not said or is_one_to_one(offset, TRUE)
    if (weight == 1 and other >= 4) or (other == 1 and weight >= 6):
        assert said


def test_a_digit_that_is_not_in_the_address_repeats_it() -> None:
    assert not is_injective(COLUMN, TRUE, (ROW, COLUMN), never)
    assert is_injective(COLUMN, TRUE, (COLUMN, symbol("one", 0, 0)), never)


def test_a_mask_may_bound_a_digit() -> None:
    offset = add(mul(ROW, constant(5)), COLUMN)
    assert not is_injective(offset, TRUE, (ROW, COLUMN), excluded)
    assert is_injective(offset, less(COLUMN, constant(5)), (ROW, COLUMN), excluded)
    assert not is_injective(offset, less(ROW, constant(2)), (ROW, COLUMN), excluded)


@pytest.mark.parametrize("swap", [True, False])
def test_numbers_are_taken_apart_where_an_address_divides(swap: bool) -> None:
    whole = add(mul(ROW, constant(6)), COLUMN)  # 0 ... 23, in digits of 4
    low, high = mod(whole, constant(4)), div(whole, constant(4))
    offset = add(mul(low, constant(6 if swap else 5)), high)
    assert is_one_to_one(offset, TRUE) == swap
    assert is_injective(offset, TRUE, (ROW, COLUMN), excluded) == swap


def test_what_is_not_linear_is_not_decided() -> None:
    assert not is_injective(mul(ROW, COLUMN), TRUE, (ROW, COLUMN), never)
    unknown = symbol("free", 0, 3)
    assert not is_injective(add(mul(ROW, constant(8)), unknown), TRUE, (ROW,), never)


@pytest.mark.parametrize("extent", [5, 6])
def test_numbers_of_several_quotients_are_taken_apart(extent: int) -> None:
    pid, lane = symbol("pid", 0, 14), symbol("lane", 0, 15)
    whole = add(mul(pid, constant(16)), lane)  # 240 = 4 * 6 * 10
    row = add(mul(pid, constant(4)), div(lane, constant(4)))
    offset = add(
        add(mod(lane, constant(4)), mul(mod(row, constant(6)), constant(40))),
        mul(div(whole, constant(4 * extent)), constant(4)),
    )
    met = [
        value_at(offset, {pid: p, lane: k})
        for p, k in itertools.product(range(15), range(16))
    ]
    assert (len(set(met)) == len(met)) == (extent == 6)
    assert is_injective(offset, TRUE, (pid, lane), excluded) == (extent == 6)
