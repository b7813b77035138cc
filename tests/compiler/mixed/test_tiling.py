from typing import Any

import pytest

from algebra.errors import DimMismatchError, OutOfRangeError
from compiler.mixed.formats import FORMATS
from compiler.mixed.tiling import Problem, Tiling


def problem(**changes: Any) -> Problem:
    given: dict[str, Any] = {
        "format": FORMATS["int4"],
        "target": "bf16",
        "n": 100,
        "k": 512,
        "group": 128,
    }
    return Problem(**given | changes)


def test_bytes_of_a_problem() -> None:
    assert problem().row_tiles == 7
    assert problem().weight_bytes == 112 * (256 + 4 * 2)
    assert problem(zeros=True).weight_bytes == 112 * (256 + 4 * 4)
    assert problem(format=FORMATS["mxfp4"], group=32).weight_bytes == 112 * (256 + 16)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"k": 500, "group": 500}, "units of 64"),
        ({"group": 96}, "group=96"),
        ({"group": 16}, "group=16"),
        ({"n": 0}, "n=0"),
        ({"k": 192, "group": 128}, "k=192"),
    ],
)
def test_problems_that_do_not_fit(changes: dict[str, int], match: str) -> None:
    with pytest.raises(DimMismatchError, match=match):
        problem(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 4},
        {"rows": 12},
        {"depth": 16},
        {"warps_k": 64},
        {"splits": 0},
        {"ahead": -1},
    ],
)
def test_tilings_that_there_are_not(changes: dict[str, Any]) -> None:
    with pytest.raises(OutOfRangeError, match=next(iter(changes))):
        Tiling(**{"rows": 8} | changes)


@pytest.mark.parametrize("other", [{"splits": 2}, {"copied": True}])
def test_programs_that_keep_activations_do_nothing_else(other: dict[str, Any]) -> None:
    with pytest.raises(OutOfRangeError, match="programs=3"):
        Tiling(rows=8, programs=3, **other)
    with pytest.raises(OutOfRangeError, match="programs=-1"):
        Tiling(rows=8, programs=-1)


def test_kept_activations_are_all_of_them() -> None:
    Tiling(rows=8, warps_k=4, depth=128, programs=2).check(problem())
    with pytest.raises(DimMismatchError, match="warps_k=2, depth=128, k=512"):
        Tiling(rows=8, warps_k=2, depth=128, programs=2).check(problem())


@pytest.mark.parametrize(
    "other",
    [
        {"warps_k": 2},
        {"warps_n": 2},
        {"rows": 512},
        {"stages": 3},
        {"copied": True},
        {"programs": 2},
    ],
)
def test_wgmma_needs_whole_warpgroups(other: dict[str, Any]) -> None:
    with pytest.raises(OutOfRangeError, match=r"wgmma needs|programs must"):
        Tiling(**{"rows": 64, "warps_k": 1, "warps_n": 4, "wgmma": True} | other)


def test_activations_must_fit_into_shared_memory() -> None:
    fits: dict[str, Any] = {"rows": 128, "warps_k": 1, "warps_n": 4, "wgmma": True}
    Tiling(**fits, depth=128).check(problem())
    with pytest.raises(DimMismatchError, match="rows=256, depth=128"):
        Tiling(**fits | {"rows": 256}, depth=128).check(problem())


def test_depth_must_fit() -> None:
    with pytest.raises(DimMismatchError, match="depth=32"):
        Tiling(rows=8, depth=32).check(problem())
    with pytest.raises(DimMismatchError, match="depth=1024"):
        Tiling(rows=8, depth=1024).check(problem())
    Tiling(rows=8, depth=64).check(problem(k=192, group=192))


def test_shared_memory_must_do() -> None:
    large = Tiling(rows=64, row_tiles=8, warps_k=8)
    with pytest.raises(DimMismatchError, match="shared memory"):
        large.check(problem())


def test_copies_must_fit() -> None:
    large = problem(n=4096, k=8192, group=128)
    cut: dict[str, Any] = {"rows": 8, "row_tiles": 4, "warps_k": 16}
    with pytest.raises(DimMismatchError, match="262144 for stages=4"):
        Tiling(**cut, copied=True).check(large)
    Tiling(**cut, stages=2, copied=True).check(large)
    Tiling(**cut).check(large)


def test_steps_and_tiles() -> None:
    tiling = Tiling(rows=8, row_tiles=2, warps_n=2, warps_k=2, depth=64, splits=3)
    assert tiling.columns == 64
    assert tiling.tiles(problem()) == 2
    assert tiling.steps(problem()) == 2
