"""Planted faults: each wrong layout, rule or connection is refuted."""

from dataclasses import replace

import pytest

from algebra.verdict import Proved, Refuted
from compiler.assign import Assignment, assign
from compiler.assign.laws import layout_of
from compiler.ir.tile import Carried, TileGraph, TileReduce, TileView, results_of, steps


def find(given: Assignment, kind: type) -> object:
    return next(s for s, _ in steps(given.graph.operators) if isinstance(s, kind))


@pytest.mark.parametrize("name", ["softmax", "transposed", "looped"])
def test_every_layout_matters(name: str, request: pytest.FixtureRequest) -> None:
    """Another layout for any tile or any use is either refuted or right by itself."""
    graph: TileGraph = request.getfixturevalue(name)
    given = assign(graph)
    assert isinstance(given.prove(), Proved)
    refuted = 0
    for tile, layout in given.layouts.items():
        columns = list(layout.columns)
        if len(set(columns)) < 2:
            continue
        columns[0], columns[-1] = columns[-1], columns[0]
        wrong = layout_of(
            tile.shape,
            columns[: layout.in_bits[0]],
            columns[layout.in_bits[0] : layout.in_bits[0] + 5],
            columns[layout.in_bits[0] + 5 :],
        )
        if wrong != layout:
            changed = replace(given, layouts={**given.layouts, tile: wrong})
            refuted += isinstance(changed.prove(), Refuted)
    assert refuted


def test_a_wrong_propagation_rule_is_refuted(transposed: TileGraph) -> None:
    """A transpose whose operand is said to lie as its result does."""
    given = assign(transposed)
    step = find(given, TileView)
    assert isinstance(step, TileView)
    made = given.layouts[step.result]
    wrong = replace(given, wanted={**given.wanted, (step, 0): made})
    verdict = wrong.prove()
    assert isinstance(verdict, Refuted) and "TileView" in str(verdict.counterexample)


def test_results_of_a_reduction_elsewhere_are_refuted(softmax: TileGraph) -> None:
    given = assign(softmax)
    step = find(given, TileReduce)
    assert isinstance(step, TileReduce)
    wrong = layout_of(step.result.shape, [1, 2], [0] * 5, [0, 0])
    verdict = replace(given, layouts={**given.layouts, step.result: wrong}).prove()
    assert isinstance(verdict, Refuted)


def test_loops_hand_on_in_one_place(looped: TileGraph) -> None:
    given = assign(looped)
    step = find(given, Carried)
    assert isinstance(step, Carried)
    other = layout_of([64], [32], [1, 2, 4, 8, 16], [0, 0])
    wrong = replace(given, wanted={**given.wanted, (step, 1): other})
    assert isinstance(wrong.prove(), Refuted)


def test_missing_elements_threads_and_layouts_are_refuted(softmax: TileGraph) -> None:
    given = assign(softmax)
    first = next(iter(given.layouts))
    missing = {t: layout for t, layout in given.layouts.items() if t is not first}
    assert isinstance(replace(given, layouts=missing).prove(), Refuted)
    for lanes, warps in ((5, 1), (5, 2)):
        bad = layout_of(first.shape, [1], [2, 4, 8, 16, 32][:lanes], [64, 128][:warps])
        layouts = {**given.layouts, first: bad}
        assert isinstance(replace(given, layouts=layouts).prove(), Refuted)
    assert results_of(given.graph.operators[0])[0] is first
