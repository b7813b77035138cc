"""Line plans carried out by numpy, for maps of every kind."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from compiler.permuting.index_map import IndexMap, table
from compiler.permuting.line_plan import LinePlan, plan_lines

Images = npt.NDArray[np.int64]


def simulate(plan: LinePlan) -> Images:
    """Return which element ends at each index."""
    map, line = plan.map, 1 << plan.line_bits
    low = line - 1
    index = np.arange(1 << map.bits)
    result = np.full(1 << map.bits, -1)
    at_line, at_place = np.array(table(plan.at_line)), np.array(table(plan.at_place))
    for source, target in zip(
        table(plan.source_bases), table(plan.target_bases, map.offset), strict=True
    ):
        starts = table(plan.source_lines, source)
        buffer = np.concatenate([index[start : start + line] for start in starts])
        for number, start in enumerate(table(plan.target_lines, target & ~low)):
            assert (result[start : start + line] == -1).all()
            order = at_place[target & low] ^ at_line[number] ^ at_place
            result[start : start + line] = buffer[order]
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
        plan = plan_lines(map, line_bits=rng.randrange(6))
        assert (simulate(plan)[images(map)] == np.arange(1 << map.bits)).all()


def test_a_buffer_holds_at_most_the_square_of_a_line(
    random_map: Callable[[random.Random, int], IndexMap],
) -> None:
    rng = random.Random(0)
    for _ in range(50):
        plan = plan_lines(random_map(rng, 24), line_bits=5)
        assert len(plan.source_lines) == len(plan.target_lines) <= 5


def test_no_bits() -> None:
    plan = plan_lines(IndexMap(()), line_bits=5)
    assert plan.tables() == ([0, 0, 0, 0, 0, 0], [0, 0], 0)
