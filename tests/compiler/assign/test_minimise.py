import numpy as np
import pytest

from compiler.assign.minimise import Table, exhaustive, minimise, total

Problem = tuple[list[Table], dict[tuple[int, int], Table]]


def random_problem(seed: int, variables: int = 5) -> Problem:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, variables)
    single = [rng.integers(0, 9, size).astype(float) for size in sizes]
    pairs = {
        (a, b): rng.integers(0, 9, (sizes[a], sizes[b])).astype(float)
        for a in range(variables)
        for b in range(a + 1, variables)
        if rng.random() < 0.6
    }
    return single, pairs


@pytest.mark.parametrize("seed", range(40))
def test_elimination_finds_the_optimum(seed: int) -> None:
    single, pairs = random_problem(seed)
    found = minimise(single, pairs)
    assert found.exact
    assert found.cost == exhaustive(single, pairs).cost
    assert found.cost == total(single, pairs, found.choices)


@pytest.mark.parametrize("seed", range(10))
def test_greedy_is_legal_and_never_better(seed: int) -> None:
    single, pairs = random_problem(seed)
    found = minimise(single, pairs, most_cells=0)
    assert not found.exact
    assert found.cost == total(single, pairs, found.choices)
    assert found.cost >= exhaustive(single, pairs).cost


@pytest.mark.parametrize("seed", range(10))
def test_bounds_are_refined_until_the_solution_is_true(seed: int) -> None:
    single, pairs = random_problem(seed)
    true = {pair: table.copy() for pair, table in pairs.items()}
    bounds = {pair: np.minimum(table, 1.0) for pair, table in pairs.items()}
    asked = 0

    def refine(first: int, second: int, a: int, b: int) -> bool:
        nonlocal asked
        asked += 1
        before = bounds[first, second][a, b]
        bounds[first, second][a, b] = true[first, second][a, b]
        return bool(before != true[first, second][a, b])

    found = minimise(single, bounds, refine)
    assert found.cost == exhaustive(single, true).cost


def test_a_wrong_optimum_would_be_seen() -> None:
    single, pairs = random_problem(3)
    best = exhaustive(single, pairs)
    assert any(
        total(single, pairs, at) > best.cost
        for at in np.ndindex(*(len(table) for table in single))
    )
