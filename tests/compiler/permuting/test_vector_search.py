"""Vector plans carried out by numpy: places, alignment, bank conflicts."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from algebra import gauss
from compiler import permutations
from compiler.permuting.index_map import IndexMap, table
from compiler.permuting.vector_plan import VectorPlan
from compiler.permuting.vector_search import ORDERS, plan_vectors

Images = npt.NDArray[np.int64]
RandomMap = Callable[[random.Random, int], IndexMap]
BITS = {1: 16, 2: 14, 4: 13}
LINE = {1: 8, 2: 7, 4: 6}


def planned(map: IndexMap, width: int, order: int = 0) -> VectorPlan:
    choice = plan_vectors(
        *(map, width), line_bits=LINE[width], tile_bits=13, order=ORDERS[order]
    )
    assert choice is not None
    return choice.plan


def simulate(plan: VectorPlan) -> Images:
    """Return where each index's element ends; check each access on the way."""
    map, low = plan.map, (1 << plan.vector_bits) - 1
    line, words = 1 << plan.line_bits, 1 << plan.word_bits
    shape = (1 << len(plan.rows), line // words)
    first = view(plan.line_view(plan.word_bits), shape)
    blocks = (1 << len(plan.threads), 1 << plan.block_bits - plan.word_bits)
    second = view(plan.block_view(), blocks)
    columns, offset = plan.in_thread()
    order = np.array(table(columns, offset)) ^ np.array(table(plan.flips()))[:, None]
    onto = (
        np.array(table(plan.images(plan.threads)))[:, None, None]
        ^ np.array(table(plan.images(plan.stores)))[None, :, None]
    )
    assert not (onto & low).any() and not (np.array(table(plan.rows)) & line - 1).any()
    result = np.full(1 << map.bits, -1)
    for base in table(plan.programs):
        target = map.apply_linear(base)
        assert not base & low and not target & low
        places = (base ^ np.array(table(plan.rows)))[:, None] ^ np.arange(line)
        shared = np.full((first.size, words), -1)
        shared[first.ravel()] = places.reshape(-1, words)
        assert (shared >= 0).all()
        block = shared[second].reshape(len(second), -1)
        moved = np.take_along_axis(block, order, 1).reshape(*onto.shape[:2], -1)
        there = (target ^ map.offset & ~low) ^ onto ^ np.arange(low + 1)
        assert (result[moved] == -1).all()
        result[moved] = there
    return result


def view(bases: list[list[int]], shape: tuple[int, int]) -> Images:
    """Return the offset of each (row, column) of a view of shared memory."""
    columns = shape[1].bit_length() - 1
    places = gauss.inverse([row << columns | column for row, column in bases])
    assert places is not None
    return np.array(table(places)).reshape(shape)


def wavefronts(offsets: Images, access: int) -> int:
    """Return the wavefronts of one warp's accesses of so many words."""
    lanes = 32 // access
    groups = offsets[:32].reshape(-1, lanes, 1) + np.arange(access)
    counts = [np.bincount(np.unique(group) % 32).max() for group in groups]
    return int(max(counts))


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_plans_do_what_the_map_says(
    seed: int,
    width: int,
    random_map: RandomMap,
    images: Callable[[IndexMap], Images],
) -> None:
    map = random_map(random.Random(seed), BITS[width])
    plan = planned(map, width, seed % len(ORDERS))
    assert (simulate(plan) == images(map)).all()


@pytest.mark.parametrize("width", [1, 2, 4])
def test_dense_matrices_have_no_bank_conflicts(
    width: int, random_map: RandomMap
) -> None:
    rng = random.Random(width)
    for _ in range(25):
        map = random_map(rng, 28)
        choice = plan_vectors(map, width, line_bits=LINE[width], tile_bits=13)
        assert choice is not None
        plan = choice.plan
        access = 1 << plan.access_bits - plan.word_bits
        offsets = np.array(table(plan.thread_offsets()))
        assert wavefronts(offsets, access) == 1 << choice.conflicts
        line = np.array(table([1 << 2 + i for i in range(5)]))
        slots = np.array(table([slot << 2 for slot in plan.slots]))[: len(line)]
        assert wavefronts(slots, 4) == 1
        assert gauss.rank(map.columns) == 28
        if gauss.rank([c for c in map.columns if c.bit_count() == 1]) < 14:
            assert choice.conflicts == 0 or choice.run == 3


def test_tiles_hold_two_lines_each_way_for_dense_matrices() -> None:
    rng = random.Random(3)
    columns: list[int] = []
    while gauss.rank(columns) < 28:
        columns = [rng.getrandbits(28) for _ in range(28)]
    plan = planned(IndexMap(tuple(columns)), 1)
    assert plan.tile_bits == 16 and plan.access_bits == 2
    assert plan.block_bits == 6 and len(plan.threads) == 10


@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_the_order_of_programs_is_a_choice_among_bases(order: int) -> None:
    map = IndexMap.from_layout(permutations.transpose(1 << 13, 1 << 13))
    one, other = planned(map, 4, order), planned(map, 4, 0)
    whole = [*(1 << i for i in range(6)), *one.rows]
    assert gauss.rank([*whole, *one.programs]) == 26
    assert one.rows == other.rows and len(one.programs) == len(other.programs)


def test_small_maps_have_no_plan() -> None:
    assert plan_vectors(IndexMap((1, 2)), 4, line_bits=6) is None
    identity = IndexMap(tuple(1 << i for i in range(12)))
    assert plan_vectors(identity, 4, line_bits=6, tile_bits=13) is None
    assert plan_vectors(identity, 4, line_bits=6, tile_bits=12) is not None
