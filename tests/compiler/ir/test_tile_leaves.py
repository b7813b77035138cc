from compiler.ir.index import add, mul, symbol
from compiler.ir.tile import coordinate
from compiler.ir.tile_builder import TileBuilder
from compiler.ir.tile_leaves import sizes_of, tile_leaves


def test_sizes_are_those_that_are_used() -> None:
    b = TileBuilder("one")
    n = b.size("n")
    b.size("unused")
    b.buffer("x", "float32", [n, n])
    start = b.full([8], 0.0, "float32")
    with b.loop("k", symbol("rounds"), start) as inside:
        row = add(mul(inside.counter, 8), symbol("program0"))
        x = b.load("x", [row, coordinate(0)], [8])
        inside.yields(b.apply("add", x, inside.arguments[0]))
    graph = b.graph()
    assert sizes_of(graph) == ["n", "rounds"]
    names = {str(leaf.data) for leaf in tile_leaves(graph, "symbol")}
    assert names == {"n", "rounds", "k", "program0"}
