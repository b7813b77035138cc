import itertools
import random
from collections.abc import Callable

import pytest
import torch

from algebra.verdict import Proved
from compiler.assign import arbitrary, assign
from compiler.assign.assign import _Problem
from compiler.assign.choices import Threads
from compiler.assign.minimise import total
from compiler.assign.simulate import simulate
from compiler.cost import device
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.tile import TileGraph

Memory = Callable[[TileGraph, int], dict[str, torch.Tensor]]
SYMBOLS: dict[str, dict[str, int]] = {
    "softmax": {"n": 208, "program0": 1},
    "transposed": {},
    "looped": {"rounds": 3},
}


@pytest.mark.parametrize("name", SYMBOLS)
def test_assigned_graphs_are_proved_and_simulated_right(
    name: str, memory: Memory, request: pytest.FixtureRequest
) -> None:
    graph, symbols = request.getfixturevalue(name), SYMBOLS[name]
    found = assign(graph)
    assert found.exact and isinstance(found.prove(), Proved)
    expected, got = memory(graph, 1 << 16), memory(graph, 1 << 16)
    run_tiles(graph, expected, symbols)
    simulate(found, got, symbols)
    for array in expected:
        torch.testing.assert_close(got[array], expected[array])


def test_softmax_needs_no_conversion(softmax: TileGraph) -> None:
    assert assign(softmax).conversions() == []


def test_exact_is_the_best_of_all_choices(transposed: TileGraph) -> None:
    graph = transposed
    threads = Threads(0, device("sm_90"))
    problem = _Problem(graph, threads, 4)
    for (first, second), table in problem.pairs.items():
        for a, b in itertools.product(*map(range, table.shape)):
            problem.refine(first, second, a, b)
    best = min(
        total(problem.single, problem.pairs, at)
        for at in itertools.product(*(range(len(t)) for t in problem.single))
    )
    found = assign(graph, 1, most_layouts=4)
    assert found.exact and found.cost == pytest.approx(best)


def test_greedy_is_right_and_no_better(softmax: TileGraph) -> None:
    exact, greedy = assign(softmax), assign(softmax, most_cells=0)
    assert not greedy.exact and isinstance(greedy.prove(), Proved)
    assert greedy.cost >= exact.cost - 1e-9


def test_arbitrary_choices_are_right(memory: Memory, transposed: TileGraph) -> None:
    rng = random.Random(0)
    moved = 0
    for _ in range(5):
        found = arbitrary(transposed, rng.randrange)
        assert isinstance(found.prove(), Proved)
        moved += len(found.conversions())
        expected, got = memory(transposed, 1 << 10), memory(transposed, 1 << 10)
        run_tiles(transposed, expected, {})
        simulate(found, got, {})
        assert torch.equal(expected["y"], got["y"])
    assert moved
