from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest

from algebra.verdict import Proved
from proofs.parametric import Query, queries, theorems
from proofs.parametric.blocked import INSTANCES
from proofs.parametric.catalogue import parametric
from verify.solver import variables_of


def test_at_least_twenty_five_theorems_one_over_ten_million() -> None:
    found = theorems()
    assert len(found) >= 25
    assert len({theorem.name for theorem in found}) == len(found)
    assert max(theorem.instances for theorem in found) > 10_000_000


@pytest.mark.slow
def test_each_question_has_symbolic_parameters() -> None:
    asked = queries()
    assert set(asked) == {theorem.name for theorem in parametric()}
    for name, parts in asked.items():
        assert parts, name
        assert all(variables_of(part.claim) for part in parts), name


@pytest.mark.slow
def test_the_boxes_hold_as_many_parameter_sets_as_they_say(
    count: Callable[[Query], int],
) -> None:
    counted = 0
    for theorem in parametric():
        # 3-D boxes have their own count; others have parameters without bounds
        if "3d" in theorem.name or not theorem.name.endswith("_is_its_index_formula"):
            continue
        assert sum(map(count, theorem.build())) == theorem.instances, theorem.name
        counted += 1
    assert counted >= 15


def test_the_three_dimensional_box() -> None:
    """Count dim by dim: (tile, threads, warps, register bits) -> ways."""
    ways: Counter[tuple[int, ...]] = Counter({(0, 0, 0, 0): 1})
    for _ in range(3):
        grown: Counter[tuple[int, ...]] = Counter()
        for (p, t, w, r), count in ways.items():
            for a, b, c in product(range(5 - p), range(6 - t), range(6 - w)):
                for s in range(11):
                    registers = r + min(a, s) + max(0, s - a - b - c)
                    if registers <= 8:
                        grown[p + a, t + b, w + c, registers] += count
        ways = grown
    total = sum(count for (_, t, _, _), count in ways.items() if t == 5)
    assert total == INSTANCES[3] > 10_000_000


@pytest.mark.slow
@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.name)
def test_every_theorem_is_proved(theorem) -> None:  # type: ignore[no-untyped-def]
    assert isinstance(theorem.prove(300), Proved)
