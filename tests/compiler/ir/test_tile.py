from compiler.ir.tile import (
    Carried,
    TileLoad,
    TileLoop,
    TileSplit,
    TileStore,
    coordinate,
    results_of,
    steps,
)
from compiler.ir.tile_builder import TileBuilder


def test_steps_come_with_their_loops() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [64])
    start = b.full([64], 0.0, "float32")
    with b.loop("k", 3, start) as inside:
        x = b.load("x", [coordinate(0)], [64])
        inside.yields(b.apply("add", x, inside.arguments[0]))
    b.store("x", [coordinate(0)], inside.results[0])
    graph = b.graph()
    (loop,) = (o for o in graph.operators if isinstance(o, TileLoop))
    found = list(steps(graph.operators))
    inner = [step for step, loops in found if loops == (loop,)]
    assert [type(step) for step in inner[:2]] == [Carried, TileLoad]
    assert results_of(loop) == (loop.carried[0].result,)
    assert loop.operands == (start,)
    assert results_of(loop.carried[0]) == (
        loop.carried[0].argument,
        loop.carried[0].result,
    )


def test_results() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [2])
    halves = b.split(b.load("x", [coordinate(0)], [2]))
    b.store("x", [0], b.expand_dims(halves[0], 0))
    kinds = {type(o): results_of(o) for o in b.operators}
    assert kinds[TileSplit] == halves and kinds[TileStore] == ()
