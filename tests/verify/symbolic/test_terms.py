import itertools
import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.symbolic.terms import (
    FALSE,
    TRUE,
    ZERO,
    Term,
    add,
    at_most,
    beside,
    choose,
    conjoin,
    constant,
    disjoin,
    div,
    equal,
    fit,
    invert,
    less,
    maximum,
    minimum,
    mod,
    mul,
    negated,
    opaque,
    pointer,
    poison,
    read,
    rebuilt,
    sub,
    symbol,
    truth_symbol,
)
from verify.symbolic.walk import value_at

X = symbol("x", -7, 9)
Y = symbol("y", 1, 6)


def test_equal_terms_are_one_object() -> None:
    assert add(X, Y) is add(X, Y)
    assert symbol("x", -7, 9) is X and symbol("x", -7, 8) is not X


@pytest.mark.parametrize(
    ("build", "python"),
    [
        (add, operator.add),
        (sub, operator.sub),
        (mul, operator.mul),
        (div, operator.floordiv),
        (mod, operator.mod),
        (minimum, min),
        (maximum, max),
    ],
)
def test_integers_mean_what_python_means(
    build: Callable[[Term, Term], Term], python: Callable[[int, int], int]
) -> None:
    term = build(X, Y)
    for x, y in itertools.product(range(-7, 10), range(1, 7)):
        value = value_at(term, {X: x, Y: y})
        assert value == python(x, y)
        assert term.low is None or term.low <= value
        assert term.high is None or value <= term.high
        assert build(constant(x), constant(y)).args == (value,)


@given(st.integers(-40, 40), st.integers(-40, 40), st.integers(1, 12))
def test_division_by_a_constant_splits_sums(a: int, b: int, divisor: int) -> None:
    term = add(mul(constant(divisor * 2), X), add(mul(constant(a), Y), constant(b)))
    for x, y in ((-7, 1), (0, 6), (9, 3)):
        values = {X: x, Y: y}
        whole = value_at(term, values)
        assert value_at(div(term, constant(divisor)), values) == whole // divisor
        assert value_at(mod(term, constant(divisor)), values) == whole % divisor


def test_a_fit_whose_range_is_certain_vanishes() -> None:
    assert fit(X, -8, 15) is X
    kept = fit(X, 0, 5, "3")
    assert kept.kind == "fit" and kept.fits and (kept.low, kept.high) == (0, 5)
    assert fit(constant(130), -128, 127) is constant(-126)


def test_simplifications_keep_what_is_to_be_checked() -> None:
    risky = fit(X, 0, 5)
    for term in (
        sub(risky, risky),
        mul(ZERO, risky),
        div(mul(risky, constant(4)), constant(4)),
    ):
        assert term.fits
    assert beside(ZERO, X) is ZERO and beside(ZERO, risky).fits


def test_comparisons_use_ranges_unless_something_is_to_be_checked() -> None:
    assert at_most(X, constant(9)) is TRUE and less(X, constant(-7)) is FALSE
    assert equal(X, constant(10)) is FALSE
    assert at_most(fit(X, -8, 8), constant(9)).kind == "le"


def test_truth_values() -> None:
    p, q = truth_symbol("p"), truth_symbol("q")
    assert conjoin() is TRUE and disjoin() is FALSE
    assert conjoin(p, invert(p)) is FALSE and disjoin(p, invert(p)) is TRUE
    assert conjoin(p, TRUE, p) is p and invert(invert(q)) is q
    assert choose(p, TRUE, FALSE) is p and choose(p, FALSE, TRUE) is invert(p)
    assert equal(p, FALSE) is invert(p) and equal(TRUE, q) is q
    for a, b, c in itertools.product((True, False), repeat=3):
        term = choose(p, q, truth_symbol("r"))
        values = {p: a, q: b, truth_symbol("r"): c}
        assert value_at(term, values) == (b if a else c)


def test_other_nodes_and_rebuilding() -> None:
    place = pointer("x", X)
    assert place.sort == "pointer" and poison("int").sort == "int"
    assert read("int", "b", 0, X, 0, 3).high == 3
    assert opaque("value", "f", (X,)) is opaque("value", "f", (X,))
    assert rebuilt(add(X, Y), (X, constant(0))) is X
    node: Term = opaque("value", "f", (X,))
    assert rebuilt(node, ("f", Y)) is opaque("value", "f", (Y,))
    assert negated(constant(3)) is constant(-3)
