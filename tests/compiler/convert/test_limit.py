from math import ceil
from random import Random

import pytest
from hypothesis import given, settings

from algebra import AffineLayout, DimMismatchError, LinearLayout
from algebra.gauss import apply
from compiler.convert import plans
from compiler.convert.hardware import distributed, hardware_of
from compiler.convert.limit import least_cycles, lies_outside
from compiler.convert.steps import Load, Shuffle, Store
from compiler.convert.work import work
from verify.strategies import ConversionCase, conversions


def elements(layout: AffineLayout, thread: int) -> set[int]:
    """Return what a thread has."""
    registers = hardware_of(layout).registers
    return {
        layout.packed_offset
        ^ apply(layout.linear.columns, thread << registers | register)
        for register in range(1 << registers)
    }


def counted(src: AffineLayout, dst: AffineLayout, bits: int) -> tuple[float, float]:
    """Return the cycles for fetching and storing, each element looked at."""
    here = hardware_of(src)
    warps, lanes = 1 << here.warps, 1 << here.lanes
    fetched = stored = 0
    held = [elements(src, thread) for thread in range(warps * lanes)]
    wanted = [elements(dst, thread) for thread in range(warps * lanes)]
    for warp in range(warps):
        mine = range(warp * lanes, (warp + 1) * lanes)
        others = [t for t in range(warps * lanes) if t not in mine]
        lacking = max(len(wanted[t] - held[t]) for t in mine)
        fetched += ceil(lacking * bits / 32)
        alone = set().union(*(held[t] for t in mine))
        alone -= set().union(*(held[t] for t in others))
        asked = alone & set().union(
            *(
                wanted[t] - set().union(*(held[m] for m in _of(t, lanes)))
                for t in others
            )
        )
        stored += ceil(len(asked) * bits / 32 / 32)
    return fetched / warps, stored / warps


def _of(thread: int, lanes: int) -> range:
    first = thread // lanes * lanes
    return range(first, first + lanes)


@pytest.mark.parametrize("seed", range(8))
def test_injective_layouts_are_counted_exactly_or_less(seed: int) -> None:
    drawn = Random(seed)
    exact = 0
    for _ in range(8):
        src, dst = (
            distributed(layout(*drawn.sample(UNITS, 8)), "side") for _ in range(2)
        )
        mixed = [c ^ (drawn.choice(UNITS[:i]) if i else 0) for i, c in enumerate(UNITS)]
        dst = distributed(layout(*(apply(mixed, c) for c in dst.linear.columns)), "dst")
        least, most = least_cycles(src, dst, 32), sum(counted(src, dst, 32))
        assert least <= most
        exact += least == most
    assert exact == 8  # without copies nothing is given away


@settings(max_examples=25, deadline=None)
@given(conversions())
def test_no_more_than_what_is_counted(case: ConversionCase) -> None:
    src, dst = distributed(case.src, "src"), distributed(case.dst, "dst")
    here = hardware_of(src)
    small = here.bits <= 10 and hardware_of(dst).bits <= 10 and here.lanes == 5
    if here.blocks or not small or case.element_bits > 64:
        return
    least = least_cycles(src, dst, case.element_bits)
    if src.linear.is_injective:
        assert least <= sum(counted(src, dst, case.element_bits))
    for plan in plans(src, dst, case.element_bits):
        moves = sum(isinstance(s, Shuffle | Load | Store) for s in plan.steps)
        counts = work(plan.steps, case.element_bits)
        assert least <= counts["wavefronts"] + counts["shfl"], (moves, plan.way)


NAMES = {"register": 2, "lane": 5, "warp": 1}
UNITS = [1 << bit for bit in range(8)]


def layout(*columns: int) -> LinearLayout:
    return LinearLayout.from_columns(NAMES, {"dim0": 8}, list(columns))


@pytest.mark.parametrize(
    ("columns", "bits", "least"),
    [
        pytest.param(UNITS, 32, 0.0, id="nothing"),
        # a register for a lane: half of a thread's words come from the other lane
        pytest.param([4, 2, 1, *UNITS[3:]], 32, 2.0, id="half from another lane"),
        # lanes change places: all words of those that move
        pytest.param([1, 2, 8, 4, *UNITS[4:]], 32, 4.0, id="some lane lacks all"),
        # half of each warp's words are stored, and half of each thread's are loaded
        pytest.param([128, *UNITS[1:7], 1], 32, 4.0, id="half to another warp"),
        pytest.param([128, *UNITS[1:7], 1], 8, 2.0, id="bytes to another warp"),
    ],
)
def test_bounds_of_exchanges(columns: list[int], bits: int, least: float) -> None:
    src, dst = layout(*UNITS), layout(*columns)
    assert least_cycles(src, dst, bits) == least
    here, there = distributed(src, "src"), distributed(dst, "dst")
    assert sum(counted(here, there, bits)) == least


def test_a_flip_of_the_warp_moves_everything() -> None:
    src = layout(*UNITS)
    flipped = AffineLayout(src, {"dim0": 128})
    assert least_cycles(src, flipped, 32) == 8
    assert lies_outside([1], 128) and not lies_outside([128], 128)


def test_copies_are_fetched_from_the_nearest() -> None:
    """The source has all elements in both warps, so nothing is stored."""
    src = layout(1, 2, 4, 8, 16, 32, 64, 0)
    dst = layout(4, 2, 1, 8, 16, 32, 64, 0)
    assert least_cycles(src, dst, 32) == 2


def test_layouts_of_other_tensors_are_refused() -> None:
    other = LinearLayout.from_columns(NAMES, {"dim0": 9}, [256, *UNITS[1:]])
    with pytest.raises(DimMismatchError, match="same tensor"):
        least_cycles(layout(*UNITS), other, 32)
