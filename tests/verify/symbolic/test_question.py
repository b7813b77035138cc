import itertools

import pytest

from verify.symbolic.question import Solver
from verify.symbolic.terms import (
    FALSE,
    add,
    at_most,
    choose,
    conjoin,
    constant,
    disjoin,
    div,
    equal,
    invert,
    less,
    mod,
    mul,
    opaque,
    read,
    symbol,
    truth_symbol,
)
from verify.symbolic.walk import value_at

X, Y = symbol("x", -5, 5), symbol("y", -5, 5)


def test_answers_are_values_or_none() -> None:
    solver = Solver()
    found = solver.satisfy([less(X, Y), equal(add(X, Y), constant(3))], 5.0)
    assert isinstance(found, dict)
    assert found[X] < found[Y] and found[X] + found[Y] == 3
    assert solver.satisfy([less(constant(5), X)], 5.0) is False
    assert solver.satisfy([FALSE], 5.0) is False
    solver.close()
    assert solver.satisfy([less(X, Y)], 5.0)


@pytest.mark.parametrize("build", [div, mod])
def test_quotients_by_anything_but_zero_agree_with_python(build: object) -> None:
    solver = Solver()
    for x, y in itertools.product((-5, -3, 0, 2, 5), (-4, -1, 1, 3)):
        term = build(X, Y)  # type: ignore[operator]
        wanted = value_at(term, {X: x, Y: y})
        fixed = [equal(X, constant(x)), equal(Y, constant(y))]
        assert solver.satisfy([*fixed, equal(term, constant(wanted))], 5.0)
        assert (
            solver.satisfy([*fixed, invert(equal(term, constant(wanted)))], 5.0)
            is False
        )


def test_what_memory_holds_is_free_within_its_range() -> None:
    solver = Solver()
    cell = read("int", "b", 0, X, 0, 3)
    flag = opaque("bool", "cmpf", (X,))
    found = solver.satisfy([equal(cell, constant(3)), flag], 5.0)
    assert isinstance(found, dict) and found[cell] == 3 and found[flag] is True
    assert solver.satisfy([equal(cell, constant(4))], 5.0) is False


def test_all_connectives() -> None:
    solver = Solver()
    p = truth_symbol("p")
    chosen = choose(p, mul(X, Y), constant(2**70))
    formula = conjoin(disjoin(p, at_most(X, Y)), equal(chosen, constant(12)))
    found = solver.satisfy([formula], 5.0)
    assert isinstance(found, dict) and found[p] and found[X] * found[Y] == 12
