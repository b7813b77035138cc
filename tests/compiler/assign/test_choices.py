import random
from collections.abc import Callable

import pytest

from algebra import LinearLayout
from algebra.errors import LayoutError
from algebra.verdict import Proved
from compiler.assign.choices import (
    Candidates,
    Threads,
    gather_cost,
    gather_sources,
    in_registers,
    key_of,
    map_cost,
    reduced,
    reduction_cost,
)
from compiler.assign.laws import layout_of
from compiler.convert import plan_gather
from compiler.cost import device
from compiler.ir import scalar
from compiler.ir.index import symbol
from compiler.ir.tile import Tile, TileGather, TileGraph, TileReduce, results_of

Draw = Callable[[tuple[int, ...], random.Random], LinearLayout]
MACHINE = device("sm_90")
X, Y = Tile("x", (16, 8), "float32"), Tile("y", (16,), "float32")
REDUCE = TileReduce(Y, (X,), 1, "sum")


def test_every_step_has_choices_that_fit(softmax: TileGraph) -> None:
    candidates = Candidates(softmax, Threads(2, MACHINE), 8)
    for step, _ in candidates.steps:
        for choice in candidates.choices(step):
            assert len(choice.operands) == len(step.operands)
            for tile, layout in zip(results_of(step), choice.results, strict=True):
                assert layout.is_surjective
                assert tuple(layout.out_dims.values()) == tile.shape
            assert choice.cost >= 0


def test_candidates_are_bounded(softmax: TileGraph) -> None:
    candidates = Candidates(softmax, Threads(2, MACHINE), 3)
    assert max(map(len, candidates.layouts.values())) == 3


@pytest.mark.parametrize("seed", range(5))
def test_reduced_layouts_hold_all_results(seed: int, draw_layout: Draw) -> None:
    made = reduced(REDUCE, draw_layout((16, 8), random.Random(seed)))
    assert made.is_surjective and made.out_dims == {"dim0": 16}


def test_an_axis_in_registers_reduces_without_shuffles(draw_layout: Draw) -> None:
    made = draw_layout((16,), random.Random(0))
    source = in_registers(REDUCE, made)
    assert source.is_surjective
    inside = reduction_cost(source, 1, MACHINE)
    lanes = layout_of([16, 8], [1, 2, 4, 8], [16, 32, 64, 0, 0], [0])
    assert inside <= reduction_cost(lanes, 1, MACHINE) or made.in_bits[0]


def test_gather_sources_suit_shuffles() -> None:
    index = Tile("i", (16, 4), "int32")
    step = TileGather(Tile("z", (16, 4), "float32"), (X, index), 1)
    layout = layout_of([16, 4], [16], [1, 2, 4, 32, 0], [8])
    (source,) = gather_sources(step, layout)
    assert source.is_surjective
    verdict = plan_gather(source, layout, "dim1").prove()
    assert isinstance(verdict, Proved)
    assert gather_cost(step, source, layout, MACHINE) > 0
    spread = layout_of([16, 8], [1], [2, 4, 8, 16, 32], [64])
    with pytest.raises(LayoutError):
        plan_gather(spread, layout, "dim1")
    assert gather_cost(step, spread, layout, MACHINE) > 0


def test_what_all_elements_share_is_free() -> None:
    layout = layout_of([16], [1, 2], [4, 8, 0, 0, 0], [])
    shared = scalar.apply(
        "truediv",
        scalar.constant(1.0, "float32"),
        scalar.from_index(symbol("n"), "float32"),
    )
    assert map_cost(layout, shared, MACHINE) == 0
    each = scalar.apply("add", scalar.local("x", "float32"), shared)
    assert map_cost(layout, each, MACHINE) == 4 * MACHINE.cycles("alu")


def test_keys_tell_registers_from_lanes() -> None:
    one, other = layout_of([2], [1], [], []), layout_of([2], [], [1], [])
    assert one.columns == other.columns and key_of(one) != key_of(other)
