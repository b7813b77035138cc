"""Computing a tile again in another layout, where that costs less than moving it."""

from collections.abc import Iterable

from algebra.layout import LinearLayout
from compiler.ir.tile import (
    Step,
    Tile,
    TileJoin,
    TileLoad,
    TileMap,
    TileStore,
    TileUpcast,
    TileView,
    results_of,
)

from .choices import Candidates
from .laws import backward

MOST_STEPS = 6


class Again:
    """What tiles cost if they are made anew, from loads, numbers and constants on.

    Args:
        candidates: Whose costs are meant.
    """

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self._made: dict[Tile, tuple[Step, int]] = {}
        stored = set(candidates.graph.changed)
        for step, loops in candidates.steps:
            if isinstance(step, TileStore):
                stored.add(step.buffer)
            for tile in results_of(step):
                self._made[tile] = step, len(loops)
        self._stored = stored
        self._sizes: dict[Tile, int | None] = {}
        self._costs: dict[tuple[Tile, LinearLayout], float] = {}

    def maker(self, tile: Tile) -> Step:
        """Return the step that makes a tile."""
        return self._made[tile][0]

    def is_possible(self, tile: Tile) -> bool:
        """Return whether a tile can be made again at its place.

        What it comes from are loads of memory that the program does not change, and
        what is computed, not too much of it.
        """
        size = self._size(tile)
        return size is not None and size <= MOST_STEPS

    def _size(self, tile: Tile) -> int | None:
        if tile not in self._sizes:
            step, depth = self._made[tile]
            self._sizes[tile] = None
            if isinstance(step, TileLoad | TileMap | TileView | TileJoin | TileUpcast):
                free = not isinstance(step, TileLoad) or (
                    step.buffer not in self._stored
                )
                inner = [self._size(one) for one in _distinct(step.operands)]
                same = all(self._made[one][1] == depth for one in step.operands)
                if free and same and None not in inner:
                    self._sizes[tile] = 1 + sum(s for s in inner if s is not None)
        return self._sizes[tile]

    def cost(self, tile: Tile, layout: LinearLayout) -> float:
        """Return what making a tile again in a layout takes [cycles]."""
        if (tile, layout) not in self._costs:
            step = self._made[tile][0]
            operand = backward(step, layout) if step.operands else layout
            operands = (operand,) * len(step.operands)
            total = self.candidates.cost(step, operands, (layout,))
            total += sum(self.cost(one, operand) for one in _distinct(step.operands))
            self._costs[tile, layout] = total
        return self._costs[tile, layout]


def _distinct(tiles: Iterable[Tile]) -> list[Tile]:
    return list(dict.fromkeys(tiles))
