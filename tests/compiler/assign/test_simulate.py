from dataclasses import replace

import pytest
import torch

from compiler.assign import assign
from compiler.assign.laws import layout_of
from compiler.assign.simulate import by_element, elements_of, simulate
from compiler.errors import SimulationError
from compiler.ir.tile import TileGraph, TileView, steps


def test_a_wrong_rule_stops_the_simulation(transposed: TileGraph) -> None:
    given = assign(transposed)
    step = next(s for s, _ in steps(transposed.operators) if isinstance(s, TileView))
    made = given.layouts[step.result]
    wrong = replace(given, wanted={**given.wanted, (step, 0): made})
    memory = {name: torch.randn(1024) for name in "xy"}
    with pytest.raises(SimulationError, match="lacks elements"):
        simulate(wrong, memory, {})


def test_copies_must_agree() -> None:
    layout = layout_of([2], [1], [0], [])
    assert elements_of(layout).tolist() == [0, 1, 0, 1]
    assert by_element(layout, torch.tensor([5, 6, 5, 6]), "x").tolist() == [5, 6]
    nan = torch.tensor([float("nan"), 1.0] * 2)
    assert by_element(layout, nan, "x")[1] == 1
    with pytest.raises(SimulationError, match="copies of one element of x"):
        by_element(layout, torch.tensor([5, 6, 5, 7]), "x")
