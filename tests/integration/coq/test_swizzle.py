"""Both sides of each theorem of ``swizzle.v``, on random instances."""

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra.cute import Swizzle
from algebra.encodings import SwizzledShared

LAW = settings(max_examples=40)
EXPONENT = st.integers(0, 4)
ROWS = COLUMNS = 4


def swizzle(v: int, p: int, m: int, row: int, column: int) -> int:
    """The Coq definition, on exponents."""
    return column ^ ((row >> p & (1 << m) - 1) << v)


def place(v: int, p: int, m: int, row: int, column: int) -> int:
    """The column of an element in memory, by the encoding."""
    shared = SwizzledShared(
        vec=1 << v, per_phase=1 << p, max_phase=1 << m, order=(1, 0)
    )
    offsets = shared.to_linear_layout([1 << ROWS, 1 << COLUMNS]).invert()
    offset = offsets.apply({"dim0": row, "dim1": column})["offset"]
    assert offset >> COLUMNS == row
    return offset % (1 << COLUMNS)


def stays(v: int, p: int, m: int) -> bool:
    phases_seen = min(m, max(0, ROWS - p))
    return phases_seen == 0 or v + phases_seen <= COLUMNS


@LAW
@given(EXPONENT, EXPONENT, EXPONENT, st.integers(0, 15), st.integers(0, 15))
def test_swizzle_formula_is_an_xor_with_row_bits(
    v: int, p: int, m: int, row: int, column: int
) -> None:
    phase = row // 2**p % 2**m
    formula = (column // 2**v ^ phase) * 2**v + column % 2**v
    assert formula == swizzle(v, p, m, row, column)
    if stays(v, p, m):
        assert place(v, p, m, row, column) == formula


@LAW
@given(EXPONENT, EXPONENT, EXPONENT, *[st.integers(0, 15)] * 4)
def test_swizzle_is_linear(
    v: int, p: int, m: int, row: int, row2: int, column: int, column2: int
) -> None:
    for f in (swizzle, place):
        together = f(v, p, m, row ^ row2, column ^ column2)
        assert together == f(v, p, m, row, column) ^ f(v, p, m, row2, column2)


@LAW
@given(EXPONENT, EXPONENT, EXPONENT, st.integers(0, 15), st.integers(0, 15))
def test_swizzle_is_its_own_inverse(
    v: int, p: int, m: int, row: int, column: int
) -> None:
    for f in (swizzle, place):
        assert f(v, p, m, row, f(v, p, m, row, column)) == column


@LAW
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_swizzle_stays_in_the_row_iff_the_phases_seen_fit(
    v: int, p: int, m: int
) -> None:
    inside = all(
        swizzle(v, p, m, row, column) < 1 << COLUMNS
        for row in range(1 << ROWS)
        for column in range(1 << COLUMNS)
    )
    assert inside == stays(v, p, m)


@LAW
@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), *[st.integers(0)] * 2)
def test_cute_swizzle_is_linear_and_its_own_inverse(
    b: int, m: int, extra: int, x: int, y: int
) -> None:
    s = b + extra
    swizzled = Swizzle(b, m, s)
    assert swizzled(x) == x ^ (x & (1 << b) - 1 << m + s) >> s
    assert swizzled(x ^ y) == swizzled(x) ^ swizzled(y)
    assert swizzled(swizzled(x)) == x
