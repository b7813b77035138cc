"""Join and split: a register bit comes and goes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.errors import OutOfRangeError, UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.propagate.join import (
    fp4_to_fp,
    join,
    join_on_axis,
    split,
    split_on_axis,
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


@given(layouts())
def test_split_undoes_join(layout: LinearLayout) -> None:
    assert split(join(layout)) == layout


@given(layouts(), st.data())
def test_split_on_axis_undoes_join_on_axis(
    layout: LinearLayout, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, layout.num_out_dims - 1))
    joined = join_on_axis(layout, axis)
    assert split_on_axis(joined, axis) == layout
    assert joined.is_surjective
    assert fp4_to_fp(layout, axis) == joined


@given(layouts())
def test_the_new_coordinate_is_the_lowest_register_bit(layout: LinearLayout) -> None:
    joined = join(layout)
    assert joined.bases["register"][0] == (*[0] * layout.num_out_dims, 1)
    assert joined.is_surjective


@given(layouts())
def test_join_of_split_moves_one_register_bit(layout: LinearLayout) -> None:
    rank = layout.num_out_dims
    registers = layout.in_bits[0]
    rotated = [*range(1, registers + 1), 0]
    joined = join(layout)
    columns = [joined.columns[place] for place in rotated]
    shuffled = LinearLayout.from_columns(
        dict(zip(joined.in_names, joined.in_bits, strict=True)),
        dict(zip(joined.out_names, joined.out_bits, strict=True)),
        columns + list(joined.columns[registers + 1 :]),
    )
    assert join(split(shuffled)) == joined
    assert split(shuffled).num_out_dims == rank


def test_copies_of_the_register_go_too() -> None:
    layout = LinearLayout.from_bases({"register": [[1], [2], [1]]}, {"dim0": 4})
    assert split_on_axis(layout, 0).bases == {"register": ((1,),)}


@pytest.mark.parametrize(
    "bases",
    [
        {"register": [[0, 2]], "lane": [[0, 1], [1, 0]]},
        {"register": [[0, 1], [0, 3]], "lane": [[1, 0]]},
        {"register": [[1, 1], [1, 0], [0, 2]], "lane": []},
    ],
)
def test_pairs_over_threads_are_rejected(bases: dict[str, list[list[int]]]) -> None:
    layout = LinearLayout.from_bases(bases, {"dim0": 2, "dim1": 4}, False)
    with pytest.raises(UnsupportedLayoutError, match="neighbours along dim 1"):
        split_on_axis(layout, 1)


def test_split_needs_a_last_dim_of_size_two() -> None:
    layout = LinearLayout.identity_1d(4, "register", "dim0")
    for wrong in (layout, LinearLayout.empty()):
        with pytest.raises(UnsupportedLayoutError, match="last dim of size 2"):
            split(wrong)


def test_memory_has_no_registers() -> None:
    layout = LinearLayout.identity_1d(4, "offset", "dim0")
    for operation in (join, lambda one: split_on_axis(one, 0)):
        with pytest.raises(UnsupportedLayoutError, match="in-dim 'register'"):
            operation(layout)


@pytest.mark.parametrize("axis", [-1, 1])
def test_an_axis_out_of_range_is_rejected(axis: int) -> None:
    layout = LinearLayout.identity_1d(4, "register", "dim0")
    for operation in (join_on_axis, split_on_axis):
        with pytest.raises(OutOfRangeError, match=f"axis={axis}"):
            operation(layout, axis)
