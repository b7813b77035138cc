"""Coordinates from positions, for merged, turned and gapped arrays."""

from itertools import product

import pytest

from compiler.ir.index import (
    Index,
    add,
    constant_value,
    contiguous_strides,
    digit,
    floordiv,
    index,
    mod,
    mul,
)
from compiler.ir.node import Axis, Buffer
from compiler.ir.ranges import Ranges
from verify.obligations.places import (
    UnplacedError,
    cut_where_divided,
    own_place,
    position_of,
    solved,
)

X, Y = digit("x0"), digit("x1")


def array(shape: tuple[int, ...], strides: tuple[int, ...]) -> Buffer:
    extents = tuple(map(index, shape))
    return Buffer("a", "float32", extents, "cpu", tuple(map(index, strides)))


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((3, 4, 5), (20, 5, 1)),
        ((3, 4, 5), (4, 1, 12)),
        ((3, 1, 20), (20, 7, 1)),
        ((3, 4, 5), (40, 8, 1)),  # with gaps
        ((3, 4, 5), (6, 1, 20)),
    ],
)
def test_merged_dims_are_taken_apart(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    full = array(shape, strides)
    seen = array((120,), (1,))
    ranges = Ranges({})
    for point in product(*map(range, shape)):
        at = position_of(full, [index(p) for p in point])
        assert [constant_value(c) for c in own_place(seen, full, (at,), ranges)] == [
            *point
        ]


def test_digits_stay_digits() -> None:
    full, seen = array((3, 4), (4, 1)), array((12,), (1,))
    ranges = Ranges({X: 3, Y: 4})
    assert own_place(seen, full, (add(mul(X, 4), Y),), ranges) == (X, Y)
    assert own_place(full, full, (Y, X), ranges) == (Y, X)


def test_elements_in_one_place_are_refused() -> None:
    seen = array((12,), (1,))
    for strides in ((3, 1), (0, 1)):
        with pytest.raises(UnplacedError, match="in one place"):
            own_place(seen, array((3, 4), strides), (X,), Ranges({X: 12}))


def test_the_point_that_writes_an_element_is_found() -> None:
    """Loops of another kernel may have digits of the same names."""
    seen = array((5, 6), (6, 1))
    axes = Axis(X, index(6)), Axis(Y, index(5))
    there = add(mul(X, 6), Y)
    found = solved(seen, (Y, X), axes, there, Ranges({X: 5, Y: 6}), {})
    assert found == {X: Y, Y: X}


def test_a_target_that_divides_or_repeats_is_refused() -> None:
    seen = array((5, 6), contiguous(5, 6))
    axes = Axis(X, index(5)), Axis(Y, index(6))
    targets: list[tuple[Index, ...]] = [(floordiv(X, 2), Y), (0, Y)]
    for target in targets:
        with pytest.raises(UnplacedError):
            at = tuple(map(index, target))
            solved(seen, at, axes, index(0), Ranges({}), {})


def contiguous(*shape: int) -> tuple[int, ...]:
    strides = contiguous_strides([index(extent) for extent in shape])
    return tuple(constant_value(step) or 0 for step in strides)


def test_rows_with_gaps_are_told_from_rows_without() -> None:
    full, seen = array((2, 3, 5), (24, 8, 1)), array((6, 5), (8, 1))
    ranges = Ranges({X: 6, Y: 5})
    found = own_place(seen, full, (X, Y), ranges)
    assert found == (floordiv(X, 3), mod(X, 3), Y)
    there = add(mul(digit("i0"), 8), digit("i1"))
    known = Ranges({digit("i0"): 6, digit("i1"): 5})
    axes = (Axis(X, index(6)), Axis(Y, index(5)))
    values = solved(seen, (X, Y), axes, there, known, {})
    assert values == {X: digit("i0"), Y: digit("i1")}


def test_loops_are_cut_where_indices_divide_them() -> None:
    names = iter("abc")
    values = [floordiv(X, 6), mod(floordiv(X, 2), 3), mod(X, 2)]
    found, axes = cut_where_divided(
        values, [Axis(X, index(24))], lambda extent: digit(next(names))
    )
    assert [constant_value(axis.extent) for axis in axes] == [4, 3, 2]
    extents = {axis.digit: axis.extent for axis in axes}
    ranges = Ranges(extents)
    assert [ranges.simplify(value) for value in found] == [a.digit for a in axes]


def test_loops_stay_whole_where_a_divisor_does_not_fit() -> None:
    axis = Axis(X, index(25))
    values = [floordiv(X, 6)]
    assert cut_where_divided(values, [axis], lambda e: Y) == (values, [axis])
