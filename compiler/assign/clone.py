"""Graphs in which some tiles are made twice, each time in another layout."""

from collections.abc import Iterable
from dataclasses import replace

from algebra.layout import LinearLayout
from compiler.ir import scalar
from compiler.ir.expression import Expression, rewrite
from compiler.ir.tile import (
    Carried,
    Operator,
    Step,
    Tile,
    TileLoad,
    TileLoop,
    TileMap,
    TileStore,
    results_of,
    steps,
)

from .assignment import Assignment, Edge
from .laws import backward
from .rematerialise import Again


def with_clones(given: Assignment, again: Again, edges: Iterable[Edge]) -> Assignment:
    """Return an assignment in which the tiles of some edges are made again.

    Args:
        given: An assignment.
        again: How tiles are made.
        edges: Whose users get a tile of their own, in the layout that they want.
    """
    writer = _Writer(given, again)
    for edge in edges:
        clone = writer.made(edge.tile, edge.dst)
        for step, number in edge.users:
            writer.swaps.setdefault(step, {})[number] = clone
    operators = read_operators(writer.sequence(given.graph.operators))
    graph = replace(given.graph, operators=operators)
    return replace(given, graph=graph, layouts=writer.layouts, wanted=writer.wanted)


class _Writer:
    def __init__(self, given: Assignment, again: Again) -> None:
        self.again = again
        self.layouts = dict(given.layouts)
        self.wanted = dict(given.wanted)
        self.swaps: dict[Step, dict[int, Tile]] = {}
        self.after: dict[Step, list[Operator]] = {}
        self.clones: dict[tuple[Tile, LinearLayout], Tile] = {}

    def made(self, tile: Tile, layout: LinearLayout) -> Tile:
        """Return a clone of a tile, made right after the tile itself."""
        if (tile, layout) in self.clones:
            return self.clones[tile, layout]
        step = self.again.maker(tile)
        assert not isinstance(step, Carried | TileLoop | TileStore), "can be made again"
        clone = Tile(f"{tile.name}_{len(self.clones)}", tile.shape, tile.dtype)
        self.clones[tile, layout] = clone
        operands = list(step.operands)
        operand = backward(step, layout) if operands else layout
        parts = [self.made(one, operand) for one in operands]
        new = _renamed(step, dict(zip(operands, parts, strict=True)), clone)
        self.layouts[clone] = layout
        for number in range(len(parts)):
            self.wanted[new, number] = operand
        self.after.setdefault(step, []).append(new)
        return clone

    def sequence(self, operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
        found: list[Operator] = []
        for operator in operators:
            if isinstance(operator, TileLoop):
                found.append(self._loop(operator))
                continue
            found.append(self._swapped(operator))
            found += self.after.get(operator, [])
        return tuple(found)

    def _swapped(self, operator: Operator) -> Operator:
        swaps = self.swaps.get(operator)
        if swaps is None:
            return operator
        parts = {
            old: swaps[number]
            for number, old in enumerate(operator.operands)
            if number in swaps
        }
        result = (results_of(operator) or (None,))[0]
        new = _renamed(operator, parts, result)
        for number in range(len(operator.operands)):
            self.wanted[new, number] = self.wanted[operator, number]
        return new

    def _loop(self, loop: TileLoop) -> TileLoop:
        carried = []
        for one in loop.carried:
            swaps = self.swaps.get(one, {})
            operands = tuple(
                swaps.get(number, tile) for number, tile in enumerate(one.operands)
            )
            new = replace(one, operands=(operands[0], operands[1]))
            for number in range(2):
                self.wanted[new, number] = self.wanted[one, number]
            carried.append(new)
        return replace(loop, body=self.sequence(loop.body), carried=tuple(carried))


def read_operators(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Leave out what nothing reads any more."""
    while True:
        read = {tile for step, _ in steps(operators) for tile in step.operands}

        def kept(
            sequence: tuple[Operator, ...], read: set[Tile] = read
        ) -> tuple[Operator, ...]:
            found: list[Operator] = []
            for one in sequence:
                if isinstance(one, TileLoop):
                    found.append(replace(one, body=kept(one.body)))
                elif isinstance(one, TileStore) or read & set(results_of(one)):
                    found.append(one)
            return tuple(found)

        left = kept(operators)
        if len(list(steps(left))) == len(list(steps(operators))):
            return operators
        operators = left


def _renamed(step: Operator, parts: dict[Tile, Tile], result: Tile | None) -> Operator:
    """Return a step with other operands and perhaps another result."""
    names = {old.name: new for old, new in parts.items()}

    def change(node: Expression) -> Expression:
        if node.op == "local" and str(node.data) in names:
            return scalar.local(names[str(node.data)].name, node.dtype)
        return node

    def text(value: Expression) -> Expression:
        return rewrite(value, change)

    changes: dict[str, object] = {
        "operands": tuple(parts.get(tile, tile) for tile in step.operands)
    }
    if result is not None and hasattr(step, "result"):
        changes["result"] = result
    if isinstance(step, TileMap):
        changes["value"] = text(step.value)
    if isinstance(step, TileLoad | TileStore):
        changes["index"] = tuple(map(text, step.index))
        if step.condition is not None:
            changes["condition"] = text(step.condition)
    return replace(step, **changes)  # type: ignore[arg-type]
