"""Direction, tile and warps; and addresses that Triton gets right."""

import random
from collections.abc import Callable

import pytest

from compiler import permutations
from compiler.permuting import vector_launch
from compiler.permuting.index_map import IndexMap
from compiler.permuting.vector_launch import plan_vector_launch
from compiler.permuting.vector_search import ORDERS

RandomMap = Callable[[random.Random, int], IndexMap]


@pytest.mark.parametrize("width", [1, 2, 4])
def test_launches_fit_a_multiprocessor(width: int, random_map: RandomMap) -> None:
    rng = random.Random(width)
    for number in range(40):
        map = random_map(rng, rng.randrange(14, 34))
        launch = plan_vector_launch(map, width, ORDERS[number % len(ORDERS)])
        if launch is None:
            assert map.bits < 17
            continue
        plan = launch.plan
        assert width << plan.tile_bits <= 1 << 16
        assert 1 <= launch.num_warps <= 16
        assert 32 * launch.num_warps <= 1 << len(plan.threads)
        assert launch.program_bits + plan.tile_bits == map.bits
        assert plan.map == (map.invert() if launch.backward else map)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_register_bits_that_are_added_overlap_no_others(
    width: int, random_map: RandomMap
) -> None:
    rng = random.Random(10 + width)
    for _ in range(60):
        launch = plan_vector_launch(random_map(rng, 26), width)
        assert launch is not None
        assert not vector_launch._overlaps(launch.plan, launch.num_warps)


def test_a_few_channels_run_backwards_but_not_when_fused() -> None:
    layout = permutations.permute_axes((8, 1 << 20), (1, 0))
    map = IndexMap.from_layout(layout)
    launch = plan_vector_launch(map, 1)
    assert launch is not None and launch.backward
    fused = plan_vector_launch(map, 1, fused=True)
    assert fused is not None and not fused.backward and fused.plan.block_bits <= 6


def test_constants_count_words() -> None:
    launch = plan_vector_launch(
        IndexMap(tuple(1 << i for i in reversed(range(34))), offset=5), 1
    )
    assert launch is not None
    constants = launch.constants()
    assert constants["MAP_BITS"] == launch.map_bits == 32 and constants["WIDE"]
    assert constants["LINE"] == 64 and constants["OFFSET"] == 0
    assert constants["IN_THREAD_OFFSET"] != 0
