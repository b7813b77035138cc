"""Bank conflicts: golden counts, the simulation, and cases that are easy to miss."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import LinearLayout
from algebra.bank_conflicts import (
    LaneTile,
    bank_conflicts,
    extra_wavefronts,
    shared_access,
    wavefront_columns,
    word_columns,
)
from algebra.encodings import from_dict
from algebra.errors import (
    DimMismatchError,
    NotPowerOfTwoError,
    NotSolvableError,
    OutOfRangeError,
    UnsupportedLayoutError,
)
from algebra.wavefronts import simulate_wavefronts

GOLDEN = Path(__file__).parents[2].parent / "shared" / "golden"


def golden_cases(name: str) -> list[Any]:
    path = GOLDEN / name
    if not path.exists():
        return []
    return list(json.loads(path.read_text())["cases"])


def read_layout(form: Any) -> LinearLayout:
    bases = {dim: form["in_dims"][dim] for dim in form["in_order"]}
    return LinearLayout.from_bases(
        bases, dict(form["out_dims"]), require_surjective=False
    )


def random_invertible(source: random.Random, bits: int) -> list[int]:
    """Images of the unit vectors under a few random row operations and a shuffle."""
    columns = [1 << i for i in range(bits)]
    source.shuffle(columns)
    for _ in range(source.randrange(3 * bits + 1)):
        i, j = source.randrange(bits), source.randrange(bits)
        if i != j:
            columns[i] ^= columns[j]
    return columns


def random_access(seed: int) -> tuple[LinearLayout, LinearLayout, int, int]:
    """A distributed layout, a shared one, the element size and the banks.

    Half of the seeds shuffle bits only, so that wide vectors are met; a third has
    broadcast lanes or registers; the sizes reach several rows of banks.
    """
    source = random.Random(seed)
    element_bits = source.choice([8, 16, 32, 64, 128])
    banks = source.choice([32, 32, 32, 64])
    lane_bits = source.choice([5, 5, 5, 6, 3])
    register_bits = source.randrange(0, 5)
    warp_bits = source.randrange(0, 2)
    bits = lane_bits + register_bits + warp_bits
    columns = [1 << i for i in range(bits)]
    if seed % 2:
        columns = random_invertible(source, bits)
    if seed % 4 < 2:
        source.shuffle(columns)
    if seed % 3 == 0:
        for _ in range(source.randrange(1, 3)):
            columns[source.randrange(bits)] = source.choice([0, columns[0]])
    if seed % 8 < 4:
        head = sorted(columns[:register_bits])
        columns = head + columns[register_bits:]
    shared_bits = bits + source.randrange(0, 3)
    shared = random_invertible(source, shared_bits)
    if source.random() < 0.5:
        shared = [1 << i for i in range(shared_bits)]
        for row in range(shared_bits // 2, shared_bits):
            shared[row] ^= source.randrange(1 << shared_bits // 2) & -source.choice(
                [1, 2, 4]
            )
    cut = source.randrange(shared_bits + 1)
    outs = {"dim0": cut, "dim1": shared_bits - cut}
    distributed = LinearLayout.from_columns(
        {"register": register_bits, "lane": lane_bits, "warp": warp_bits, "block": 0},
        outs,
        columns,
    )
    memory = LinearLayout.from_columns(
        {"offset": shared_bits, "block": 0}, outs, shared
    )
    return distributed, memory, element_bits, banks


def agree(seed: int) -> int:
    distributed, shared, element_bits, banks = random_access(seed)
    exact = bank_conflicts(distributed, shared, element_bits, banks=banks)
    assert exact & (exact + 1) == 0, "wavefronts of an F2 access are a power of two"
    vector = 1
    for wider in (2, 4, 8, 16):
        if wider * element_bits > 128:
            break
        try:
            bank_conflicts(distributed, shared, element_bits, wider, banks)
        except UnsupportedLayoutError:
            break
        vector = wider
    for width in {1, vector}:
        count = bank_conflicts(distributed, shared, element_bits, width, banks)
        assert count == simulate_wavefronts(
            distributed, shared, element_bits, width, banks
        ), f"seed={seed} vector={width}"
    assert (
        exact == count
        or vector == 1
        or exact == bank_conflicts(distributed, shared, element_bits, vector, banks)
    )
    return vector


@pytest.mark.no_cover
def test_agrees_with_the_simulation_on_random_layouts() -> None:
    widths = {agree(seed) for seed in range(150)}
    assert {1, 2, 4} <= widths


@pytest.mark.slow
def test_agrees_with_the_simulation_on_10000_random_layouts() -> None:
    for seed in range(150, 10_500):
        agree(seed)


@given(st.integers(min_value=10_500), st.permutations(range(5)))
def test_tile_of_some_lanes_agrees_with_the_simulation(
    seed: int, lanes: list[int]
) -> None:
    distributed, shared, element_bits, banks = random_access(seed)
    tile = LaneTile((), tuple(lanes[:3]))
    if distributed.get_in_dim_size_log2("lane") < 5:
        return
    count = bank_conflicts(distributed, shared, element_bits, 1, banks, tile)
    assert count == simulate_wavefronts(
        distributed, shared, element_bits, 1, banks, tile
    )


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden files are not here")
def test_golden_counts_that_upstream_asserts() -> None:
    cases = golden_cases("bank_conflicts.json")
    assert len(cases) == 19
    for case in cases:
        count = bank_conflicts(
            read_layout(case["reg_ll"]),
            read_layout(case["shared_ll"]),
            case["elem_bits"],
            banks=case["num_banks"],
            lane_tile=case["lane_tile"],
        )
        assert count == case["conflicts"], case["case"]


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden files are not here")
def test_golden_counts_of_random_encodings_are_the_exact_ones() -> None:
    cases = golden_cases("derived_bank_conflicts.json")
    assert len(cases) == 80
    undercounted = 0
    for case in cases:
        count = bank_conflicts(
            from_dict(case["reg"]).to_linear_layout(case["shape"], release="3.8"),
            from_dict(case["shared"]).to_linear_layout(case["shape"], release="3.8"),
            case["elem_bits"],
            banks=case["num_banks"],
        )
        assert count == case["exact"], case["case"]
        undercounted += count > case["upstream_analytic"]
    assert undercounted == 5


def test_several_rows_of_banks_and_broadcast_within_a_word() -> None:
    assert extra_wavefronts([32, 64, 128], 32) == 7
    assert extra_wavefronts([1, 2, 4, 8, 16], 8) == 0
    assert extra_wavefronts([1, 2], 8) == 0
    assert extra_wavefronts([32, 32, 0], 32) == 1
    assert extra_wavefronts([], 32) == 0
    assert extra_wavefronts([32], 32, banks=64) == 0


def test_word_columns_of_wide_and_narrow_elements() -> None:
    assert word_columns([1, 2, 8, 16], 4) == [0, 0, 1, 2]
    assert word_columns([1, 2], 64) == [1, 2, 4]
    assert word_columns([3], 32) == [3]


def identity_pair(registers: int, lanes: int = 5) -> tuple[LinearLayout, LinearLayout]:
    distributed = LinearLayout.from_columns(
        {"register": registers, "lane": lanes},
        {"dim0": registers + lanes},
        [1 << i for i in range(registers + lanes)],
    )
    return distributed, LinearLayout.identity_1d(
        1 << registers + lanes, "offset", "dim0"
    )


@pytest.mark.parametrize(
    ("element_bits", "registers", "lanes_of_a_wavefront"),
    [
        (8, 4, 3),
        (16, 3, 3),
        (32, 2, 3),
        (32, 1, 4),
        (64, 1, 3),
        (64, 0, 4),
        (128, 0, 3),
    ],
)
def test_wide_accesses_serve_fewer_lanes(
    element_bits: int, registers: int, lanes_of_a_wavefront: int
) -> None:
    distributed, shared = identity_pair(registers)
    columns = wavefront_columns(
        distributed.rename_out_dim("dim0", "offset"), element_bits
    )
    assert len(columns) == registers + lanes_of_a_wavefront
    assert bank_conflicts(distributed, shared, element_bits) == 0


def test_matrix_tile_holds_32_bits_a_lane() -> None:
    access = LinearLayout.from_columns(
        {"register": 2, "lane": 5}, {"offset": 7}, [8, 64, 1, 2, 16, 32, 4]
    )
    rows = LaneTile((0, 1), (2, 3, 4))
    assert wavefront_columns(access, 16, lane_tile=rows) == [8, 1, 2, 16, 32, 4]
    assert wavefront_columns(access, 32, lane_tile=rows) == [1, 2, 16, 32, 4]
    assert wavefront_columns(access, 64, lane_tile=rows) == [1, 2, 16, 32, 4]


def test_a_vector_that_is_not_contiguous_is_refused() -> None:
    distributed, shared = identity_pair(1)
    with pytest.raises(UnsupportedLayoutError, match="at most 2 are") as caught:
        bank_conflicts(distributed, shared, 8, vector=4)
    assert caught.value.facts == {"vector": 4, "largest": 2}
    with pytest.raises(NotPowerOfTwoError):
        bank_conflicts(distributed, shared, 8, vector=3)


def test_bad_arguments_name_what_was_needed() -> None:
    distributed, shared = identity_pair(1)
    with pytest.raises(DimMismatchError, match="distributed layout needs"):
        bank_conflicts(shared, shared, 8)
    with pytest.raises(DimMismatchError, match="shared layout needs"):
        bank_conflicts(distributed, distributed, 8)
    with pytest.raises(OutOfRangeError, match="5 lane bits"):
        bank_conflicts(distributed, shared, 8, lane_tile=LaneTile((), (0, 1, 5)))
    with pytest.raises(NotPowerOfTwoError):
        bank_conflicts(distributed, shared, 24)
    with pytest.raises(NotPowerOfTwoError):
        bank_conflicts(distributed, shared, 8, banks=33)
    small = LinearLayout.from_columns({"offset": 6}, {"dim0": 6}, [1, 2, 4, 8, 16, 0])
    with pytest.raises(NotSolvableError):
        bank_conflicts(distributed, small, 8)


def test_shared_access_puts_the_offset_first() -> None:
    distributed = LinearLayout.from_bases(
        {"register": [[1]], "lane": [[2]], "block": [[4]]}, {"dim0": 8}
    )
    shared = LinearLayout.from_bases(
        {"block": [[4]], "offset": [[2], [1]]}, {"dim0": 8}
    )
    access = shared_access(distributed, shared)
    assert access.get_out_dim_names() == ("offset", "block")
    assert access.apply({"register": 1, "lane": 0, "block": 1}) == {
        "offset": 2,
        "block": 1,
    }
