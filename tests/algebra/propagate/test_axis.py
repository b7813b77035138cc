"""Axes that appear, grow and vanish."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.encodings import Blocked, NvidiaMma, Slice
from algebra.errors import (
    DimMismatchError,
    EncodingError,
    NotPowerOfTwoError,
    OutOfRangeError,
    UnsupportedLayoutError,
)
from algebra.layout import LinearLayout
from algebra.propagate.axis import (
    broadcast,
    expand_dims,
    infer_broadcast,
    infer_expand_dims,
    infer_reduce,
    reduce,
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
    with pytest.raises(UnsupportedLayoutError, match="in-dim 'register'"):
        reduce(layout, 0)
    with pytest.raises(UnsupportedLayoutError, match="in-dim 'register'"):
        broadcast(layout, [2])


MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
BLOCKED = Blocked(
    size_per_thread=(1, 2, 4),
    threads_per_warp=(4, 2, 4),
    warps_per_cta=(2, 2, 1),
    order=(1, 2, 0),
)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_reduction_is_a_slice_that_expands_to_its_parent(axis: int) -> None:
    reduced = infer_reduce(BLOCKED, axis)
    assert reduced == Slice(dim=axis, parent=BLOCKED)
    assert infer_expand_dims(reduced, axis) == BLOCKED
    shape = [16, 8, 32]
    layout = reduce(BLOCKED.to_linear_layout(shape), axis)
    assert reduced.to_linear_layout(shape[:axis] + shape[axis + 1 :]) == layout


@pytest.mark.parametrize("encoding", [MMA, Slice(dim=1, parent=MMA)])
def test_expand_dims_needs_the_slice_of_its_axis(encoding: NvidiaMma | Slice) -> None:
    with pytest.raises(EncodingError, match=r"needs an operand with Slice\(dim=0"):
        infer_expand_dims(encoding, 0)


def test_reduce_needs_an_axis_of_the_encoding() -> None:
    with pytest.raises(EncodingError, match="dim below its rank"):
        infer_reduce(MMA, 2)


def test_broadcast_keeps_the_encoding() -> None:
    assert infer_broadcast(MMA, (64, 1), (64, 32)) is MMA


@pytest.mark.parametrize("shape", [(32, 32), (64, 32, 1)])
def test_infer_broadcast_of_a_larger_dim_is_rejected(shape: tuple[int, ...]) -> None:
    with pytest.raises(DimMismatchError, match="dims of size 1 only"):
        infer_broadcast(MMA, (64, 1), shape)
