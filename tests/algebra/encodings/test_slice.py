"""Slices: the parent's layout with one dim gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import Blocked, Cga, NvidiaMma, Slice
from algebra.errors import EncodingError

POWER = st.sampled_from([1, 2, 4])
SIZES = st.tuples(POWER, POWER, POWER)


@given(SIZES, SIZES, SIZES, st.permutations(range(3)), st.integers(0, 2), SIZES)
def test_is_the_parent_without_the_dim(
    thread: tuple[int, ...],
    lanes: tuple[int, ...],
    warps: tuple[int, ...],
    order: list[int],
    dim: int,
    sizes: tuple[int, ...],
) -> None:
    parent = Blocked(
        size_per_thread=thread,
        threads_per_warp=lanes,
        warps_per_cta=warps,
        order=tuple(order),
    )
    full = [*sizes[:dim], 1, *sizes[dim + 1 :]]
    shape = full[:dim] + full[dim + 1 :]
    layout = Slice(dim=dim, parent=parent).to_linear_layout(shape, "3.8")
    expected = parent.to_linear_layout(full, "3.8").squeeze_outs(f"dim{dim}")
    expected = expected.remove_zero_bases_along_dim("register")
    assert layout.columns == expected.columns
    assert layout.in_dims == expected.in_dims
    assert list(layout.out_dims) == ["dim0", "dim1"]


def mma() -> NvidiaMma:
    return NvidiaMma(
        version=(2, 0),
        warps_per_cta=(1, 1),
        instr_shape=(16, 8),
        cga=Cga(bases=((1, 0), (0, 1))),
    )


def test_slice_of_a_slice_and_its_cga() -> None:
    blocked = Blocked(
        size_per_thread=(1, 1, 2),
        threads_per_warp=(2, 2, 2),
        warps_per_cta=(1, 1, 1),
        order=(2, 1, 0),
    )
    inner = Slice(dim=0, parent=Slice(dim=1, parent=blocked))
    assert inner.rank == 1
    assert inner.to_linear_layout([4]).bases["lane"] == ((2,), (0,), (0,))
    assert Slice(dim=1, parent=mma()).cga == Cga(bases=((1,), (0,)))


def test_lanes_of_the_missing_dim_hold_copies() -> None:
    layout = Slice(dim=1, parent=mma()).to_linear_layout([32])
    assert layout.bases["lane"] == ((0,), (0,), (1,), (2,), (4,))
    assert layout.bases["block"] == ((16,), (0,))


@pytest.mark.parametrize("dim", [2, 7])
def test_a_dim_that_the_parent_does_not_have(dim: int) -> None:
    with pytest.raises(EncodingError, match="choose one of the parent's dims"):
        Slice(dim=dim, parent=mma())


def test_the_last_dim_stays() -> None:
    with pytest.raises(EncodingError, match="rank >= 2"):
        Slice(dim=0, parent=Slice(dim=0, parent=mma()))


def test_a_dim_that_is_no_number() -> None:
    with pytest.raises(EncodingError, match="dim=-1"):
        Slice(dim=-1, parent=mma())
