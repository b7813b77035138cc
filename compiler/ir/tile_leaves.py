"""The leaves of all expressions of a tile graph: which sizes a kernel takes."""

from collections.abc import Sequence

from .expression import Expression, leaves
from .index import add, mul
from .tile import Operator, TileGraph, TileLoad, TileLoop, TileMap, TileStore


def tile_leaves(graph: TileGraph, op: str) -> list[Expression]:
    """Return the leaves of a kind in all expressions of a graph."""
    found: dict[int, Expression] = {}

    def visit(operators: Sequence[Operator]) -> None:
        for operator in operators:
            roots: list[Expression] = []
            match operator:
                case TileLoad() | TileStore():
                    strides = graph.buffers[operator.buffer].strides or ()
                    parts = (
                        mul(i, s) for i, s in zip(operator.index, strides, strict=True)
                    )
                    roots.append(add(0, *parts))
                    if operator.condition is not None:
                        roots.append(operator.condition)
                case TileMap(value=value):
                    roots.append(value)
                case TileLoop(rounds=rounds, body=body):
                    roots.append(rounds)
                    visit(body)
            for leaf in leaves(op, *roots):
                found[id(leaf)] = leaf

    visit(graph.operators)
    return list(found.values())


def sizes_of(graph: TileGraph) -> list[str]:
    """Return the sizes that a kernel takes, by name."""
    counters = set()

    def visit(operators: Sequence[Operator]) -> None:
        for operator in operators:
            if isinstance(operator, TileLoop):
                counters.add(str(operator.counter.data))
                visit(operator.body)

    visit(graph.operators)
    names = {str(leaf.data) for leaf in tile_leaves(graph, "symbol")}
    return sorted(name for name in names - counters if not name.startswith("program"))
