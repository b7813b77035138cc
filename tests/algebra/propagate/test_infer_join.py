"""Encodings of join, split and fp4_to_fp."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import (
    AmdMfma,
    Blocked,
    Cga,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    Slice,
    SwizzledShared,
)
from algebra.errors import OutOfRangeError, UnsupportedLayoutError
from algebra.propagate.infer_join import infer_fp4_to_fp, infer_join, infer_split
from algebra.propagate.join import fp4_to_fp, join, split

MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
MFMA = AmdMfma(
    version=3, warps_per_cta=(2, 2), instr_shape=(16, 16, 16), is_transposed=True
)
SHARED = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(1, 0))


def sizes(draw: st.DrawFn, rank: int, most: int) -> tuple[int, ...]:
    return tuple(1 << draw(st.integers(0, most)) for _ in range(rank))


@st.composite
def blocked(draw: st.DrawFn, rank: int) -> Blocked:
    """Draw a blocked encoding, of a cluster of up to 2 CTAs."""
    basis = [0] * rank
    basis[draw(st.integers(0, rank - 1))] = 1
    return Blocked(
        size_per_thread=sizes(draw, rank, 2),
        threads_per_warp=sizes(draw, rank, 2),
        warps_per_cta=sizes(draw, rank, 1),
        order=tuple(draw(st.permutations(range(rank)))),
        cga=Cga(bases=(tuple(basis),)) if draw(st.booleans()) else Cga(),
    )


SHAPES = st.lists(st.sampled_from([2, 4, 16]), min_size=2, max_size=2)
RELEASES = st.sampled_from(["3.6", "3.8", "3.9"])


@given(blocked(2), SHAPES, RELEASES)
def test_blocked_joins_to_blocked_and_back(
    encoding: Blocked, shape: list[int], release: str
) -> None:
    joined = infer_join(encoding, shape, release)
    whole = [*shape, 2]
    assert isinstance(joined, Blocked)
    expected = join(encoding.to_linear_layout(shape, release))
    assert joined.to_linear_layout(whole, release) == expected
    assert infer_split(joined, whole, release) == encoding


@given(blocked(3), SHAPES, RELEASES)
def test_split_of_any_blocked_follows_its_layout(
    encoding: Blocked, shape: list[int], release: str
) -> None:
    whole = [*shape, 2]
    layout = encoding.to_linear_layout(whole, release)
    try:
        expected = split(layout)
    except UnsupportedLayoutError:
        with pytest.raises(UnsupportedLayoutError):
            infer_split(encoding, whole, release)
        return
    halves = infer_split(encoding, whole, release)
    assert halves.to_linear_layout(shape, release) == expected


@given(blocked(3), SHAPES, RELEASES)
def test_join_of_a_slice_splits_back_to_it(
    parent: Blocked, shape: list[int], release: str
) -> None:
    encoding = Slice(dim=2, parent=parent)
    whole = [*shape, 2]
    joined = infer_join(encoding, shape, release)
    halves = split(joined.to_linear_layout(whole, release))
    layout = encoding.to_linear_layout(shape, release)
    if release == "3.9":
        halves = halves.remove_zero_bases_along_dim("register")
    assert halves == layout


@given(blocked(2), SHAPES, RELEASES, st.integers(0, 1))
def test_fp4_to_fp_of_blocked_follows_its_layout(
    encoding: Blocked, shape: list[int], release: str, axis: int
) -> None:
    unpacked = infer_fp4_to_fp(encoding, shape, axis, release)
    layout = fp4_to_fp(encoding.to_linear_layout(shape, release), axis)
    assert unpacked.to_linear_layout(list(layout.out_dims.values()), release) == layout
    if encoding.order[0] == axis and not encoding.cga.bases:
        assert isinstance(unpacked, Blocked)


@pytest.mark.parametrize("encoding", [MMA, MFMA, Slice(dim=0, parent=MMA)])
def test_matrix_encodings_become_linear(encoding: Encoding) -> None:
    shape = [64, 64][: encoding.rank]
    layout = encoding.to_linear_layout(shape)
    joined = infer_join(encoding, shape)
    assert isinstance(joined, Linear)
    assert joined.to_linear_layout([*shape, 2]) == join(layout)
    halves = infer_split(joined, [*shape, 2])
    assert isinstance(halves, Linear)
    assert halves.to_linear_layout(shape) == layout
    assert isinstance(infer_fp4_to_fp(encoding, shape, 0), Linear)


@pytest.mark.parametrize(
    ("parent", "op_idx"), [(MMA, 0), (MMA, 1), (MFMA, 0), (MFMA, 1)]
)
def test_a_dot_operand_doubles_its_width_along_k(
    parent: NvidiaMma | AmdMfma, op_idx: int
) -> None:
    operand = DotOperand(op_idx=op_idx, parent=parent, k_width=4)
    k = operand.k_dim
    unpacked = infer_fp4_to_fp(operand, [64, 64], k)
    assert unpacked == DotOperand(op_idx=op_idx, parent=parent, k_width=8)
    assert isinstance(infer_fp4_to_fp(operand, [64, 64], 1 - k), Linear)


def test_a_dot_operand_of_blocked_stays_along_a_fast_k() -> None:
    for order, kind in (((1, 0), DotOperand), ((0, 1), Linear)):
        parent = Blocked(
            size_per_thread=(2, 4),
            threads_per_warp=(4, 8),
            warps_per_cta=(2, 2),
            order=order,
        )
        operand = DotOperand(op_idx=0, parent=parent)
        assert isinstance(infer_fp4_to_fp(operand, [64, 64], 1), kind)


def test_a_slice_of_what_cannot_be_split_becomes_linear() -> None:
    parent = Blocked(
        size_per_thread=(1, 1),
        threads_per_warp=(16, 2),
        warps_per_cta=(1, 1),
        order=(1, 0),
    )
    assert isinstance(infer_join(Slice(dim=1, parent=parent), [64]), Linear)


@pytest.mark.parametrize("release", ["3.8", "3.9"])
def test_a_slice_with_copies_returns_its_parent_in_3_9_only(release: str) -> None:
    mma = NvidiaMma(version=(3, 0), warps_per_cta=(4, 4), instr_shape=(16, 16, 16))
    joined = infer_join(Slice(dim=1, parent=mma), [128], release)
    assert (joined == mma) == (release == "3.9")


def test_memory_is_rejected() -> None:
    with pytest.raises(UnsupportedLayoutError):
        infer_join(SHARED, [4, 4])
    with pytest.raises(UnsupportedLayoutError):
        infer_split(SHARED, [4, 2])
    with pytest.raises(UnsupportedLayoutError):
        infer_fp4_to_fp(SHARED, [4, 4], 0)


def test_other_mistakes() -> None:
    with pytest.raises(UnsupportedLayoutError, match="last dim of size 2"):
        infer_split(MMA, [64, 64])
    with pytest.raises(OutOfRangeError):
        infer_fp4_to_fp(MMA, [64, 64], 2)
