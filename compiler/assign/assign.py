"""Find a layout for each tile of a graph: propagation, then the cheapest choices."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algebra.layout import LinearLayout
from compiler.cost import device
from compiler.ir.expression import Expression
from compiler.ir.scalar import bits
from compiler.ir.tile import Step, Tile, TileDot, TileGraph, TileLoop, results_of

from .assignment import Assignment
from .choices import Candidates, Choice, Threads, Wanted, key_of
from .clone import with_clones
from .conversion_cost import conversion_cost, is_free, least_cost
from .dot import memory_cost
from .minimise import Table, minimise
from .rematerialise import Again

MOST_LAYOUTS = 16


@dataclass(slots=True)
class _Use:
    """Uses of a tile by a step: an edge of the problem."""

    tile: Tile
    weight: float
    sources: list[LinearLayout]
    wanted: list[Wanted]
    turned: bool


def assign(
    graph: TileGraph,
    warps: int = 4,
    target: str = "sm_90",
    *,
    most_layouts: int = MOST_LAYOUTS,
    most_cells: int = 1 << 20,
) -> Assignment:
    """Give each edge of a graph a layout, at the least cost.

    Law: ``assign(...).prove()`` is ``Proved``. Where ``exact`` is true, no choice among
    the candidates costs less.

    Args:
        graph: What one program computes.
        warps: Warps of a program, a power of two.
        target: As in ``compiler.convert.plan``.
        most_layouts: Candidates of a tile at most.
        most_cells: Size of the exact solver's tables; 0 for the greedy one.
    """
    threads = Threads(warps.bit_length() - 1, device(target))
    problem = _Problem(graph, threads, most_layouts)
    products = [at for at, one in enumerate(problem.steps) if isinstance(one, TileDot)]
    found = minimise(
        problem.single,
        problem.pairs,
        problem.refine,
        most_cells=most_cells,
        decisive=products,
    )
    chosen = {
        step: problem.choices[at][found.choices[at]]
        for at, step in enumerate(problem.steps)
    }
    return problem.assignment(chosen, found.cost, found.exact)


def arbitrary(
    graph: TileGraph,
    choose: Callable[[int], int],
    warps: int = 4,
    target: str = "sm_90",
    *,
    most_layouts: int = MOST_LAYOUTS,
) -> Assignment:
    """Give each edge of a graph some layout: right, whatever it costs.

    Any operator accepts any layout, so any choices make a right program. Judges and
    printers are tried on these, which have more conversions than good ones.

    Args:
        graph: As for ``assign``.
        choose: Number of choices -> one of them, from 0.
        warps: As for ``assign``.
        target: As for ``assign``.
        most_layouts: As for ``assign``.
    """
    threads = Threads(warps.bit_length() - 1, device(target))
    problem = _Problem(graph, threads, most_layouts, bounds=False)
    chosen = {
        step: choices[choose(len(choices))]
        for step, choices in zip(problem.steps, problem.choices, strict=True)
    }
    return problem.assignment(chosen, float("inf"), False, again=False)


class _Problem:
    """Variables are steps; pairs are uses of a tile."""

    def __init__(
        self, graph: TileGraph, threads: Threads, most: int, *, bounds: bool = True
    ) -> None:
        self.graph, self.threads = graph, threads
        self.candidates = Candidates(graph, threads, most)
        self.again = Again(self.candidates)
        self.steps = [step for step, _ in self.candidates.steps]
        self.choices = [self.candidates.choices(step) for step in self.steps]
        weights = [_weight(loops, graph) for _, loops in self.candidates.steps]
        self.single: list[Table] = [
            np.array([choice.cost for choice in choices]) * weight
            for choices, weight in zip(self.choices, weights, strict=True)
        ]
        self.pairs: dict[tuple[int, int], Table] = {}
        self.uses: dict[tuple[int, int], list[_Use]] = {}
        self._true: dict[tuple[object, ...], float] = {}
        if not bounds:
            return
        makers = {
            tile: (at, number)
            for at, step in enumerate(self.steps)
            for number, tile in enumerate(results_of(step))
        }
        for at, step in enumerate(self.steps):
            for number, tile in enumerate(step.operands):
                maker, result = makers[tile]
                weight = min(weights[maker], weights[at])
                self._use(maker, result, at, number, tile, weight)
        for pair in self.uses:
            self.pairs[pair] = sum(
                (self._bounds(use) for use in self.uses[pair]),
                np.zeros((len(self.choices[pair[0]]), len(self.choices[pair[1]]))),
            )

    def _use(
        self, maker: int, result: int, user: int, number: int, tile: Tile, weight: float
    ) -> None:
        sources = [choice.results[result] for choice in self.choices[maker]]
        wanted = [choice.operands[number] for choice in self.choices[user]]
        if maker == user:  # a loop that hands on what it got
            for at, (a, b) in enumerate(zip(sources, wanted, strict=True)):
                self.single[user][at] += 0.0 if a == b else self._cost(tile, a, b)
            return
        pair = (min(maker, user), max(maker, user))
        use = _Use(tile, weight, sources, wanted, maker > user)
        known = self.uses.setdefault(pair, [])
        same = [u for u in known if u.tile is tile and u.wanted == wanted]
        if not same:
            known.append(use)

    def _bounds(self, use: _Use) -> Table:
        width = max(8, bits(use.tile.dtype))
        memory: dict[tuple[object, object], float] = {}
        table = np.zeros((len(use.sources), len(use.wanted)))
        possible = self.again.is_possible(use.tile)
        for at, src in enumerate(use.sources):
            for to, dst in enumerate(use.wanted):
                key = (key_of(src), key_of(dst))
                if dst is None:
                    memory[key] = self._cost(use.tile, src, None)
                elif key not in memory:
                    memory[key] = least_cost(src, dst, width, self.threads.device.name)
                    if possible and memory[key]:
                        memory[key] = min(memory[key], self.again.cost(use.tile, dst))
                table[at, to] = memory[key] * use.weight
        return table.T if use.turned else table

    def refine(self, first: int, second: int, a: int, b: int) -> bool:
        """Put true costs in the place of bounds; see ``minimise``."""
        table = self.pairs[first, second]
        true = 0.0
        for use in self.uses[first, second]:
            at, to = (b, a) if use.turned else (a, b)
            cost = self._cost(use.tile, use.sources[at], use.wanted[to])
            true += cost * use.weight
        if abs(true - table[a, b]) <= 1e-9:
            return False
        table[a, b] = true
        return True

    def _cost(self, tile: Tile, src: LinearLayout, dst: Wanted) -> float:
        if dst is not None and is_free(src, dst):
            return 0.0
        key = (tile, key_of(src), key_of(dst))
        if key not in self._true:
            width = max(8, bits(tile.dtype))
            machine = self.threads.device
            if dst is None:
                number = self._factor(tile)
                found = memory_cost(src, tile.shape, width, number, machine)
                return self._true.setdefault(key, found)
            found = conversion_cost(src, dst, width, machine.name)
            if self.again.is_possible(tile):
                found = min(found, self.again.cost(tile, dst))
            self._true[key] = found
        return self._true[key]

    def _factor(self, tile: Tile) -> int:
        """Return which factor of a product a tile is, which is read from memory."""
        return next(
            step.operands.index(tile)
            for step in self.steps
            if isinstance(step, TileDot) and tile in step.operands[:2]
        )

    def assignment(
        self,
        chosen: dict[Step, Choice],
        cost: float,
        exact: bool,
        *,
        again: bool = True,
    ) -> Assignment:
        """Return the graph with its layouts, tiles that are made again cloned."""
        layouts: dict[Tile, LinearLayout] = {}
        wanted: dict[tuple[Step, int], LinearLayout] = {}
        for step in self.steps:
            for tile, layout in zip(
                results_of(step), chosen[step].results, strict=True
            ):
                layouts[tile] = layout
        for step in self.steps:
            for number, read in enumerate(chosen[step].operands):
                tile = step.operands[number]
                wanted[step, number] = layouts[tile] if read is None else read
        found = Assignment(self.graph, self.threads, layouts, wanted, cost, exact)
        cheaper = []
        for edge in found.conversions():
            if again and self.again.is_possible(edge.tile):
                width = max(8, bits(edge.tile.dtype))
                name = self.threads.device.name
                moved = conversion_cost(edge.src, edge.dst, width, name)
                if self.again.cost(edge.tile, edge.dst) < moved:
                    cheaper.append(edge)
        return with_clones(found, self.again, cheaper) if cheaper else found


def _weight(loops: tuple[TileLoop, ...], graph: TileGraph) -> float:
    weight = 1.0
    for loop in loops:
        weight *= max(1, _typical(loop.rounds, graph))
    return weight


def _typical(value: Expression, graph: TileGraph) -> int:
    from .access import _value

    return _value(value, graph, {})
