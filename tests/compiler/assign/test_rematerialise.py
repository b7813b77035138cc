from compiler.assign.choices import Candidates, Threads
from compiler.assign.laws import layout_of
from compiler.assign.rematerialise import MOST_STEPS, Again
from compiler.cost import device
from compiler.ir.tile import TileGraph, coordinate, results_of, steps
from compiler.ir.tile_builder import TileBuilder


def again_of(graph: TileGraph) -> Again:
    return Again(Candidates(graph, Threads(0, device("sm_90")), 4))


def test_loads_of_memory_that_is_stored_to_are_not_made_again() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [32])
    x = b.load("x", [coordinate(0)], [32])
    y = b.counted(coordinate(0), [32])
    b.store("x", [coordinate(0)], x)
    again = again_of(b.graph())
    assert not again.is_possible(x) and again.is_possible(y)


def test_reductions_and_long_chains_are_not_made_again() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [32])
    x = b.load("x", [coordinate(0)], [32])
    total = b.reduce("sum", x, 0)
    for _ in range(MOST_STEPS):
        x = b.apply("neg", x)
    again = again_of(b.graph())
    assert not again.is_possible(total) and not again.is_possible(x)


def test_the_cost_is_that_of_all_steps(softmax: TileGraph) -> None:
    again = again_of(softmax)
    (load, _), (cast, _), *_ = list(steps(softmax.operators))
    tile, wide = results_of(load)[0], results_of(cast)[0]
    columns = [1 << bit for bit in range(10)]
    layout = layout_of(tile.shape, columns[:5], columns[5:], [])
    assert again.maker(tile) is load
    assert again.cost(wide, layout) > again.cost(tile, layout) > 0
