"""The vectors that are tried, and how the patterns drop out."""

import random

from algebra import LinearLayout
from algebra.swizzle import swizzle_for
from algebra.swizzle_search import Tile


def tile(*columns: list[int], registers: int, element_bits: int = 16) -> Tile:
    patterns = [
        LinearLayout.from_columns(
            {"register": registers, "lane": len(order) - registers},
            {"dim0": len(order)},
            order,
        )
        for order in columns
    ]
    return Tile(patterns, element_bits, 32, [None] * len(patterns))


def test_common_registers_come_first_then_those_of_one_pattern() -> None:
    src = [1, 2, 4, 8, 16, 32, 64, 128]
    dst = [2, 8, 16, 1, 4, 32, 64, 128]
    plans = list(tile(src, dst, registers=3).plans())
    by_low = {plan.low: plan.vector_bits for plan in plans}
    assert by_low[()] == (0, 0)
    assert by_low[(2,)] == (1, 1)
    assert by_low[(2, 1, 4)] == (3, 1)
    assert by_low[(2, 8, 16)] == (1, 3)


def test_registers_that_other_bits_need_are_not_vectors() -> None:
    repeated = tile([1, 1, 2, 4, 8], registers=2)
    assert {plan.low for plan in repeated.plans()} == {()}
    dependent = tile([1, 2, 3, 4, 8], registers=2)
    assert {plan.low for plan in dependent.plans()} == {()}


def test_the_widest_vector_is_128_bits() -> None:
    order = [1 << i for i in range(10)]
    for element_bits, longest in ((8, 4), (32, 2), (128, 0), (256, 0)):
        plans = tile(order, registers=5, element_bits=element_bits).plans()
        assert max(len(plan.low) for plan in plans) == longest


def test_the_estimate_counts_wavefronts_then_instructions() -> None:
    order = [1 << i for i in range(8)]
    single = tile(order, registers=3)
    estimates = {plan.low: single.estimate(plan) for plan in single.plans()}
    assert estimates == {
        (): (8, 8),
        (1,): (4, 4),
        (1, 2): (4, 2),
        (1, 2, 4): (4, 1),
    }


def test_six_patterns_drop_out_in_rotations_only() -> None:
    source = random.Random(1)
    patterns = []
    for _ in range(6):
        order = [1 << i for i in range(7)]
        source.shuffle(order)
        patterns.append(
            LinearLayout.from_columns({"register": 2, "lane": 5}, {"dim0": 7}, order)
        )
    swizzling = swizzle_for(patterns, 32)
    assert len(swizzling.conflicts) == 6
