import itertools
from typing import Any

import pytest

from verify.checking.folds import fold, folded, folds_equal, joined, recombined
from verify.checking.reals import number, operation
from verify.symbolic.polynomial import same
from verify.symbolic.question import Solver
from verify.symbolic.terms import (
    VALUE,
    Term,
    add,
    at_most,
    choose,
    conjoin,
    constant,
    div,
    equal,
    invert,
    less,
    mod,
    mul,
    opaque,
    read,
    symbol,
)
from verify.symbolic.walk import value_at

K, LANE, N = symbol("k", 0), symbol("lane", 0), symbol("n", 0)


def cell(place: Term) -> Term:
    return read(VALUE, "x", 0, place, None, None)


def equal_or_asked(a: Term, b: Term, where: tuple[Term, ...]) -> bool:
    if a is b:
        return True
    if a.kind == b.kind == "read":
        a, b = a.args[2], b.args[2]
    if a.sort != b.sort or a.sort == VALUE:
        return False
    solver = Solver()
    try:
        return solver.satisfy((*where, invert(equal(a, b))), 5.0) is False
    finally:
        solver.close()


def elements(term: Term, values: dict[Term, int], limit: int) -> list[int]:
    """Return the addresses that a fold of reads combines, by brute force."""
    _, _, bounds, condition, body = term.args
    found = []
    for places in itertools.product(range(limit), repeat=len(bounds)):
        here: dict[Term, Any] = values | dict(zip(bounds, places, strict=True))
        if value_at(condition, here):
            found.append(value_at(body.args[2], here))
    return sorted(found)


def blocks(size: int, extent: Term) -> Term:
    """Return the sum over a row in blocks."""
    place = add(mul(K, constant(size)), LANE)
    rounds = div(add(extent, constant(size - 1)), constant(size))
    condition = conjoin(
        less(K, rounds), at_most(LANE, constant(size - 1)), less(place, extent)
    )
    return folded("addf", (K, LANE), condition, cell(place))


@pytest.mark.parametrize("size", [2, 4])
def test_two_bounds_become_one_and_combine_the_same_elements(size: int) -> None:
    two = blocks(size, N)
    one = joined(two, K, LANE)
    assert one is not None and len(one.args[2]) == 1
    for extent in range(9):
        wanted = list(range(extent))
        assert elements(two, {N: extent}, 10) == wanted
        assert elements(one, {N: extent}, 24) == wanted


def test_a_bound_of_unknown_extent_is_not_joined() -> None:
    assert joined(folded("addf", (K, LANE), less(LANE, N), cell(K)), K, LANE) is None


def test_a_row_in_blocks_is_the_row() -> None:
    row = folded("addf", (LANE,), less(LANE, N), cell(LANE))
    assert folds_equal(blocks(4, N), row, (), equal_or_asked)
    assert folds_equal(row, blocks(4, N), (), equal_or_asked)


@pytest.mark.parametrize("fault", ["shift", "unmasked", "combiner", "rounds"])
def test_a_fault_is_seen(fault: str) -> None:
    two = blocks(4, N)
    name, bounds, condition, body = two.args[1:]
    if fault == "shift":
        body = cell(add(body.args[2], constant(1)))
    elif fault == "unmasked":
        condition = conjoin(*(part for part in condition.args[:2]))
    elif fault == "combiner":
        name = "maxnumf"
    else:
        condition = conjoin(condition, less(K, div(N, constant(4))))
    row = folded("addf", (LANE,), less(LANE, N), cell(LANE))
    assert not folds_equal(
        folded(name, bounds, condition, body), row, (), equal_or_asked
    )


def test_bounds_may_come_in_another_order() -> None:
    inside = conjoin(less(K, constant(3)), less(LANE, N))
    body = cell(add(mul(K, N), LANE))
    one = folded("addf", (K, LANE), inside, body)
    assert folds_equal(one, folded("addf", (LANE, K), inside, body), (), equal_or_asked)


def test_neutral_elements_are_left_out_and_factors_taken_out() -> None:
    test = less(LANE, N)
    masked = choose(test, cell(LANE), number(0))
    inside = at_most(LANE, constant(7))
    found = fold("addf", (LANE,), inside, masked)
    assert found is folded("addf", (LANE,), conjoin(inside, test), cell(LANE))
    wrong = choose(test, cell(LANE), number(1))
    assert fold("addf", (LANE,), inside, wrong).args[4] is wrong
    scale = opaque(VALUE, "argument", ("s", "f32"))
    scaled = fold("addf", (LANE,), inside, operation("mulf", cell(LANE), scale))
    assert scaled.args[0] == "mulf" and scale in scaled.args
    inner = folded("addf", (LANE,), inside, cell(add(K, LANE)))
    nested = fold("addf", (K,), less(K, N), inner)
    assert nested.args[2] == (K, LANE)


def test_quotient_and_remainder_are_the_number() -> None:
    whole = add(
        mul(div(N, constant(8)), constant(16)), mul(mod(N, constant(8)), constant(2))
    )
    assert same(recombined(whole), mul(N, constant(2)))
    apart = add(mul(div(N, constant(8)), constant(4)), mod(N, constant(8)))
    assert recombined(apart) is apart
