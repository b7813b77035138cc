"""Simplified expressions are equal where their digits run."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.expression import Expression, make, substitute
from compiler.ir.index import add, constant_value, digit, floordiv, index, mod, mul
from compiler.ir.node import Axis
from compiler.ir.ranges import Ranges
from compiler.ir.scalar import apply, constant, from_index
from compiler.schedule.simplify import boolean, ranges_of, recombined, simplified

D, J = digit("i"), digit("j")


def indices() -> st.SearchStrategy[Expression]:
    leaf = st.sampled_from([D, J, index(1), index(5)])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: add(*p)),
            st.tuples(inner, st.integers(-3, 6)).map(lambda p: mul(*p)),
            st.tuples(inner, st.integers(1, 8)).map(lambda p: floordiv(*p)),
            st.tuples(inner, st.integers(1, 8)).map(lambda p: mod(*p)),
        ),
        max_leaves=6,
    )


@given(indices(), st.integers(1, 6), st.integers(1, 4))
def test_a_simplified_index_is_equal_where_the_digits_run(
    value: Expression, rows: int, columns: int
) -> None:
    short = simplified(value, Ranges({D: rows, J: columns}))
    for i, j in itertools.product(range(rows), range(columns)):
        at = {D: index(i), J: index(j)}
        assert substitute(short, at) is substitute(value, at)


def test_a_split_digit_leaves_no_division() -> None:
    k = digit("k")
    ranges = ranges_of([Axis(D, index(6)), Axis(J, index(4))])
    place = {k: add(mul(D, 4), J)}
    assert simplified(floordiv(k, 4), ranges, place) is D
    assert simplified(mod(k, 4), ranges, place) is J
    assert simplified(floordiv(k, 2), ranges, place) is add(mul(D, 2), floordiv(J, 2))


def test_quotient_and_remainder_join() -> None:
    joined = add(mul(floordiv(D, 4), 4), mod(D, 4))
    assert recombined(joined) is D
    three = add(mul(floordiv(floordiv(D, 2), 3), 6), mul(mod(floordiv(D, 2), 3), 2))
    assert recombined(add(three, mod(D, 2))) is D
    assert recombined(add(mul(floordiv(D, 4), 8), mod(D, 4))) is not D


def test_comparisons_that_the_ranges_decide() -> None:
    ranges = Ranges({D: 4})
    place = from_index(D, "int64")

    def decided(op: str, bound: int) -> object:
        node = simplified(apply(op, place, constant(bound, "int64")), ranges)
        return node.data if node.op == "constant" else None

    assert decided("lt", 4) is True
    assert decided("lt", 3) is None
    assert decided("ge", 4) is False
    assert decided("gt", -1) is True
    assert decided("le", 3) is True
    assert decided("eq", 7) is False
    assert decided("ne", -1) is True


def test_choices_with_a_known_condition() -> None:
    ranges = Ranges({D: 4})
    inside = apply("lt", from_index(D, "int64"), constant(9, "int64"))
    x = make("load", (D,), "float32", "x")
    zero = constant(0.0, "float32")
    assert simplified(make("where", (inside, x, zero), "float32"), ranges) is x
    outside = apply("bitwise_not", inside)
    assert simplified(make("guard", (outside, x, zero), "float32"), ranges) is zero
    y = make("load", (D,), "bool", "y")
    assert simplified(make("bitwise_and", (inside, y), "bool"), ranges) is y
    assert simplified(make("bitwise_or", (y, inside), "bool"), ranges) is boolean(True)


def test_a_replaced_leaf_is_not_replaced_again() -> None:
    ranges = Ranges({D: 4, J: 4})
    swapped = simplified(add(mul(D, 4), J), ranges, {D: J, J: D})
    assert swapped is add(mul(J, 4), D)
    assert (
        constant_value(simplified(add(D, J), ranges, {D: index(1), J: index(2)})) == 3
    )
