"""The layouts that a step can take: found by propagation from anchors, both ways.

A choice fixes the layouts of all operands and results of one step. Every operator
accepts every layout; the choices are those that some anchor asks for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra.dims import dim_name
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from compiler.convert import plan_gather, plan_reduction
from compiler.cost import Device, cost
from compiler.ir.expression import Expression, nodes
from compiler.ir.operations import OPERATIONS
from compiler.ir.scalar import bits
from compiler.ir.tile import (
    Carried,
    Step,
    Tile,
    TileDot,
    TileGather,
    TileGraph,
    TileLoad,
    TileLoop,
    TileMap,
    TileReduce,
    TileScan,
    TileStore,
    results_of,
    steps,
)

from .access import Access, access_of
from .anchors import coalesced
from .crossing import suiting
from .dot import dot_choices
from .laws import backward, bits_of, compact, forward, from_columns
from .scan import scan_cost

RESIDENT_WARPS = 16
MOST_SUITING = 8
"""Layouts of a tile that suit two accesses at once, besides those of one."""
Key = tuple[object, ...]
Wanted = LinearLayout | None
Combination = tuple[tuple[Wanted, ...], tuple[LinearLayout, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """Layouts of the operands and results of a step.

    Attributes:
        operands: One for each operand; None for what the step reads from shared
            memory, so may lie anyhow.
        results: One for each result.
        cost: What the step takes with them, once [cycles].
    """

    operands: tuple[Wanted, ...]
    results: tuple[LinearLayout, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class Threads:
    """What a program runs on.

    Attributes:
        warp_bits: Log2 of the warps [bits].
        device: Target.
    """

    warp_bits: int
    device: Device


def key_of(layout: Wanted) -> Key:
    """Return what tells layouts of one tile apart."""
    if layout is None:
        return ()
    return (layout.in_bits, layout.columns, layout.out_bits)


class Candidates:
    """Sets of layouts for each tile, growing from anchors."""

    def __init__(self, graph: TileGraph, threads: Threads, most: int) -> None:
        self.graph, self.threads, self.most = graph, threads, most
        self.steps: list[tuple[Step, tuple[TileLoop, ...]]] = list(
            steps(graph.operators)
        )
        self.layouts: dict[Tile, dict[Key, LinearLayout]] = {}
        self.accesses = {
            step: access_of(graph, step)
            for step, _ in self.steps
            if isinstance(step, TileLoad | TileStore)
        }
        self._fresh: list[tuple[Tile, LinearLayout]] = []
        self._users: dict[Tile, list[Step]] = {}
        for step, _ in self.steps:
            for tile in (*step.operands, *results_of(step)):
                self.layouts.setdefault(tile, {})
                users = self._users.setdefault(tile, [])
                if step not in users:
                    users.append(step)
        best = self._anchor()
        self._spread()
        warp_bits, lane_bits = threads.warp_bits, threads.device.lane_bits
        self.most += MOST_SUITING  # besides the others, so that none is crowded out
        for tile, layout in suiting(best, self._reached, warp_bits, lane_bits):
            self._offer(tile, layout)
        self._spread()

    def _spread(self) -> None:
        """Offer what the layouts that are new ask of others, until nothing is new."""
        while self._fresh:
            tile, layout = self._fresh.pop(0)
            for step in self._users[tile]:
                for other, derived in self._derived(step, tile, layout):
                    self._offer(other, derived)

    def _offer(self, tile: Tile, layout: LinearLayout) -> None:
        known = self.layouts[tile]
        key = key_of(layout)
        if key not in known and len(known) < self.most:
            known[key] = layout
            self._fresh.append((tile, layout))

    def _anchor(self) -> list[tuple[Tile, Access, LinearLayout]]:
        """Offer what accesses and products want; return the best of each access."""
        warp_bits, lane_bits = self.threads.warp_bits, self.threads.device.lane_bits
        wanted: list[tuple[Tile, list[LinearLayout]]] = []
        for step, _ in self.steps:
            if isinstance(step, TileDot):
                for choice in dot_choices(step, warp_bits, self.threads.device):
                    pairs = zip(
                        (*step.operands, step.result),
                        (*choice.operands, choice.result),
                        strict=True,
                    )
                    for tile, layout in pairs:
                        if layout is not None:
                            self._offer(tile, layout)
            if isinstance(step, TileLoad | TileStore):
                tile = step.result if isinstance(step, TileLoad) else step.operands[0]
                found = coalesced(self.accesses[step], warp_bits, lane_bits)
                wanted.append((tile, found))
        # the best of all first, so that none crowds out another
        for rank in range(max((len(found) for _, found in wanted), default=0)):
            for tile, found in wanted:
                if rank < len(found):
                    self._offer(tile, found[rank])
        return [
            (tile, access, found[0])
            for access, (tile, found) in zip(
                self.accesses.values(), wanted, strict=True
            )
        ]

    def _reached(self, tile: Tile, layout: LinearLayout) -> dict[Tile, LinearLayout]:
        """Return where a layout leads without anything moving between threads.

        Nowhere if a product is there: its layout is given, so something has to move.
        """
        found, fresh = {tile: layout}, [tile]
        while fresh:
            here = fresh.pop()
            for step in self._users[here]:
                if isinstance(step, TileDot):
                    return {}
                if isinstance(step, TileReduce | TileScan | TileGather | Carried):
                    continue
                for other, derived in self._derived(step, here, found[here]):
                    if other not in found:
                        found[other] = derived
                        fresh.append(other)
        return found

    def _derived(
        self, step: Step, tile: Tile, layout: LinearLayout
    ) -> list[tuple[Tile, LinearLayout]]:
        """Return what a layout of one tile of a step asks of the others."""
        results = results_of(step)
        found: list[tuple[Tile, LinearLayout]] = []
        if isinstance(step, TileDot):
            return found
        if isinstance(step, TileReduce):
            if tile is step.operands[0]:
                found.append((step.result, reduced(step, layout)))
            else:
                found.append((step.operands[0], in_registers(step, layout)))
            return found
        if isinstance(step, TileGather):
            source, index = step.operands
            if tile is not source:
                found += [(t, layout) for t in (index, step.result) if t is not tile]
            return found
        if tile in results:
            operand = backward(step, layout)
            found += [(one, operand) for one in step.operands]
            found += [(one, layout) for one in results if one is not tile]
        if tile in step.operands:
            operand, result = forward(step, layout)
            found += [(one, operand) for one in step.operands if one is not tile]
            found += [(one, result) for one in results]
        return found

    def choices(self, step: Step) -> list[Choice]:
        """Return the choices of a step, at least one."""
        found: dict[Key, Choice] = {}
        for operands, results in self._combinations(step):
            key = tuple(map(key_of, (*operands, *results)))
            if key not in found:
                price = self.cost(step, operands, results)
                found[key] = Choice(operands, results, price)
        return list(found.values())

    def _combinations(self, step: Step) -> list[Combination]:
        results = results_of(step)
        count = len(step.operands)
        found: list[Combination] = []
        if isinstance(step, TileDot):
            return [
                (choice.operands, (choice.result,))
                for choice in dot_choices(
                    step, self.threads.warp_bits, self.threads.device
                )
            ]
        if isinstance(step, TileReduce):
            for layout in self.layouts[step.operands[0]].values():
                found.append(((layout,), (reduced(step, layout),)))
            return found
        if isinstance(step, TileGather):
            for index in self.layouts[step.result].values():
                sources = [
                    *self.layouts[step.operands[0]].values(),
                    *gather_sources(step, index),
                ]
                found += [((source, index), (index,)) for source in sources]
            return found
        for tile in results:
            for layout in self.layouts[tile].values():
                found.append(
                    ((backward(step, layout),) * count, (layout,) * len(results))
                )
        for tile in dict.fromkeys(step.operands):
            for layout in self.layouts[tile].values():
                operand, result = forward(step, layout)
                found.append(((operand,) * count, (result,) * len(results)))
        return found

    def _product_cost(
        self,
        step: TileDot,
        operands: Sequence[LinearLayout | None],
        result: LinearLayout,
    ) -> float:
        wanted = (tuple(operands), result)
        return min(
            choice.cost
            for choice in dot_choices(step, self.threads.warp_bits, self.threads.device)
            if (choice.operands, choice.result) == wanted
        )

    def cost(
        self,
        step: Step,
        operands: Sequence[Wanted],
        results: Sequence[LinearLayout],
    ) -> float:
        """Return what a step takes with these layouts [cycles].

        What it takes to bring operands to shared memory is not in it.
        """
        device = self.threads.device
        if isinstance(step, TileDot):
            return self._product_cost(step, operands, results[0])
        read = [layout for layout in operands if layout is not None]
        match step:
            case TileLoad() | TileStore():
                layout = results[0] if isinstance(step, TileLoad) else read[0]
                return self.accesses[step].cost(layout)
            case TileMap(value=value):
                return map_cost(results[0], value, device)
            case TileReduce():
                return reduction_cost(read[0], step.axis, device)
            case TileGather():
                return gather_cost(step, read[0], read[1], device)
            case TileScan():
                return scan_cost(read[0], step, device)
            case Carried():
                return 0.01 * (1 << results[0].in_bits[0])
            case _:
                return 0.0


def reduced(step: TileReduce, layout: LinearLayout) -> LinearLayout:
    """Return where a reduction leaves its results: in the threads that had any part.

    Args:
        step: A reduction.
        layout: Of its operand.
    """
    found = plan_reduction(layout, [dim_name(step.axis)]).dst.linear
    hardware = dict(zip(found.in_names, found.in_bits, strict=True))
    return from_columns(hardware, step.result.shape, found.columns)


def map_cost(layout: LinearLayout, value: Expression, device: Device) -> float:
    """Return what computing a value at each register takes [cycles].

    What is the same for all elements is computed once, for nothing.
    """
    varies: set[int] = set()
    work = 0
    for node in nodes(value):
        if node.op in ("local", "digit") or any(id(a) in varies for a in node.args):
            varies.add(id(node))
            if node.op in OPERATIONS:
                work += OPERATIONS[node.op].cost
    registers = 1 << compact(layout).in_bits[0]
    return registers * work * device.cycles("alu")


def reduction_cost(layout: LinearLayout, axis: int, device: Device) -> float:
    """Return what reducing an axis takes, with waiting [cycles]."""
    found = plan_reduction(layout, [dim_name(axis)], device.name)
    kinds = [type(step).__name__ for step in found.steps]
    waits = kinds.count("Exchange") * device.latency("shfl") + kinds.count("Pass") * (
        device.latency("pass") + device.latency("bar.sync")
    )
    return found.cost + waits / RESIDENT_WARPS


def gather_cost(
    step: TileGather, source: LinearLayout, index: LinearLayout, device: Device
) -> float:
    """Return what a gather takes, by shuffles or through memory [cycles]."""
    words = max(1, bits(step.result.dtype) // 32)
    try:
        found = plan_gather(source, index, dim_name(step.axis), device.name)
    except LayoutError:
        stored = 1 << compact(source).in_bits[0]
        # addresses are random: of 32 lanes on 32 banks, about 3.5 meet
        loaded = 3.5 * (1 << index.in_bits[0])
        waits = device.latency("pass") + device.latency("bar.sync")
        barrier = cost({"bar.sync": 2}, device)
        return words * (stored + loaded) + barrier + waits / RESIDENT_WARPS
    return found.cost * words


def gather_sources(step: TileGather, index: LinearLayout) -> list[LinearLayout]:
    """Return layouts of the source from which shuffles can gather.

    The rows are where the index wants them, and all of a row is in its warp: along
    the lanes that the index spends on the axis, then in registers.
    """
    axis, source = step.axis, step.operands[0]
    low = sum(bits_of(source.shape)[:axis])
    size = bits_of(source.shape)[axis]
    here = sum(bits_of(step.result.shape)[:axis])
    width = bits_of(step.result.shape)[axis]

    def other(column: int) -> int:
        """Return a column without the axis, as an element of the source."""
        below = column & (1 << here) - 1
        return below | column >> here + width << low + size

    count, lanes = index.in_bits[:2]
    columns = [other(column) for column in index.columns]
    along = [
        at
        for at in range(count, count + lanes)
        if not columns[at] and index.columns[at]
    ]
    bit = 0
    for at in along[:size]:
        columns[at] = 1 << low + bit
        bit += 1
    registers = [column for column in columns[:count] if column]
    registers += [1 << low + rest for rest in range(bit, size)]
    hardware = dict(zip(index.in_names, index.in_bits, strict=True))
    hardware["register"] = len(registers)
    return [from_columns(hardware, source.shape, [*registers, *columns[count:]])]


def in_registers(step: TileReduce, layout: LinearLayout) -> LinearLayout:
    """Return the layout of a reduction's operand with the axis in registers."""
    axis, shape = step.axis, step.operands[0].shape
    low = sum(bits_of(shape)[:axis])
    size = bits_of(shape)[axis]
    columns = [
        column & (1 << low) - 1 | column >> low << low + size
        for column in layout.columns
    ]
    count = layout.in_bits[0]
    added = [1 << low + bit for bit in range(size)]
    hardware = dict(zip(layout.in_names, layout.in_bits, strict=True))
    hardware["register"] = count + size
    return from_columns(hardware, shape, [*added, *columns])
