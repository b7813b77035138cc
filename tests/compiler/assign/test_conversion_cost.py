import random
from collections.abc import Callable

import pytest

from algebra import LinearLayout
from compiler.assign.conversion_cost import (
    ONCE,
    TOO_LARGE,
    conversion_cost,
    is_free,
    least_cost,
    planned,
)
from compiler.assign.laws import layout_of
from compiler.cost.device import STATIC_BYTES

Draw = Callable[[tuple[int, ...], random.Random], LinearLayout]


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_a_bound(seed: int, draw_layout: Draw) -> None:
    rng = random.Random(seed)
    src, dst = draw_layout((16, 8), rng), draw_layout((16, 8), rng)
    bound, cost = (
        least_cost(src, dst, 32, "sm_90"),
        conversion_cost(src, dst, 32, "sm_90"),
    )
    assert 0 <= bound <= cost
    assert (bound == 0) == is_free(src, dst) == (cost == 0)


def test_what_is_free_costs_nothing(draw_layout: Draw) -> None:
    layout = draw_layout((16, 8), random.Random(0))
    assert conversion_cost(layout, layout, 16, "sm_90") == 0


def test_plans_are_remembered(draw_layout: Draw) -> None:
    rng = random.Random(5)
    src, dst = draw_layout((16, 8), rng), draw_layout((16, 8), rng)
    assert planned(src, dst, 32, "sm_90") is planned(src, dst, 32, "sm_90")
    assert conversion_cost(src, dst, 32, "sm_90") >= ONCE.cycles


@pytest.mark.parametrize("element_bits", [16, 32])
def test_more_memory_than_can_be_declared_goes_last(element_bits: int) -> None:
    bits = [1 << bit for bit in range(14)]
    rows = layout_of([128, 128], bits[:7], bits[7:12], bits[12:])
    columns = layout_of([128, 128], bits[7:], bits[:5], bits[5:7])
    found = planned(rows, columns, element_bits, "sm_90")
    cost = conversion_cost(rows, columns, element_bits, "sm_90")
    assert (cost >= TOO_LARGE) is (found.shared_bytes > STATIC_BYTES)
    assert (cost >= TOO_LARGE) is (element_bits == 32)
