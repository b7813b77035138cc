"""Xor swizzles: an involution, linear, recognised, and equal to the reference."""

from itertools import product

import pytest
import tensor_layouts as reference
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.cute import Swizzle
from algebra.cute.swizzle import swizzles_within
from algebra.errors import EncodingError, OutOfRangeError, UnsupportedLayoutError


def test_every_swizzle_of_eight_bits_equals_the_reference() -> None:
    swizzles = list(swizzles_within(8))
    assert len(set(swizzles)) == len(swizzles) == 2 * 50
    for swizzle in swizzles:
        theirs = reference.Swizzle(swizzle.bits, swizzle.base, swizzle.shift)
        values = [swizzle(offset) for offset in range(256)]
        assert values == [theirs(offset) for offset in range(256)]
        assert [swizzle(value) for value in values] == list(range(256))


def test_every_swizzle_is_recognised_in_its_matrix() -> None:
    for swizzle in swizzles_within(9):
        layout = swizzle.to_layout(9)
        assert layout.is_invertible
        assert Swizzle.recognise(layout) == swizzle
        assert all(layout.apply_index(i) == swizzle(i) for i in range(0, 512, 7))


def test_the_widths_count_both_windows() -> None:
    assert Swizzle(3, 4, 3).width == 10
    assert Swizzle(2, 1, -4).width == 7
    assert Swizzle(0, 5, 0).width == 0


@pytest.mark.parametrize("bits", [0, 1, 5])
def test_the_identity_is_a_swizzle_of_no_bits(bits: int) -> None:
    layout = Swizzle(0, 0, 0).to_layout(bits)
    assert Swizzle.recognise(layout) == Swizzle(0, 0, 0)
    assert all(layout.apply_index(i) == i for i in range(1 << bits))


def test_a_window_over_the_top_is_cut() -> None:
    assert Swizzle.recognise(Swizzle(3, 4, 3).to_layout(9)) == Swizzle(2, 4, 3)


@given(
    st.sampled_from(list(swizzles_within(12))),
    st.lists(st.integers(min_value=0, max_value=4095), max_size=6),
)
def test_swizzling_twice_changes_nothing(swizzle: Swizzle, columns: list[int]) -> None:
    layout = LinearLayout.from_columns(
        {"lane": len(columns)}, {"dim0": 5, "dim1": 7}, columns
    )
    swizzled = swizzle.after(layout)
    assert swizzle.after(swizzled) == layout
    assert all(
        swizzled.apply_index(i) == swizzle(layout.apply_index(i))
        for i in range(1 << len(columns))
    )


@pytest.mark.parametrize("parameters", [(-1, 0, 0), (1, -1, 1), (3, 0, 2), (2, 0, -1)])
def test_windows_that_overlap_are_refused(parameters: tuple[int, int, int]) -> None:
    with pytest.raises(EncodingError, match=r"\|shift\| >= bits"):
        Swizzle(*parameters)


def test_bits_that_leave_the_offset_are_refused() -> None:
    with pytest.raises(OutOfRangeError, match="7 bits"):
        Swizzle(2, 1, -4).to_layout(6)
    with pytest.raises(OutOfRangeError, match="enlarge"):
        Swizzle(1, 0, -4).after(LinearLayout.identity_1d(8, "lane", "offset"))
    assert Swizzle(2, 1, 4).to_layout(1).is_invertible


@pytest.mark.parametrize(
    "columns",
    [
        [2, 1],
        [1, 3, 5],
        [1, 2, 5, 12],
        [1, 0],
        [1, 2, 7],
        [1, 3, 6],
        [1, 2, 4, 0, 25],
    ],
)
def test_other_square_maps_are_not_swizzles(columns: list[int]) -> None:
    bits = len(columns)
    layout = LinearLayout.from_columns({"index": bits}, {"index": bits}, columns)
    with pytest.raises(UnsupportedLayoutError, match="columns="):
        Swizzle.recognise(layout)


def test_a_map_that_is_not_square_is_no_swizzle() -> None:
    layout = LinearLayout.from_columns({"index": 2}, {"index": 3}, [1, 2])
    with pytest.raises(UnsupportedLayoutError):
        Swizzle.recognise(layout)


def test_exactly_the_swizzles_are_recognised_among_small_matrices() -> None:
    known = {tuple(s.to_layout(3).columns) for s in swizzles_within(3)} | {(1, 2, 4)}
    for columns in product(range(8), repeat=3):
        layout = LinearLayout.from_columns({"index": 3}, {"index": 3}, columns)
        if columns in known:
            assert Swizzle.recognise(layout).to_layout(3) == layout
        else:
            with pytest.raises(UnsupportedLayoutError):
                Swizzle.recognise(layout)
