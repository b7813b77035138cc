import statistics
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    AffineLayout,
    DimMismatchError,
    LinearLayout,
    NotSolvableError,
    OutOfRangeError,
    Proved,
    UnsupportedLayoutError,
)
from compiler.convert import plan, plans
from compiler.convert.plan import Plan, way
from verify.oracle.random_conversions import random_pairs
from verify.strategies import surjections

Pair = tuple[LinearLayout, LinearLayout, int]
Flat = Callable[..., LinearLayout]

WAYS = {
    "nothing": "no-op",
    "registers": "registers",
    "fp8 P to A": "select, shuffle, select",
    "two exchanges": "store, barrier, load",
    "bytes of one word": "select, shuffle, select",
    "lanes only": "shuffle",
    "bytes transposed": "select, shuffle, select, store, barrier, load",
    "repetitions": "store, barrier, load",
    "matrices": "store, barrier, load",
    "copies": "registers, select, shuffle, select, registers",
    "blocks": "store, barrier, load",
}
WAYS_80 = {"bytes transposed": "store, barrier, load, select, shuffle, select"}
"""Without stmatrix."""


def holds(found: Plan) -> bool:
    assert isinstance(found.prove(), Proved), found.prove()
    return bool(np.array_equal(found.simulate(), found.expected()))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_ways(pairs: dict[str, Pair], name: str, target: str) -> None:
    found = plan(*pairs[name], target)
    wanted = WAYS[name] if target != "sm_80" else WAYS_80.get(name, WAYS[name])
    assert wanted in found.way or name == "copies"
    assert holds(found)
    if target == "sm_90":  # the bounds that it shows take seconds to check
        assert found.explain().startswith(f"plan for {target}")


def test_fp8_p_to_a_takes_eight_shuffles_and_no_plan_takes_less(
    pairs: dict[str, Pair],
) -> None:
    found = plan(*pairs["fp8 P to A"])
    assert found.counts["shfl"] == found.least_shuffles == 8
    assert found.counts["prmt"] == 8 and found.counts["selp"] == 8
    assert "at least: 8 (reached)" in found.explain()


def test_thirty_one_barriers_become_three_within_32_kib(
    pairs: dict[str, Pair],
) -> None:
    found = plan(*pairs["repetitions"])
    assert found.counts["bar.sync"] == 3
    assert found.shared_bytes == 32 * 1024
    small = plan(*pairs["repetitions"], shared_bytes=16 * 1024)
    assert small.counts["bar.sync"] == 7 and small.shared_bytes == 16 * 1024
    assert holds(small)


def test_lanes_only_cost_one_shuffle_a_register(pairs: dict[str, Pair]) -> None:
    counts = plan(*pairs["lanes only"]).counts
    assert counts["shfl"] == 4 and not counts.get("selp")


def test_64_lanes(make_flat: Flat) -> None:
    lanes = [1, 2, 4, 8, 16, 32]
    src, dst = make_flat([64], lanes), make_flat([1], [64, *lanes[1:]])
    found = plan(src, dst, 32, "gfx942")
    assert found.way == "select, shuffle, select" and holds(found)


def test_flip_is_an_affine_conversion(make_flat: Flat) -> None:
    layout = make_flat([1, 2], [4, 8, 16, 32, 64], [128])
    within = plan(layout, AffineLayout(layout, {"dim0": 127}), 8)
    assert within.counts["shfl"] == 1 and holds(within)
    across = plan(AffineLayout(layout, {"dim0": 255}), layout, 8)
    assert across.way == "store, barrier, load, select" and holds(across)


def test_out_dims_may_come_in_another_order(pairs: dict[str, Pair]) -> None:
    src, dst, bits = pairs["matrices"]
    turned = dst.transpose_outs(list(reversed(dst.out_names)))
    assert plan(src, turned, bits).steps == plan(src, dst, bits).steps


def test_other_ways_are_remembered_and_not_cheaper(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["two exchanges"])
    assert found.rejected
    assert "dearer" in found.explain()


def test_narrow_ways_are_known(pairs: dict[str, Pair]) -> None:
    bytes_alone = plans(*pairs["bytes transposed"])
    assert any(one.is_narrow for one in bytes_alone) and not bytes_alone[0].is_narrow
    assert not plan(*pairs["matrices"]).is_narrow


def test_way_names_each_run_once(pairs: dict[str, Pair]) -> None:
    assert way(plan(*pairs["repetitions"]).steps) == "store, barrier, load"


