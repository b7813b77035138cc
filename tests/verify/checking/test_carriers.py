"""Places in other symbols: the same addresses, equally often."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest

from verify.checking.carriers import taken_apart
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
from verify.symbolic.walk import nodes_of, value_at


def met(offset: Term, reach: Term, symbols: Sequence[Term]) -> Counter[int]:
    """The addresses, each as often as it is met."""
    found: Counter[int] = Counter()
    for point in product(*(range((s.high or 0) + 1) for s in symbols)):
        at = dict(zip(symbols, point, strict=True))
        if value_at(reach, at):
            found[value_at(offset, at)] += 1
    return found


LANE, STEP = symbol("lane0", 0, 7), symbol("iteration", 0, 4)
ROW = symbol("lane1", 0, 2)
INDEX = add(mul(STEP, constant(8)), LANE)


def divided(value: Term, by: int, stride: int) -> Term:
    return add(
        mul(div(value, constant(by)), constant(stride)), mod(value, constant(by))
    )


@pytest.mark.parametrize("by", [1, 2, 4, 6, 8, 16, 12])
@pytest.mark.parametrize("value", [LANE, INDEX], ids=["lane", "index"])
def test_the_same_addresses_are_met(value: Term, by: int) -> None:
    own = [LANE, STEP, ROW]
    offset = add(divided(value, by, 100), mul(ROW, constant(1000)))
    for reach in (TRUE, less(INDEX, constant(29)), less(STEP, constant(3))):
        apart = taken_apart(offset, reach, own)
        new = sorted(apart.symbols, key=repr)
        assert met(apart.offset, apart.reach, new) == met(offset, reach, own)
        if by > 1:
            left = {node.kind for node in nodes_of(apart.offset)}
            assert not left & {"div", "mod"}


def test_two_levels_of_quotients_vanish() -> None:
    quotient = div(INDEX, constant(2))
    offset = add(divided(quotient, 5, 50), mul(mod(INDEX, constant(2)), constant(777)))
    apart = taken_apart(offset, TRUE, [LANE, STEP])
    new = sorted(apart.symbols, key=repr)
    assert met(apart.offset, apart.reach, new) == met(offset, TRUE, [LANE, STEP])
    assert not {node.kind for node in nodes_of(apart.offset)} & {"div", "mod"}


def test_what_is_no_number_of_digits_stays() -> None:
    gap = add(mul(STEP, constant(9)), LANE)
    offset = divided(gap, 4, 100)
    apart = taken_apart(offset, TRUE, [LANE, STEP])
    assert apart.offset is offset and apart.symbols == {LANE, STEP}
