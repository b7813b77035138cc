"""The constants that select a compiled kernel."""

import random
from collections.abc import Callable

import pytest

from compiler.permuting.index_map import IndexMap
from compiler.permuting.launch import RANK, plan_launch


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
def test_tiles_fit_a_program(
    element_bytes: int, random_map: Callable[[random.Random, int], IndexMap]
) -> None:
    rng = random.Random(element_bytes)
    for _ in range(60):
        launch = plan_launch(random_map(rng, rng.randrange(34)), element_bytes)
        tile_bits = len(launch.plan.source)
        assert element_bytes << tile_bits <= 1 << 15
        assert len(launch.constants["SHAPE"]) == len(launch.constants["AXES"]) == RANK
        assert 1 <= launch.num_warps <= 16
        assert max(launch.addresses) < 1 << launch.address_bits - 1


def test_maps_of_one_shape_share_a_kernel(
    random_map: Callable[[random.Random, int], IndexMap],
) -> None:
    first = IndexMap(tuple(1 << i for i in reversed(range(26))))
    second = IndexMap(tuple(1 << (i + 14) % 28 for i in range(28)))
    assert plan_launch(first, 4).constants == plan_launch(second, 4).constants


@pytest.mark.parametrize(("bits", "width"), [(31, 32), (32, 64), (33, 64)])
def test_addresses_are_wide_enough(bits: int, width: int) -> None:
    reversal = IndexMap(tuple(1 << i for i in reversed(range(bits))))
    assert plan_launch(reversal, 1).address_bits == width
