"""Reshapes that keep blocked encodings blocked."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import Blocked, Cga
from algebra.errors import DimMismatchError
from algebra.propagate.blocked_reshape import default_blocked, reshape_blocked, runs
from algebra.propagate.reshape import reshape


@st.composite
def shape_pairs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Draw two shapes with as many elements."""
    total = draw(st.integers(0, 7))
    shapes = []
    for _ in range(2):
        left, shape = total, []
        for _ in range(draw(st.integers(0, 3))):
            bits = draw(st.integers(0, left))
            shape.append(1 << bits)
            left -= bits
        shapes.append([*shape, 1 << left])
    return shapes[0], shapes[1]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Blocked, list[int], list[int]]:
    """Draw an encoding, half of them row-major, with a reshape."""
    src, dst = draw(shape_pairs())
    rank = len(src)
    order = tuple(reversed(range(rank)))
    if draw(st.booleans()):
        order = tuple(draw(st.permutations(order)))

    def sizes(most: int) -> tuple[int, ...]:
        return tuple(1 << draw(st.integers(0, most)) for _ in range(rank))

    encoding = Blocked(
        size_per_thread=sizes(1),
        threads_per_warp=sizes(2),
        warps_per_cta=sizes(1),
        order=order,
    )
    return encoding, src, dst


@given(cases(), st.sampled_from(["3.8", "3.9"]))
def test_the_result_is_the_reshaped_layout(
    case: tuple[Blocked, list[int], list[int]], release: str
) -> None:
    encoding, src, dst = case
    moved = reshape_blocked(encoding, src, dst)
    if moved is not None:
        expected = reshape(encoding.to_linear_layout(src, release), dst)
        assert moved.to_linear_layout(dst, release) == expected


@given(cases())
def test_there_and_back(case: tuple[Blocked, list[int], list[int]]) -> None:
    encoding, src, dst = case
    moved = reshape_blocked(encoding, src, dst)
    if moved is not None:
        back = reshape_blocked(moved, dst, src)
        assert back is not None
        assert back.to_linear_layout(src) == encoding.to_linear_layout(src)


@given(shape_pairs())
def test_runs_cut_both_shapes_in_order(shapes: tuple[list[int], list[int]]) -> None:
    src, dst = shapes
    parts = runs(src, dst)
    assert [dim for old, _ in parts for dim in old] == list(range(len(src)))
    assert [dim for _, new in parts for dim in new] == list(range(len(dst)))
    for old, new in parts:
        assert prod(src[dim] for dim in old) == prod(dst[dim] for dim in new)


@given(
    shape_pairs(),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 32, 64]),
    st.sampled_from([1, 2, 4]),
)
def test_default_stays_default(
    shapes: tuple[list[int], list[int]], warps: int, threads: int, ctas: int
) -> None:
    src, dst = shapes
    encoding = default_blocked(src, warps, threads, ctas)
    assert prod(encoding.threads_per_warp) == threads
    assert prod(encoding.warps_per_cta) == warps
    assert len(encoding.cga.bases) == ctas.bit_length() - 1
    moved = reshape_blocked(encoding, src, dst)
    if ctas > prod(src) and src != dst:
        assert moved is None
        return
    assert moved is not None
    expected = reshape(encoding.to_linear_layout(src), dst)
    assert moved.to_linear_layout(dst) == expected


def test_a_cluster_is_not_reshaped() -> None:
    encoding = Blocked(
        size_per_thread=(2,),
        threads_per_warp=(32,),
        warps_per_cta=(1,),
        order=(0,),
        cga=Cga(bases=((1,),)),
    )
    assert reshape_blocked(encoding, [128], [64, 2]) is None
    assert reshape_blocked(encoding, [128], [128]) is encoding


@pytest.mark.parametrize(
    ("size_per_thread", "threads_per_warp", "order"),
    [
        ((1, 2), (8, 4), (0, 1)),
        ((2, 2), (1, 32), (1, 0)),
        ((1, 8), (4, 8), (1, 0)),
    ],
)
def test_gaps_and_columns_are_refused(
    size_per_thread: tuple[int, ...],
    threads_per_warp: tuple[int, ...],
    order: tuple[int, ...],
) -> None:
    encoding = Blocked(
        size_per_thread=size_per_thread,
        threads_per_warp=threads_per_warp,
        warps_per_cta=(1, 1),
        order=order,
    )
    assert reshape_blocked(encoding, [32, 32], [1024]) is None


def test_no_dims() -> None:
    encoding = default_blocked([1], 4, 32)
    assert reshape_blocked(encoding, [1], []) is None


def test_another_number_of_elements_is_rejected() -> None:
    with pytest.raises(DimMismatchError, match="keeps the number of elements"):
        runs([4], [8])
