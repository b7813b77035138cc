"""Axes that appear, grow and vanish."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.errors import (
    DimMismatchError,
    NotPowerOfTwoError,
    OutOfRangeError,
    UnsupportedLayoutError,
)
from algebra.layout import LinearLayout
from algebra.propagate.axis import broadcast, expand_dims, reduce


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
def test_reduce_undoes_expand_dims(layout: LinearLayout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, layout.num_out_dims))
    expanded = expand_dims(layout, axis)
    assert expanded.is_surjective
    assert reduce(expanded, axis) == layout.remove_zero_bases_along_dim("register")


@given(layouts(), st.data())
def test_reduce_keeps_the_other_coordinates(
    layout: LinearLayout, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, layout.num_out_dims - 1))
    reduced = reduce(layout, axis)
    assert reduced.is_surjective
    for in_dim in layout.in_names[1:]:
        rest = tuple(v[:axis] + v[axis + 1 :] for v in layout.bases[in_dim])
        assert reduced.bases[in_dim] == rest
    rest = tuple(v[:axis] + v[axis + 1 :] for v in layout.bases["register"])
    assert reduced.bases["register"] == tuple(v for v in rest if any(v))


@given(layouts(), st.data())
def test_reduce_undoes_broadcast(layout: LinearLayout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, layout.num_out_dims))
    expanded = expand_dims(layout, axis)
    shape = list(expanded.out_dims.values())
    shape[axis] = data.draw(st.sampled_from([1, 2, 8]))
    grown = broadcast(expanded, shape)
    assert grown.is_surjective
    assert list(grown.out_dims.values()) == shape
    assert reduce(grown, axis) == layout.remove_zero_bases_along_dim("register")


def test_broadcast_puts_the_last_dim_first() -> None:
    one = LinearLayout.from_bases({"register": []}, {"dim0": 1, "dim1": 1})
    grown = broadcast(one, [2, 4])
    assert grown.bases == {"register": ((0, 1), (0, 2), (1, 0))}


@pytest.mark.parametrize("shape", [[4], [8, 1], [2, 1], [4, 1, 1]])
def test_broadcast_of_a_larger_dim_is_rejected(shape: list[int]) -> None:
    layout = LinearLayout.from_bases(
        {"register": [[1, 0], [2, 0]]}, {"dim0": 4, "dim1": 1}
    )
    with pytest.raises(DimMismatchError, match="dims of size 1 only"):
        broadcast(layout, shape)


def test_broadcast_to_another_than_a_power_of_two_is_rejected() -> None:
    with pytest.raises(NotPowerOfTwoError):
        broadcast(LinearLayout.zeros_1d(1, "register", "dim0"), [3])


@pytest.mark.parametrize("axis", [-1, 2])
def test_expand_dims_out_of_range_is_rejected(axis: int) -> None:
    with pytest.raises(OutOfRangeError, match=f"axis={axis}"):
        expand_dims(LinearLayout.identity_1d(4, "lane", "dim0"), axis)


def test_memory_has_no_registers() -> None:
    layout = LinearLayout.zeros_1d(4, "offset", "dim0")
    for operation in (lambda one: reduce(one, 0), lambda one: broadcast(one, [2])):
        with pytest.raises(UnsupportedLayoutError, match="in-dim 'register'"):
            operation(layout)
