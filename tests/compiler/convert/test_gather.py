import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    DimMismatchError,
    LinearLayout,
    Proved,
    Refuted,
    UnsupportedLayoutError,
)
from algebra.encodings import Blocked
from compiler.convert.gather import Gather, plan_gather
from verify.strategies import surjections

ROWS = ["dim0", "dim1"]
BLOCKED = Blocked(
    size_per_thread=(1, 4), threads_per_warp=(4, 8), warps_per_cta=(4, 1), order=(1, 0)
).to_linear_layout([16, 32])


def right(found: Gather, seed: int) -> bool:
    places = 1 << len(found.dst.linear.columns)
    size = found.src.out_dims[found.dim]
    index = np.random.default_rng(seed).integers(0, size, places)
    return bool(np.array_equal(found.simulate(index), found.expected(index)))


def test_along_rows_that_lie_in_a_warp() -> None:
    found = plan_gather(BLOCKED, BLOCKED, "dim1")
    assert isinstance(found.prove(), Proved) and right(found, 1)
    assert found.counts["shfl"] == 16 and found.counts["selp"] == 12
    assert "shuffle: 4 registers" in found.explain()


def test_fewer_indices_than_elements() -> None:
    few = Blocked(
        size_per_thread=(1, 1),
        threads_per_warp=(4, 8),
        warps_per_cta=(4, 1),
        order=(1, 0),
    ).to_linear_layout([16, 8])
    found = plan_gather(BLOCKED, few, "dim1")
    assert isinstance(found.prove(), Proved) and right(found, 2)
    assert found.counts["shfl"] == 4


def test_other_warps_are_refused() -> None:
    with pytest.raises(UnsupportedLayoutError, match="another warp"):
        plan_gather(BLOCKED, BLOCKED, "dim0")


def test_rejected() -> None:
    with pytest.raises(DimMismatchError, match="dim9"):
        plan_gather(BLOCKED, BLOCKED, "dim9")
    small = LinearLayout.from_bases({"lane": [[1, 0], [0, 1]]}, ROWS)
    with pytest.raises(DimMismatchError, match="same threads"):
        plan_gather(BLOCKED, small, "dim1")
    half = LinearLayout.from_bases({"lane": [[0, 2]]}, {"dim0": 1, "dim1": 4}, False)
    with pytest.raises(UnsupportedLayoutError, match="every element"):
        plan_gather(half, half, "dim1")


def test_faults_are_refuted() -> None:
    found = plan_gather(BLOCKED, BLOCKED, "dim1")
    along = (found.along[1], found.along[0], *found.along[2:])
    wrong = Gather(found.src, found.dst, found.dim, found.device, found.source, along)
    assert isinstance(wrong.prove(), Refuted) and not right(wrong, 3)


@given(st.data())
def test_any_layouts_within_a_warp(data: st.DataObject) -> None:
    dims = {"dim0": data.draw(st.integers(0, 2)), "dim1": data.draw(st.integers(0, 3))}
    src = data.draw(surjections(5, 2, dims, ("register", "lane")))
    dst = data.draw(surjections(5, 2, dims, ("register", "lane")))
    lanes = max(side.in_dims.get("lane", 1) for side in (src, dst))
    src, dst = (
        side.resize_in_dim("lane", lanes) if side.has_in_dim("lane") else side
        for side in (src, dst)
    )
    if src.in_dims.get("lane", 1) != dst.in_dims.get("lane", 1):
        return
    for dim in ROWS:
        found = plan_gather(src, dst, dim)
        assert isinstance(found.prove(), Proved)
        assert right(found, 7)


def test_emission() -> None:
    text = plan_gather(BLOCKED, BLOCKED, "dim1").emit(name="pick").text
    assert "def pick(x, index):" in text and text.count("shfl.sync.idx") == 16
