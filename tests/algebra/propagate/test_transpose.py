"""Transpose: a permutation of coordinates, on layouts and on encodings."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.errors import DimMismatchError
from algebra.layout import LinearLayout
from algebra.propagate.transpose import trans


@st.composite
def layouts(draw: st.DrawFn, max_rank: int = 3) -> LinearLayout:
    """Draw a distributed layout: distinct unit vectors and zeros, shuffled."""
    bits = draw(st.lists(st.integers(0, 3), min_size=1, max_size=max_rank))
    units = [1 << place for place in range(sum(bits))]
    columns = draw(st.permutations(units + [0] * draw(st.integers(0, 2))))
    cuts = sorted(draw(st.tuples(*[st.integers(0, len(columns))] * 3)))
    sizes = [b - a for a, b in pairwise([0, *cuts, len(columns)])]
    in_dims = dict(zip(HARDWARE_DIMS, sizes, strict=True))
    return LinearLayout.from_columns(in_dims, named(bits), columns)


def named(bits: list[int]) -> dict[str, int]:
    """Return tensor dims with log2 sizes."""
    return dict(zip(standard_out_dim_names(len(bits)), bits, strict=True))


@given(layouts(), st.data())
def test_coordinates_are_permuted(layout: LinearLayout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(layout.num_out_dims)))
    moved = trans(layout, order)
    index = data.draw(st.integers(0, layout.get_total_in_dim_size() - 1))
    point = dict(zip(layout.in_names, _digits(index, layout.in_bits), strict=True))
    before = list(layout.apply(point).values())
    assert list(moved.apply(point).values()) == [before[dim] for dim in order]


def _digits(index: int, bits: tuple[int, ...]) -> list[int]:
    digits = []
    for width in bits:
        digits.append(index & (1 << width) - 1)
        index >>= width
    return digits


@given(layouts(), st.data())
def test_a_permutation_and_its_inverse_cancel(
    layout: LinearLayout, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(layout.num_out_dims)))
    inverse = sorted(range(len(order)), key=order.__getitem__)
    assert trans(trans(layout, order), inverse) == layout


@given(layouts())
def test_surjective_stays_surjective(layout: LinearLayout) -> None:
    assert trans(layout, range(layout.num_out_dims)[::-1]).is_surjective


def test_out_dims_in_another_order_are_put_in_order_first() -> None:
    layout = LinearLayout.from_bases({"lane": [[1, 0], [0, 1]]}, ["dim1", "dim0"])
    assert trans(layout, [1, 0]).bases == {"lane": ((1, 0), (0, 1))}
    assert trans(layout, [0, 1]).bases == {"lane": ((0, 1), (1, 0))}


def test_no_dims() -> None:
    assert trans(LinearLayout.empty(), []) == LinearLayout.empty()


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [0, 1, 2]])
def test_other_than_a_permutation_is_rejected(order: list[int]) -> None:
    layout = LinearLayout.identity_1d(4, "lane", "dim0")
    layout *= LinearLayout.identity_1d(2, "lane", "dim1")
    with pytest.raises(DimMismatchError, match="order must be a permutation"):
        trans(layout, order)
