"""Tile plans carried out by numpy, for maps of every kind."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from algebra import gauss
from compiler.permuting.index_map import IndexMap, table
from compiler.permuting.tile_plan import TilePlan, plan_tile

Images = npt.NDArray[np.int64]


def addresses(basis: tuple[int, ...], columns: int, base: int) -> Images:
    rows = np.array(table(basis[columns:], base))
    places: Images = rows[:, None] ^ np.array(table(basis[:columns]))[None, :]
    return places


def are_vectors(places: Images, log2_size: int) -> bool:
    """Say whether rows fall into aligned runs of ascending neighbours."""
    runs = places.reshape(-1, 1 << log2_size)
    firsts = runs[:, :1]
    steps = np.arange(1 << log2_size)
    return bool((firsts % len(steps) == 0).all() and (runs == firsts + steps).all())


def simulate(plan: TilePlan) -> Images:
    """Return where each index's element ends; check each access on the way."""
    map = plan.map
    result = np.full(1 << map.bits, -1)
    index = np.arange(1 << map.bits)
    shape, axes = plan.transpose
    for program in table(plan.programs):
        read = addresses(plan.source, plan.source_columns, program)
        write = addresses(plan.target, plan.target_columns, map(program))
        assert are_vectors(read, plan.source_vector)
        assert are_vectors(write, plan.target_vector)
        tile = index[read].reshape(shape).transpose(axes).reshape(write.shape)
        assert (result[write] == -1).all()
        result[write] = tile
    return result


@pytest.mark.parametrize("seed", range(4))
def test_plans_do_what_the_map_says(
    seed: int,
    random_map: Callable[[random.Random, int], IndexMap],
    images: Callable[[IndexMap], Images],
) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        map = random_map(rng, rng.randrange(12))
        line_bits = rng.randrange(6)
        plan = plan_tile(
            map,
            line_bits=line_bits,
            vector_bits=rng.randrange(5),
            tile_bits=rng.randrange(9),
        )
        assert (simulate(plan)[images(map)] == np.arange(1 << map.bits)).all()
        assert gauss.rank([*plan.source, *plan.programs]) == map.bits
        assert plan.source_columns >= min(line_bits, map.bits)
        assert plan.target_columns >= min(line_bits, map.bits)


@pytest.mark.parametrize("seed", range(2))
def test_a_tile_is_whole_lines_of_both_sides_and_no_larger(
    seed: int, random_map: Callable[[random.Random, int], IndexMap]
) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        map = random_map(rng, rng.randrange(1, 24))
        bits = min(rng.randrange(1, 6), map.bits)
        plan = plan_tile(map, line_bits=bits, vector_bits=2, tile_bits=0)
        back = map.invert().columns
        lines = [*(1 << i for i in range(bits)), *back[:bits]]
        assert gauss.rank(plan.source) == len(plan.source) == gauss.rank(lines)
        assert gauss.rank([*plan.source, *lines]) == len(plan.source)


def test_bit_permutations_are_vectorised_on_both_sides() -> None:
    reversal = IndexMap(tuple(1 << i for i in reversed(range(20))))
    plan = plan_tile(reversal, line_bits=6, vector_bits=2, tile_bits=0)
    assert (plan.source_vector, plan.target_vector, len(plan.source)) == (2, 2, 12)


def test_an_offset_in_the_low_bits_forbids_destination_vectors() -> None:
    flip = IndexMap((1, 2, 4, 8), offset=1)
    plan = plan_tile(flip, line_bits=2, vector_bits=2, tile_bits=0)
    assert plan.target_vector == 0


def test_the_identity_grows_to_the_tile_that_was_asked_for() -> None:
    identity = IndexMap(tuple(1 << i for i in range(10)))
    plan = plan_tile(identity, line_bits=3, vector_bits=2, tile_bits=7)
    assert plan.source == plan.target == tuple(1 << i for i in range(7))
    assert plan.transpose == ((128,), (0,))


def test_no_bits() -> None:
    plan = plan_tile(IndexMap(()), line_bits=5, vector_bits=2, tile_bits=4)
    assert plan.transpose == ((1,), (0,))
    assert plan.tables() == ([0, 0, 0, 0], 0)
