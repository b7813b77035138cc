"""Transpose: a permutation of coordinates, on layouts and on encodings."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.dims import HARDWARE_DIMS, standard_out_dim_names
from algebra.encodings import (
    AmdRotatingShared,
    Blocked,
    Cga,
    Encoding,
    Linear,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    TensorMemory,
)
from algebra.errors import DimMismatchError, UnsupportedLayoutError
from algebra.layout import LinearLayout
from algebra.propagate.transpose import infer_trans, trans


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


SPLIT = Cga(bases=((0, 1), (1, 0)))
BLOCKED = Blocked(
    size_per_thread=(1, 4),
    threads_per_warp=(4, 8),
    warps_per_cta=(2, 2),
    order=(1, 0),
    cga=SPLIT,
)
BLOCKED_3D = Blocked(
    size_per_thread=(1, 2, 4),
    threads_per_warp=(4, 2, 4),
    warps_per_cta=(2, 2, 1),
    order=(1, 2, 0),
)
MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
NVMMA = NvmmaShared(swizzle_byte_width=32, element_bit_width=16, cga=SPLIT)
NVMMA_3D = NvmmaShared(swizzle_byte_width=64, element_bit_width=16, rank=3)
PADDED = PaddedShared.with_identity(
    intervals=(32,), paddings=(4,), shape=(16, 32), order=(1, 0)
)
SWIZZLED = SwizzledShared(vec=2, per_phase=1, max_phase=4, order=(1, 0), cga=SPLIT)
ROTATING = AmdRotatingShared(vec=2, per_phase=1, max_phase=4, order=(1, 0))
SHARED = SharedLinear(offset=((0, 1), (1, 1), (2, 0)), alignment=128)

CASES: list[tuple[Encoding, tuple[int, ...], tuple[int, ...], type[object]]] = [
    (BLOCKED, (32, 64), (1, 0), Blocked),
    (BLOCKED_3D, (16, 8, 32), (2, 0, 1), Blocked),
    (Slice(dim=1, parent=BLOCKED_3D), (16, 32), (1, 0), Linear),
    (MMA, (64, 32), (1, 0), Linear),
    (SWIZZLED, (32, 64), (1, 0), SwizzledShared),
    (ROTATING, (32, 64), (1, 0), AmdRotatingShared),
    (NVMMA, (64, 64), (1, 0), NvmmaShared),
    (NVMMA_3D, (2, 16, 64), (1, 2, 0), SharedLinear),
    (PADDED, (16, 32), (1, 0), PaddedShared),
    (SHARED, (4, 2), (1, 0), SharedLinear),
]


@pytest.mark.parametrize(("encoding", "shape", "order", "kind"), CASES)
@pytest.mark.parametrize("release", ["3.8", "3.9"])
def test_encodings_follow_their_layouts(
    encoding: Encoding,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    kind: type[object],
    release: str,
) -> None:
    moved = infer_trans(encoding, shape, order, release)
    expected = trans(encoding.to_linear_layout(shape, release), order)
    assert isinstance(moved, kind)
    permuted = [shape[dim] for dim in order]
    assert moved.to_linear_layout(permuted, release) == expected
    inverse = sorted(range(len(order)), key=order.__getitem__)
    back = infer_trans(moved, permuted, inverse, release)
    assert back.to_linear_layout(shape, release) == encoding.to_linear_layout(
        shape, release
    )


@pytest.mark.parametrize("encoding", [MMA, TensorMemory(block_m=128, block_n=64)])
def test_the_identity_keeps_every_encoding(encoding: Encoding) -> None:
    assert infer_trans(encoding, (128, 64), (0, 1)) is encoding


def test_paddings_and_alignment_are_kept() -> None:
    padded = infer_trans(PADDED, (16, 32), (1, 0))
    shared = infer_trans(SHARED, (4, 2), (1, 0))
    swizzled = infer_trans(NVMMA_3D, (2, 16, 64), (1, 2, 0))
    assert isinstance(padded, PaddedShared)
    assert (padded.intervals, padded.paddings) == ((32,), (4,))
    assert isinstance(shared, SharedLinear)
    assert shared.alignment == 128
    assert isinstance(swizzled, SharedLinear)
    assert swizzled.alignment == 512


def test_tensor_memory_cannot_be_transposed() -> None:
    memory = TensorMemory(block_m=128, block_n=64)
    with pytest.raises(UnsupportedLayoutError, match="copy the tensor there first"):
        infer_trans(memory, (128, 64), (1, 0))


def test_an_order_of_another_rank_is_rejected() -> None:
    with pytest.raises(DimMismatchError):
        infer_trans(MMA, (64, 32), (2, 1, 0))
