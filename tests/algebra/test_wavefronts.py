"""The simulation on accesses small enough to count by hand."""

import pytest

from algebra import LinearLayout
from algebra.bank_conflicts import LaneTile
from algebra.errors import UnsupportedLayoutError
from algebra.wavefronts import simulate_wavefronts


def strided(step_bits: int, lanes: int = 5) -> tuple[LinearLayout, LinearLayout]:
    """Lane l reads element ``l << step_bits``."""
    distributed = LinearLayout.from_columns(
        {"register": step_bits, "lane": lanes},
        {"dim0": step_bits + lanes},
        [1 << i for i in range(step_bits + lanes)],
    )
    return distributed, LinearLayout.identity_1d(
        1 << step_bits + lanes, "offset", "dim0"
    )


@pytest.mark.parametrize("step_bits", range(7))
def test_a_stride_of_a_power_of_two(step_bits: int) -> None:
    conflicts = simulate_wavefronts(*strided(step_bits), 32)
    assert conflicts == min(1 << step_bits, 32) - 1


@pytest.mark.parametrize(
    ("element_bits", "step_bits", "expected"),
    [(8, 0, 0), (8, 2, 0), (8, 3, 1), (16, 1, 0), (16, 2, 1), (64, 0, 0), (64, 1, 1)],
)
def test_the_word_is_what_counts(
    element_bits: int, step_bits: int, expected: int
) -> None:
    assert simulate_wavefronts(*strided(step_bits), element_bits) == expected


def test_lanes_that_want_one_word_share_it() -> None:
    distributed = LinearLayout.zeros_1d(32, "lane", "dim0") * LinearLayout.identity_1d(
        4, "register", "dim0"
    )
    shared = LinearLayout.identity_1d(4, "offset", "dim0")
    assert simulate_wavefronts(distributed, shared, 32) == 0


def test_fewer_lanes_than_a_row_of_banks() -> None:
    assert simulate_wavefronts(*strided(4, lanes=2), 32) == 1
    assert simulate_wavefronts(*strided(4, lanes=0), 32) == 0


def test_a_tile_chooses_the_lanes() -> None:
    pair = strided(3)
    tile = LaneTile((), (0, 1))
    assert simulate_wavefronts(*pair, 32, lane_tile=tile) == 0
    assert simulate_wavefronts(*pair, 32, lane_tile=LaneTile()) == 7
    assert simulate_wavefronts(*pair, 32, lane_tile=LaneTile((), (2, 3, 4))) == 7


def test_rows_shared_by_lanes_are_not_simulated() -> None:
    with pytest.raises(UnsupportedLayoutError, match="lane_contig"):
        simulate_wavefronts(*strided(0), 16, lane_tile=LaneTile((0, 1), (2, 3, 4)))
