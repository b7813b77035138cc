from dataclasses import replace

import torch

from algebra.verdict import Proved
from compiler.assign import assign
from compiler.assign.choices import Candidates, Threads
from compiler.assign.clone import with_clones
from compiler.assign.laws import layout_of
from compiler.assign.rematerialise import Again
from compiler.assign.simulate import simulate
from compiler.cost import device
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.tile import TileGraph, TileLoad, TileMap, TileStore, coordinate, steps
from compiler.ir.tile_builder import TileBuilder


def twice_graph() -> TileGraph:
    b = TileBuilder("twice")
    for name in ("x", "y", "z"):
        b.buffer(name, "float32", [64])
    x = b.apply("neg", b.load("x", [coordinate(0)], [64]))
    b.store("y", [coordinate(0)], x)
    b.store("z", [coordinate(0)], x)
    return b.graph()


def test_a_clone_is_made_from_loads_on_and_is_right() -> None:
    graph = twice_graph()
    given = assign(graph, 1)
    other = layout_of([64], [32], [1, 2, 4, 8, 16], [])
    store = graph.operators[-1]
    assert given.layouts[store.operands[0]] != other
    given = replace(given, wanted={**given.wanted, (store, 0): other})
    assert len(given.conversions()) == 1
    again = Again(Candidates(graph, Threads(0, device("sm_90")), 4))
    made = with_clones(given, again, given.conversions())
    assert made.conversions() == [] and isinstance(made.prove(), Proved)
    kinds = [type(step) for step, _ in steps(made.graph.operators)]
    assert kinds.count(TileLoad) == kinds.count(TileMap) == 2
    assert kinds.count(TileStore) == 2
    memory = {name: torch.arange(64.0) for name in "xyz"}
    expected = {name: value.clone() for name, value in memory.items()}
    run_tiles(graph, expected, {})
    simulate(made, memory, {})
    assert all(torch.equal(memory[name], expected[name]) for name in memory)


def test_what_nothing_reads_any_more_goes() -> None:
    graph = twice_graph()
    given = assign(graph, 1)
    other = layout_of([64], [32], [1, 2, 4, 8, 16], [])
    wanted = dict(given.wanted)
    for operator in graph.operators:
        if isinstance(operator, TileStore):
            wanted[operator, 0] = other
    given = replace(given, wanted=wanted)
    again = Again(Candidates(graph, Threads(0, device("sm_90")), 4))
    made = with_clones(given, again, given.conversions())
    assert len(made.graph.operators) == len(graph.operators)
