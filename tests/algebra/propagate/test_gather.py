"""Gather within a warp."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.errors import DimMismatchError, OutOfRangeError, UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.propagate.gather import gather_is_warp_local


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


def held_by_warp(
    layout: LinearLayout,
) -> dict[tuple[int, int], set[tuple[int, ...]]]:
    """Return for each (warp, block) the elements that it holds."""
    held: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for index in range(layout.get_total_in_dim_size()):
        digits, rest = [], index
        for bits in layout.in_bits:
            digits.append(rest & (1 << bits) - 1)
            rest >>= bits
        point = dict(zip(layout.in_names, digits, strict=True))
        element = tuple(layout(point).values())
        held.setdefault((point["warp"], point["block"]), set()).add(element)
    return held


@st.composite
def gathers(draw: st.DrawFn) -> tuple[LinearLayout, LinearLayout, int]:
    """Draw a source, and an index layout that differs along the axis and registers."""
    src = draw(layouts())
    axis = draw(st.integers(0, src.num_out_dims - 1))
    start = sum(src.out_bits[:axis])
    on_axis = ((1 << src.out_bits[axis]) - 1) << start
    columns = list(src.columns)
    count = src.in_bits[0]
    columns[:count] = draw(st.permutations(columns[:count]))
    if draw(st.booleans()):
        columns[count:] = [column & ~on_axis for column in columns[count:]]
    in_dims = dict(zip(src.in_names, src.in_bits, strict=True))
    index = LinearLayout.from_columns(in_dims, named(list(src.out_bits)), columns)
    return src, index, axis


@given(gathers())
def test_a_warp_that_gathers_holds_the_whole_axis(
    case: tuple[LinearLayout, LinearLayout, int],
) -> None:
    src, index, axis = case
    if not gather_is_warp_local(src, index, axis):
        return
    source = held_by_warp(src)
    for warp, elements in held_by_warp(index).items():
        for element in elements:
            for place in range(1 << src.out_bits[axis]):
                wanted = (*element[:axis], place, *element[axis + 1 :])
                assert wanted in source[warp]


BASES = {"register": [[2, 0]], "lane": [[1, 0]], "warp": [[0, 1]], "block": []}
OTHER = {"register": [[2, 0]], "lane": [[0, 1]], "warp": [[1, 0]], "block": []}


def test_the_axis_must_stay_in_the_warp() -> None:
    src = LinearLayout.from_bases(BASES, ["dim0", "dim1"])
    assert gather_is_warp_local(src, src, 0)
    assert not gather_is_warp_local(src, src, 1)


def test_warps_must_hold_the_same_columns() -> None:
    src = LinearLayout.from_bases(BASES, ["dim0", "dim1"])
    index = LinearLayout.from_bases(OTHER, ["dim0", "dim1"])
    assert not gather_is_warp_local(src, index, 0)


def test_lanes_must_hold_the_same_columns() -> None:
    moved = BASES | {"lane": [[0, 1]], "warp": [[0, 0]], "register": [[1, 0], [2, 0]]}
    src = LinearLayout.from_bases(
        BASES | {"warp": [[0, 0]], "register": [[2, 0], [0, 1]]}, ["dim0", "dim1"]
    )
    index = LinearLayout.from_bases(moved, ["dim0", "dim1"])
    assert not gather_is_warp_local(src, index, 0)


def test_sizes_along_the_axis_may_differ() -> None:
    src = LinearLayout.from_bases(BASES, ["dim0", "dim1"])
    index = LinearLayout.from_bases(BASES | {"register": []}, ["dim0", "dim1"])
    assert gather_is_warp_local(src, index, 0)


def test_mismatches_are_rejected() -> None:
    src = LinearLayout.from_bases(BASES, ["dim0", "dim1"])
    wider = LinearLayout.from_bases(BASES | {"register": [[0, 2]]}, ["dim0", "dim1"])
    longer = LinearLayout.from_bases({"register": [[1]]}, ["dim0"])
    for index in (wider, longer):
        with pytest.raises(DimMismatchError, match="same sizes in src and index"):
            gather_is_warp_local(src, index, 0)
    with pytest.raises(DimMismatchError):
        gather_is_warp_local(longer, longer, 0)
    with pytest.raises(OutOfRangeError):
        gather_is_warp_local(src, src, 2)
    memory = LinearLayout.identity_1d(2, "offset", "dim0")
    with pytest.raises(UnsupportedLayoutError):
        gather_is_warp_local(memory, memory, 0)
