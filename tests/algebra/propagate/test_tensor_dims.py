"""Tensor dims: their standard order, and checks of axes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.errors import DimMismatchError, OutOfRangeError, UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.propagate.tensor_dims import (
    check_axis,
    check_distributed,
    check_permutation,
    standard,
    with_shape,
)


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
def test_standard_undoes_any_order_of_the_out_dims(
    layout: LinearLayout, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(layout.out_names))
    assert standard(layout.transpose_outs(order)) == layout


@given(layouts())
def test_with_shape_keeps_the_columns(layout: LinearLayout) -> None:
    total = layout.get_total_out_dim_size_log2()
    flat = with_shape(layout, [total])
    assert flat.columns == layout.columns
    assert with_shape(flat, layout.out_bits) == layout


def test_other_out_dims_are_rejected() -> None:
    for name in ("dim1", "offset"):
        with pytest.raises(DimMismatchError, match="must be the tensor dims"):
            standard(LinearLayout.identity_1d(2, "lane", name))


@pytest.mark.parametrize("axis", [-1, 2, "0"])
def test_axes_out_of_range_are_rejected(axis: int) -> None:
    with pytest.raises(OutOfRangeError, match=r"axis must be one of 0 \.\. 1"):
        check_axis(axis, 2)


def test_permutations() -> None:
    assert check_permutation(iter([1, 0]), 2) == (1, 0)  # type: ignore[arg-type]
    with pytest.raises(DimMismatchError):
        check_permutation([1, 1], 2)


def test_memory_is_not_distributed() -> None:
    with pytest.raises(UnsupportedLayoutError, match="gather needs a distributed"):
        check_distributed(LinearLayout.identity_1d(2, "offset", "dim0"), "gather")
