import random
from collections.abc import Callable

import pytest

from algebra import LinearLayout
from compiler.assign.conversion_cost import (
    ONCE,
    conversion_cost,
    is_free,
    least_cost,
    planned,
)

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
