"""Bounds hold wherever the digits run, and decide divisions."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.expression import Expression, substitute
from compiler.ir.index import (
    add,
    constant_value,
    digit,
    floordiv,
    index,
    maximum,
    minimum,
    mod,
    mul,
    sub,
    symbol,
)
from compiler.ir.ranges import Ranges
from compiler.ir.scalar import apply, cast, checked_index, constant, load

D, E, N, M = digit("d"), digit("e"), symbol("n"), symbol("m")


def indices() -> st.SearchStrategy[Expression]:
    return st.recursive(
        st.sampled_from([D, E, index(-2), index(3)]),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: add(*p)),
            st.tuples(inner, st.integers(-3, 5)).map(lambda p: mul(*p)),
            st.tuples(inner, st.integers(1, 7)).map(lambda p: floordiv(*p)),
            st.tuples(inner, st.integers(1, 7)).map(lambda p: mod(*p)),
            st.tuples(inner, inner).map(lambda p: minimum(*p)),
            st.tuples(inner, inner).map(lambda p: maximum(*p)),
        ),
        max_leaves=5,
    )


@given(indices(), st.integers(1, 5), st.integers(1, 4))
def test_bounds_hold_at_each_point(value: Expression, rows: int, columns: int) -> None:
    ranges = Ranges({D: rows, E: columns})
    low, high = ranges.bounds(value)
    short = ranges.simplify(value)
    for d, e in itertools.product(range(rows), range(columns)):
        at = {D: index(d), E: index(e)}
        exact = constant_value(substitute(value, at))
        assert exact is not None
        assert substitute(short, at) is index(exact)
        for bound, sign in ((low, 1), (high, -1)):
            if bound is not None:
                known = constant_value(bound)
                assert known is not None and sign * (exact - known) >= 0


def test_products_of_sizes_are_compared() -> None:
    ranges = Ranges({D: mul(N, 4), E: 4}, {N: 2, M: 1})
    assert ranges.inside(D, mul(N, 4))
    assert not ranges.inside(add(D, 1), mul(N, 4))
    assert ranges.non_negative(sub(mul(N, M), 2))
    assert not ranges.non_negative(sub(mul(N, M), 3))
    assert not ranges.non_negative(sub(N, M))


def test_unknown_digits_have_no_bounds() -> None:
    ranges = Ranges({D: 4})
    assert ranges.bounds(add(D, E)) == (None, None)
    assert not ranges.at_least(E, 0) and not ranges.at_most(E, 100)


def test_divisions_that_the_ranges_decide() -> None:
    ranges = Ranges({D: 6, E: 4})
    flat = add(mul(D, 4), E)
    assert ranges.decided(floordiv(E, 4)) is index(0)
    assert ranges.decided(mod(E, 4)) is E
    assert ranges.simplify(floordiv(flat, 4)) is D
    assert ranges.simplify(mod(flat, 8)) is add(mul(mod(D, 2), 4), E)
    assert ranges.simplify(floordiv(flat, 3)).op == "floordiv"


def test_extremes_that_the_ranges_decide() -> None:
    ranges = Ranges({D: 4, E: 4})
    assert ranges.simplify(minimum(D, add(D, 1))) is D
    assert ranges.simplify(maximum(D, index(3))) is index(3)
    assert ranges.simplify(minimum(D, E)).op == "minimum"


def test_symbolic_divisions() -> None:
    ranges = Ranges({D: N}, {N: 1})
    assert ranges.simplify(floordiv(D, N)) is index(0)
    assert ranges.simplify(mod(D, N)) is D


def test_values_that_an_index_is_read_from_stay() -> None:
    """Their numbers are no indices: they may be floating."""
    read = load("x", (D,), "float32")
    small = apply("minimum", read, constant(9.0, "float32"))
    whole = cast(apply("floordiv", small, constant(2.5, "float32")), "int64")
    row = checked_index(whole, 10, wrap=True)
    assert Ranges({D: index(8)}).simplify(add(mod(D, 8), row)) is add(D, row)