@pytest.mark.parametrize("element_bits", [0, 4, 12, 256])
def test_widths_without_a_plan(pairs: dict[str, Pair], element_bits: int) -> None:
    src, dst, _ = pairs["nothing"]
    with pytest.raises(OutOfRangeError, match="element_bits"):
        plan(src, dst, element_bits)


def test_rejected(pairs: dict[str, Pair], make_flat: Flat) -> None:
    src, dst, _ = pairs["nothing"]
    with pytest.raises(UnsupportedLayoutError, match="target"):
        plan(src, dst, 16, "sm_1")
    with pytest.raises(UnsupportedLayoutError, match="offset"):
        plan(LinearLayout.identity_1d(4, "offset", "dim0"), src, 16)
    with pytest.raises(DimMismatchError, match="lane"):
        plan(make_flat([1], [2]), make_flat([1, 2], []), 16)
    with pytest.raises(DimMismatchError, match="same tensor"):
        plan(make_flat([1], [2]), make_flat([1], [4]), 16)
    with pytest.raises(NotSolvableError, match="no preimage"):
        plan(make_flat([0, 2], []), make_flat([1, 2], []), 16)


@given(st.data())
def test_any_two_surjections(data: st.DataObject) -> None:
    dims = {"dim0": data.draw(st.integers(0, 6))}
    names = ("register", "lane", "warp")
    src = data.draw(surjections(6, 3, dims, names))
    dst = data.draw(surjections(6, 3, dims, names))
    for dim in ("lane", "warp"):
        sizes = [s.in_dims.get(dim, 1) for s in (src, dst)]
        src, dst = (
            s.resize_in_dim(dim, max(sizes)) if s.has_in_dim(dim) else s
            for s in (src, dst)
        )
        if src.in_dims.get(dim, 1) != dst.in_dims.get(dim, 1):
            return
    bits = data.draw(st.sampled_from([8, 16, 32, 64, 128]))
    assert holds(plan(src, dst, bits))


def check(seed: int, count: int) -> Counter[str]:
    """Plan, prove and simulate random pairs; count what they are."""
    counts: Counter[str] = Counter()
    seconds = []
    for pair in random_pairs(seed, count):
        start = time.perf_counter()
        found = plan(pair.src, pair.dst, pair.element_bits)
        seconds.append(time.perf_counter() - start)
        assert holds(found), pair
        counts["pairs"] += 1
        counts["mixing warps"] += pair.mixes_warps
        counts["with broadcast"] += pair.has_broadcast
        counts["not bit permutations"] += not pair.permutes_bits
        counts[f"{pair.element_bits} bits"] += 1
        for kind in pair.kinds:
            counts[kind] += 1
        counts[f"by {found.way}"] += 1
    counts["median microseconds"] = round(statistics.median(seconds) * 1e6)
    return counts


def test_random_pairs() -> None:
    assert check(0, 200)["pairs"] == 200


@pytest.mark.slow
def test_five_thousand_random_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    counts = check(2026, 5000)
    with capsys.disabled():
        print()
        for name, number in sorted(counts.items()):
            print(f"  {number:6} {name}")
    assert counts["mixing warps"] >= 1500
    assert counts["with broadcast"] >= 1500
    assert counts["not bit permutations"] >= 1000
    assert counts["median microseconds"] < 5000


def test_families_are_named(pairs: dict[str, Pair]) -> None:
    with pytest.raises(OutOfRangeError, match="family must be one of"):
        plans(*pairs["nothing"], family="all")


@pytest.mark.parametrize("number", [0, -2])
def test_numbers_that_cannot_be(pairs: dict[str, Pair], number: int) -> None:
    src, dst, bits = pairs["repetitions"]
    with pytest.raises(OutOfRangeError, match=f"got resident_warps={number};"):
        plan(src, dst, bits, resident_warps=number)
    with pytest.raises(OutOfRangeError, match=f"got shared_bytes={number - 1};"):
        plan(src, dst, bits, shared_bytes=number - 1)


def test_ptx_needs_a_target_that_has_it() -> None:
    lanes = [[1 << bit] for bit in range(1, 7)]
    src = LinearLayout.from_bases({"register": [[1]], "lane": lanes}, ["dim0"])
    dst = LinearLayout.from_bases(
        {"register": lanes[-1:], "lane": [[1], *lanes[:-1]]}, ["dim0"]
    )
    for target in ("gfx942", "sm_90"):
        with pytest.raises(UnsupportedLayoutError, match=f"{target} with 64 lanes"):
            plan(src, dst, 32, target).emit()
    assert "return x" in plan(src, src, 32, "gfx942").emit().text
