import random
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra.verdict import Proved
from compiler.assign import Assignment, arbitrary, assign, run_tiles, simulate
from verify.strategies.tile_graphs import MoveCase, TileCase, move_graphs, tile_graphs

QUIET = list(HealthCheck)


def right(case: TileCase, found: Assignment) -> None:
    assert isinstance(found.prove(), Proved)
    expected, got = case.memory(), case.memory()
    run_tiles(case.graph, expected, {})
    simulate(found, got, {})
    for name, value in expected.items():
        assert torch.equal(value, got[name])


@settings(max_examples=15, deadline=None, suppress_health_check=QUIET)
@given(tile_graphs(most_operators=4))
def test_graphs_are_assigned_proved_and_simulated_right(case: TileCase) -> None:
    right(case, assign(case.graph, most_layouts=4))


@settings(max_examples=15, deadline=None, suppress_health_check=QUIET)
@given(tile_graphs(most_operators=4), st.randoms(use_true_random=False))
def test_any_choices_are_right(case: TileCase, rng: random.Random) -> None:
    right(case, arbitrary(case.graph, lambda n: rng.randrange(n), most_layouts=4))


@settings(max_examples=30, deadline=None, suppress_health_check=QUIET)
@given(move_graphs())
def test_moves_end_where_they_began(case: MoveCase) -> None:
    size = 1
    for extent in case.loaded.shape:
        size *= extent
    dtype: Any = getattr(torch, case.loaded.dtype)
    memory = {"in0": (torch.arange(size) % 100).to(dtype)}
    memory["out"] = torch.full((size,), 101).to(dtype)
    run_tiles(case.graph, memory, {})
    assert torch.equal(memory["in0"], memory["out"])


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
@given(tile_graphs(most_operators=6))
def test_1000_graphs_at_the_least_cost(case: TileCase) -> None:
    right(case, assign(case.graph, most_layouts=5))


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
@given(tile_graphs(most_operators=6), st.randoms(use_true_random=False))
def test_1000_graphs_with_any_choices(case: TileCase, rng: random.Random) -> None:
    right(case, arbitrary(case.graph, lambda n: rng.randrange(n), most_layouts=6))
