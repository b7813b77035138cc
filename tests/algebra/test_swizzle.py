"""Synthesised swizzles: against the golden choices, and proved optimal."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout, Proved, Refuted, Unknown
from algebra.bank_conflicts import LaneTile, bank_conflicts
from algebra.errors import (
    DimMismatchError,
    NotPowerOfTwoError,
    OutOfRangeError,
    UnsupportedLayoutError,
)
from algebra.swizzle import Swizzling, optimal_swizzle, swizzle_for

GOLDEN = Path(__file__).parents[2].parent / "shared" / "golden"
needs_golden = pytest.mark.skipif(
    not GOLDEN.exists(), reason="the golden files are not here"
)


def golden_cases(name: str) -> list[Any]:
    return list(json.loads((GOLDEN / name).read_text())["cases"])


def read_layout(form: Any) -> LinearLayout:
    return LinearLayout.from_bases(
        {dim: form["in_dims"][dim] for dim in form["in_order"]},
        dict(form["out_dims"]),
        require_surjective=False,
    )


def pattern(
    registers: int, lanes: int, warps: int, columns: list[int], blocks: int = 0
) -> LinearLayout:
    bits = max(registers + lanes + warps + blocks, max(columns).bit_length())
    return LinearLayout.from_columns(
        {"register": registers, "lane": lanes, "warp": warps, "block": blocks},
        {"dim0": bits // 2, "dim1": bits - bits // 2},
        columns,
    )


def shuffled(source: random.Random, bits: int) -> list[int]:
    columns = [1 << i for i in range(bits)]
    source.shuffle(columns)
    return columns


def mixed(source: random.Random, bits: int) -> list[int]:
    columns = shuffled(source, bits)
    for _ in range(source.randrange(2 * bits)):
        i, j = source.sample(range(bits), 2)
        columns[i] ^= columns[j]
    return columns


def check_true(swizzling: Swizzling) -> None:
    """The memory is a bijection, conflicts are exact, and the certificate holds."""
    certificate = swizzling.certificate
    assert swizzling.memory.sublayout(
        ["offset"], list(swizzling.memory.get_out_dim_names())
    ).is_injective
    for count, access in zip(swizzling.conflicts, certificate.accesses, strict=True):
        exact = bank_conflicts(
            access.pattern,
            swizzling.memory,
            certificate.element_bits,
            banks=certificate.banks,
            lane_tile=access.lane_tile,
        )
        assert count == exact
    assert certificate.wavefronts >= certificate.least_wavefronts


@needs_golden
def test_never_worse_than_the_choice_of_upstream_in_150_random_conversions() -> None:
    cases = golden_cases("derived_swizzle.json")
    assert len(cases) == 150
    better = 0
    for number, case in enumerate(cases):
        src, dst = read_layout(case["src"]), read_layout(case["dst"])
        swizzling = optimal_swizzle(src, dst, case["elem_bits"])
        check_true(swizzling)
        exact = case["ldst"]["exact"]
        theirs = (exact["store_conflicts"], exact["load_conflicts"])
        assert swizzling.conflicts == (0, 0), case["case"]
        certificate = swizzling.certificate
        assert certificate.wavefronts == certificate.least_wavefronts, case["case"]
        if number % 10 == 3:
            assert isinstance(certificate.check(), Proved), case["case"]
        better += theirs != (0, 0)
    assert better == 2


@needs_golden
@pytest.mark.slow
def test_every_certificate_of_the_150_conversions_checks() -> None:
    for case in golden_cases("derived_swizzle.json"):
        src, dst = read_layout(case["src"]), read_layout(case["dst"])
        verdict = optimal_swizzle(src, dst, case["elem_bits"]).certificate.check()
        assert isinstance(verdict, Proved), case["case"]


@needs_golden
def test_as_good_as_the_nine_conversions_that_upstream_asserts() -> None:
    cases = [
        case["inputs"] | {"expected": case["expected"]}
        for case in golden_cases("swizzle.json")
        if case["op"] == "bank_conflicts_ld_st"
    ]
    assert len(cases) == 9
    for case in cases:
        tiles = [
            LaneTile((), tuple(case[side]["lane_addr"]))
            if case[side]["lane_addr"]
            else None
            for side in ("src_tile", "dst_tile")
        ]
        swizzling = optimal_swizzle(
            read_layout(case["src"]),
            read_layout(case["dst"]),
            case["elem_bits"],
            case["num_banks"],
            tiles,
        )
        check_true(swizzling)
        assert (
            dict(zip(("write", "read"), swizzling.conflicts, strict=True))
            == (case["expected"])
        )
        certificate = swizzling.certificate
        assert certificate.wavefronts == certificate.least_wavefronts


@needs_golden
def test_conflicts_of_the_memory_that_upstream_chose() -> None:
    for case in golden_cases("derived_swizzle.json"):
        form = case["ldst"]["smem"]
        columns = [
            basis
            for dim in ("vector", "bank", "segment", "reps")
            for basis in form["in_dims"][dim]
        ]
        memory = LinearLayout.from_bases(
            {"offset": columns, "block": []}, dict(form["out_dims"])
        )
        exact = case["ldst"]["exact"]
        for side, name in (("src", "store"), ("dst", "load")):
            conflicts = bank_conflicts(
                read_layout(case[side]),
                memory,
                case["elem_bits"],
                exact[f"{name}_vec_bits"] // case["elem_bits"],
            )
            assert conflicts == exact[f"{name}_conflicts"], case["case"]


@given(
    st.integers(min_value=0),
    st.integers(min_value=1, max_value=4),
    st.sampled_from([8, 16, 32, 64]),
)
def test_permutations_of_bits_reach_the_lower_bound(
    seed: int, count: int, element_bits: int
) -> None:
    source = random.Random(seed)
    registers, warps = source.randrange(5), source.randrange(3)
    bits = registers + 5 + warps
    patterns = [
        pattern(registers, 5, warps, shuffled(source, bits)) for _ in range(count)
    ]
    swizzling = swizzle_for(patterns, element_bits)
    check_true(swizzling)
    assert swizzling.conflicts == (0,) * count
    certificate = swizzling.certificate
    assert certificate.wavefronts == certificate.least_wavefronts


@given(
    st.integers(min_value=0),
    st.sampled_from([4, 8, 16, 32, 64, 128]),
    st.sampled_from([32, 64]),
)
def test_two_general_layouts_never_conflict(
    seed: int, element_bits: int, banks: int
) -> None:
    source = random.Random(seed)
    registers, warps, blocks = (
        source.randrange(4),
        source.randrange(3),
        source.randrange(2),
    )
    bits = registers + 5 + warps + blocks
    columns = [mixed(source, bits) for _ in range(2)]
    if source.random() < 0.5:
        columns[1][source.randrange(bits)] = source.choice([0, columns[1][0]])
    swizzling = swizzle_for(
        [pattern(registers, 5, warps, c, blocks) for c in columns], element_bits, banks
    )
    check_true(swizzling)
    assert swizzling.conflicts == (0, 0)


@given(st.integers(min_value=0))
def test_certificates_of_any_layouts_are_never_refuted(seed: int) -> None:
    source = random.Random(seed)
    registers, lanes = source.randrange(4), source.choice([2, 3, 5])
    bits = registers + lanes
    patterns = [
        pattern(registers, lanes, 0, mixed(source, bits))
        for _ in range(source.randrange(1, 5))
    ]
    banks = source.choice([2, 4, 8, 32])
    swizzling = swizzle_for(patterns, source.choice([8, 16, 32, 64]), banks)
    assert not isinstance(swizzling.certificate.check(), Refuted)


def test_a_matrix_and_its_transpose_from_one_memory() -> None:
    rows = [1 << i for i in range(6)]
    tile = {"dim0": 64, "dim1": 64}
    store = LinearLayout.from_bases(
        {
            "register": [[0, 1], [0, 2], [0, 4], [32, 0]],
            "lane": [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
            "warp": [[4, 0], [8, 0], [16, 0]],
        },
        tile,
    )
    load = LinearLayout.from_bases(
        {
            "register": [[0, row] for row in rows[:4]],
            "lane": [[row, 0] for row in rows[:5]],
            "warp": [[0, 16], [0, 32], [32, 0]],
        },
        tile,
    )
    transposed = (
        load.rename_out_dim("dim0", "t")
        .rename_out_dim("dim1", "dim0")
        .rename_out_dim("t", "dim1")
        .transpose_outs(["dim0", "dim1"])
    )
    for element_bits in (8, 16, 32):
        swizzling = swizzle_for([store, load, transposed], element_bits)
        assert swizzling.conflicts == (0, 0, 0)
        assert isinstance(swizzling.certificate.check(), Proved)


def test_three_patterns_in_two_banks_must_conflict() -> None:
    lanes = [1, 2, 3]
    patterns = [
        LinearLayout.from_columns({"register": 0, "lane": 1}, {"dim0": 2}, [lane])
        for lane in lanes
    ]
    swizzling = swizzle_for(patterns, 32, banks=2)
    assert sorted(swizzling.conflicts) == [0, 0, 1]
    assert swizzling.certificate.exhausted > 0
    verdict = swizzling.certificate.check()
    assert isinstance(verdict, Unknown)
    assert "found none with these vectors" in verdict.reason


def test_more_patterns_than_one_relaxation_can_cure() -> None:
    patterns = [
        LinearLayout.from_columns({"register": 0, "lane": 2}, {"dim0": 4}, [a, b])
        for a in (1, 2, 4, 8, 15)
        for b in (3, 6, 12, 9, 5)
    ]
    swizzling = swizzle_for(patterns, 32, banks=4)
    check_true(swizzling)
    assert sum(swizzling.conflicts) > 1
    assert isinstance(swizzling.certificate.check(), Unknown)


def test_registers_of_all_patterns_are_repetitions() -> None:
    common = [1 << i for i in range(5, 10)]
    src = pattern(7, 5, 0, [*common, 1, 2, 4, 8, 16, 1024, 2048])
    dst = pattern(7, 5, 0, [*common, 4, 8, 16, 1, 2, 2048, 1024])
    swizzling = optimal_swizzle(src, dst, 32)
    assert swizzling.vector_bits == 2
    assert swizzling.rep_bits == 3
    top = swizzling.memory.in_columns("offset")[-3:]
    assert set(top) <= set(common)


def test_degenerate_tiles() -> None:
    one = LinearLayout.from_columns({"register": 0, "lane": 0}, {"dim0": 0}, [])
    swizzling = swizzle_for([one], 32)
    assert swizzling.memory.get_total_in_dim_size() == 1
    assert isinstance(swizzling.certificate.check(), Proved)
    broadcast = LinearLayout.from_columns(
        {"register": 1, "lane": 5}, {"dim0": 1}, [0, 1, 0, 0, 0, 0]
    )
    assert optimal_swizzle(broadcast, broadcast, 8).conflicts == (0, 0)


def test_bad_arguments_name_what_was_needed() -> None:
    good = pattern(1, 5, 0, [1 << i for i in range(6)])
    with pytest.raises(DimMismatchError, match="one access pattern"):
        swizzle_for([], 32)
    with pytest.raises(DimMismatchError, match="position 1"):
        swizzle_for([good, LinearLayout.identity_1d(64, "offset", "dim0")], 32)
    with pytest.raises(DimMismatchError, match="one tensor"):
        optimal_swizzle(good, pattern(2, 5, 0, [1 << i for i in range(7)]), 32)
    with pytest.raises(NotPowerOfTwoError):
        optimal_swizzle(good, good, 24)
    with pytest.raises(NotPowerOfTwoError):
        optimal_swizzle(good, good, 32, banks=33)
    with pytest.raises(DimMismatchError, match="one entry for each"):
        optimal_swizzle(good, good, 32, 32, [None])
    with pytest.raises(UnsupportedLayoutError, match="row_access"):
        optimal_swizzle(good, good, 32, 32, [LaneTile((0, 1), (2, 3, 4)), None])
    with pytest.raises(OutOfRangeError, match="5 lane bits"):
        optimal_swizzle(good, good, 32, 32, [LaneTile((), (0, 5)), None])


def test_even_vectors_are_those_in_common() -> None:
    """Eight elements a thread against four: accesses of four, at no more wavefronts."""
    names = {"register": 3, "lane": 5, "warp": 2}
    src, dst = (
        LinearLayout.from_columns(
            {**names, "register": registers}, {"dim0": 10}, columns
        )
        for registers, columns in (
            (3, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
            (3, [1, 2, 512, 4, 8, 16, 32, 64, 128, 256]),
        )
    )
    wide, even = (optimal_swizzle(src, dst, 16, even=even) for even in (False, True))
    assert [fact.elements for fact in wide.certificate.accesses] == [8, 4]
    assert [fact.elements for fact in even.certificate.accesses] == [4, 4]
    assert even.certificate.wavefronts == wide.certificate.wavefronts
    assert even.conflicts == (0, 0)
    assert isinstance(even.certificate.check(), Proved)
