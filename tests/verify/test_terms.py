from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.errors import NotPowerOfTwoError
from verify.terms import (
    FALSE,
    TRUE,
    ZERO,
    Size,
    Term,
    all_of,
    any_of,
    as_size,
    at_most,
    choose,
    equal,
    evaluate,
    holds,
    implies,
    less,
    lift,
    monus,
    negate,
    variable,
)

Values = dict[str, int]
Formula = tuple[Term, Callable[[Values], int]]
X, Y = variable("x", 6), variable("y", 4)
NUMBERS = st.fixed_dictionaries(
    {"x": st.integers(0, 63), "y": st.integers(0, 15), "k": st.integers(0, 3)}
)


@st.composite
def formulas(draw: st.DrawFn, depth: int = 4) -> Formula:
    """A term and the same formula as a function of ints."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        kind = draw(st.sampled_from(("x", "y", "constant")))
        if kind == "constant":
            number = draw(st.integers(0, 40))
            return lift(number), lambda v: number
        return (X if kind == "x" else Y), lambda v: v[kind]
    left, f = draw(formulas(depth=depth - 1))
    operator = draw(st.sampled_from("+^/%*&"))
    if operator in "/%*":
        size = 1 << draw(st.integers(0, 4))
        if operator == "/":
            return left // size, lambda v: f(v) // size
        if operator == "%":
            return left % size, lambda v: f(v) % size
        return left * size, lambda v: f(v) * size
    right, g = draw(formulas(depth=depth - 1))
    if operator == "+":
        return left + right, lambda v: f(v) + g(v)
    if operator == "^":
        return left ^ right, lambda v: f(v) ^ g(v)
    return left & right, lambda v: f(v) & g(v)


@given(formulas(), NUMBERS)
def test_a_term_means_what_python_means(formula: Formula, values: Values) -> None:
    term, function = formula
    number = evaluate(term, values)
    assert number == function(values)
    assert number & ~term.ones == 0


@given(NUMBERS)
def test_symbolic_sizes_mean_powers_of_two(values: Values) -> None:
    size = Size(variable("k", 2))
    power = 1 << values["k"]
    assert evaluate(X // size, values) == values["x"] // power
    assert evaluate(X % size, values) == values["x"] % power
    assert evaluate(X * size, values) == values["x"] * power
    assert evaluate(100 // size, values) == 100 // power
    assert evaluate(100 % size, values) == 100 % power
    assert evaluate((size * 4).value(), values) == power * 4
    assert evaluate((2 * size).value(), values) == power * 2


@given(NUMBERS)
def test_truth_values(values: Values) -> None:
    x, y = values["x"], values["y"]
    assert holds(equal(X, Y), values) == (x == y)
    assert holds(less(X, Y), values) == (x < y)
    assert holds(at_most(X, Y), values) == (x <= y)
    assert holds(negate(less(X, Y)), values) == (x >= y)
    assert holds(implies(less(X, Y), less(X, 15)), values)
    assert evaluate(choose(less(X, Y), X, Y), values) == min(x, y)
    assert evaluate(monus(X, Y), values) == max(0, x - y)


def test_no_formulas() -> None:
    assert all_of([]) is TRUE
    assert any_of([]) is FALSE
    assert holds(TRUE, {}) and not holds(FALSE, {})
    one = equal(X, 1)
    assert all_of([one]) is one and any_of([one]) is one
    assert negate(negate(one)) is one


def test_degenerate_terms() -> None:
    assert variable("none", 0) is ZERO
    assert X // 64 is ZERO and X % 1 is ZERO and X * 0 is ZERO
    assert X // 1 is X and X * 1 is X and X % 64 is X
    assert X + 0 is X and 0 + X is X and (X ^ 0) is X and 0 ^ X is X
    assert X - 0 is X


def test_only_powers_of_two_divide() -> None:
    with pytest.raises(NotPowerOfTwoError, match="size=3"):
        X // 3
    assert as_size(8).exponent.args == (3,)
    assert "Term" in repr(X) and "Formula" in repr(TRUE)
