"""Reshape: row-major positions are kept."""

from itertools import pairwise
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.encodings import Blocked, Encoding, Linear, NvidiaMma, Slice
from algebra.errors import DimMismatchError, EncodingError, NotPowerOfTwoError
from algebra.layout import LinearLayout
from algebra.propagate.reshape import infer_reshape, reshape


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


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[LinearLayout, list[int]]:
    """Draw a layout and a new shape with as many elements."""
    layout = draw(layouts())
    left = layout.get_total_out_dim_size_log2()
    shape = []
    for _ in range(draw(st.integers(0, 3))):
        bits = draw(st.integers(0, left))
        shape.append(1 << bits)
        left -= bits
    return layout, [*shape, 1 << left]


def position(point: dict[str, int], shape: list[int]) -> int:
    """Return the row-major position of a point, dim0 the slowest."""
    place = 0
    for coordinate, size in zip(point.values(), shape, strict=True):
        place = place * size + coordinate
    return place


@given(reshapes(), st.data())
def test_row_major_positions_are_kept(
    case: tuple[LinearLayout, list[int]], data: st.DataObject
) -> None:
    layout, shape = case
    moved = reshape(layout, shape)
    old = list(layout.out_dims.values())
    point = {
        name: data.draw(st.integers(0, size - 1))
        for name, size in layout.in_dims.items()
    }
    assert position(moved(point), shape) == position(layout(point), old)


@given(reshapes())
def test_back_to_the_old_shape_is_the_identity(
    case: tuple[LinearLayout, list[int]],
) -> None:
    layout, shape = case
    assert reshape(reshape(layout, shape), list(layout.out_dims.values())) == layout


@given(reshapes())
def test_surjective_stays_surjective(case: tuple[LinearLayout, list[int]]) -> None:
    layout, shape = case
    moved = reshape(layout, shape)
    assert moved.is_surjective
    assert moved.get_total_out_dim_size() == prod(shape)


def test_no_dims() -> None:
    one = LinearLayout.zeros_1d(2, "lane", "dim0")
    assert reshape(reshape(one, []), [1]) == one


def test_another_number_of_elements_is_rejected() -> None:
    layout = LinearLayout.identity_1d(8, "lane", "dim0")
    with pytest.raises(DimMismatchError, match=r"needed 8, got 4 from shape=\[2, 2\]"):
        reshape(layout, [2, 2])


def test_sizes_must_be_powers_of_two() -> None:
    with pytest.raises(NotPowerOfTwoError, match="size of the new shape"):
        reshape(LinearLayout.identity_1d(8, "lane", "dim0"), [3, 2])


ROWS = Blocked(
    size_per_thread=(1, 4),
    threads_per_warp=(4, 8),
    warps_per_cta=(2, 1),
    order=(1, 0),
)
COLUMNS = Blocked(
    size_per_thread=(2, 2),
    threads_per_warp=(4, 8),
    warps_per_cta=(2, 1),
    order=(0, 1),
)
MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))


@pytest.mark.parametrize("release", ["3.8", "3.9"])
def test_blocked_stays_blocked_where_it_can(release: str) -> None:
    moved = infer_reshape(ROWS, (8, 32), (256,), release)
    assert isinstance(moved, Blocked)
    expected = reshape(ROWS.to_linear_layout((8, 32), release), (256,))
    assert moved.to_linear_layout((256,), release) == expected


@pytest.mark.parametrize("encoding", [COLUMNS, MMA])
def test_other_encodings_become_linear(encoding: Blocked | NvidiaMma) -> None:
    moved = infer_reshape(encoding, (64, 32), (16, 128))
    assert isinstance(moved, Linear)
    expected = reshape(encoding.to_linear_layout((64, 32)), (16, 128))
    assert moved.to_linear_layout((16, 128)) == expected


@pytest.mark.parametrize(
    ("encoding", "src", "dst", "result"),
    [
        (ROWS, (1, 32), (32,), Slice(dim=0, parent=ROWS)),
        (ROWS, (32, 1), (32,), Slice(dim=1, parent=ROWS)),
        (ROWS, (1, 1), (1,), Slice(dim=0, parent=ROWS)),
        (Slice(dim=0, parent=ROWS), (32,), (1, 32), ROWS),
        (Slice(dim=1, parent=ROWS), (32,), (32, 1), ROWS),
    ],
)
def test_release_3_9_slices_dims_of_size_one(
    encoding: Encoding, src: tuple[int, ...], dst: tuple[int, ...], result: Encoding
) -> None:
    assert infer_reshape(encoding, src, dst, "3.9") == result
    assert infer_reshape(encoding, src, dst, "3.8") != result


@pytest.mark.parametrize(
    ("encoding", "src", "dst"),
    [
        (Slice(dim=0, parent=ROWS), (32,), (32, 1)),
        (Slice(dim=0, parent=ROWS), (32,), (32,)),
        (infer_reshape(MMA, (1, 32), (32, 1)), (32, 1), (32,)),
        (MMA, (32, 1), (32,)),
        (MMA, (1, 1), ()),
    ],
)
def test_release_3_9_does_not_slice_what_does_not_fit(
    encoding: Encoding, src: tuple[int, ...], dst: tuple[int, ...]
) -> None:
    if not dst:
        with pytest.raises(EncodingError):
            infer_reshape(encoding, src, dst)
        return
    moved = infer_reshape(encoding, src, dst, "3.9")
    assert isinstance(moved, Linear)
    assert moved.to_linear_layout(dst) == reshape(encoding.to_linear_layout(src), dst)


def test_infer_rejects_another_number_of_elements() -> None:
    with pytest.raises(DimMismatchError, match="keeps the number of elements"):
        infer_reshape(ROWS, (8, 32), (128,))
