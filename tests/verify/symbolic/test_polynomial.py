from hypothesis import given
from hypothesis import strategies as st

from verify.symbolic.polynomial import (
    difference,
    polynomial,
    same,
    split_by,
    term_of,
)
from verify.symbolic.terms import ZERO, Term, add, constant, fit, mul, sub, symbol
from verify.symbolic.walk import value_at

X, Y = symbol("x"), symbol("y")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> Term:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([X, Y, constant(3), constant(-2)]))
    build = draw(st.sampled_from([add, sub, mul]))
    return build(draw(expressions(depth - 1)), draw(expressions(depth - 1)))


@given(expressions(), st.integers(-9, 9), st.integers(-9, 9))
def test_a_polynomial_is_the_term(term: Term, x: int, y: int) -> None:
    values = {X: x, Y: y}
    assert value_at(term_of(polynomial(term)), values) == value_at(term, values)
    assert same(term, term_of(polynomial(term)))


def test_order_and_brackets_do_not_matter() -> None:
    assert same(mul(add(X, Y), X), add(mul(X, X), mul(Y, X)))
    assert not same(X, Y)
    assert difference(add(X, constant(2)), X) == {(): 2}
    assert same(fit(X, 0, 9), X)


@given(expressions(), st.integers(2, 9), st.integers(-9, 9))
def test_splitting(term: Term, divisor: int, x: int) -> None:
    quotient, rest = split_by(term, divisor)
    values = {X: x, Y: 2 - x}
    whole = divisor * value_at(quotient, values) + value_at(rest, values)
    assert whole == value_at(term, values)


def test_nothing_is_split_off_what_has_no_multiple() -> None:
    assert split_by(X, 4) == (ZERO, X)
