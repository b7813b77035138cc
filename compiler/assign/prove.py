"""Prove an assignment: every element of every edge is where the next step reads it.

Exact F2 algebra, for all elements, without enumerating any. What a step reads of its
operands comes from ``laws.need`` alone; how the layouts were found is not looked at.
"""

from algebra.dims import dim_name
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from algebra.verdict import Proved, Refuted, Verdict
from compiler.convert import plan, plan_gather, plan_reduction
from compiler.ir.scalar import bits
from compiler.ir.tile import (
    Carried,
    Step,
    Tile,
    TileDot,
    TileGather,
    TileLoad,
    TileMap,
    TileReduce,
    TileScan,
    TileSplit,
    TileStore,
    results_of,
    steps,
)

from .assignment import Assignment
from .dot import dot_choices
from .laws import bits_of, sources
from .scan import fetched


def prove(given: Assignment) -> Verdict:
    """Return ``Proved``, or ``Refuted`` with the first edge or step that is wrong."""
    checked = 0
    made: set[Tile] = set()
    for step, _ in steps(given.graph.operators):
        for tile in results_of(step):
            fault = _tile(given, tile)
            if fault:
                return Refuted(f"{tile.name}: {fault}")
            made.add(tile)
        fault = _step(given, step)
        if fault:
            return Refuted(f"{_name(step)}: {fault}")
        checked += 1
    edges = given.edges()
    for edge in edges:
        verdict = given.plan(edge).prove()
        if not isinstance(verdict, Proved):
            return Refuted(f"conversion of {edge.tile.name}: {verdict}")
    return Proved("exact F2 algebra", (("steps", checked), ("edges", len(edges))))


def _name(step: Step) -> str:
    names = ", ".join(tile.name for tile in (results_of(step) or step.operands))
    return f"{type(step).__name__} of {names}"


def _tile(given: Assignment, tile: Tile) -> str:
    layout = given.layouts.get(tile)
    if layout is None:
        return "has no layout"
    return _holds(given, layout, tile)


def _holds(given: Assignment, layout: LinearLayout, tile: Tile) -> str:
    if list(layout.out_bits) != bits_of(tile.shape):
        return f"its layout is of another shape, {layout.out_dims}"
    if not layout.is_surjective:
        return "its layout lacks elements"
    threads = given.threads
    due = (threads.device.lane_bits, threads.warp_bits, 0)
    if layout.in_bits[1:] != due:
        return f"its layout is of other threads, {layout.in_dims}"
    return ""


def _step(given: Assignment, step: Step) -> str:
    read = []
    for number, tile in enumerate(step.operands):
        wanted = given.wanted.get((step, number))
        if wanted is None:
            return f"operand {number} has no layout"
        fault = _holds(given, wanted, tile)
        if fault:
            return f"operand {number}: {fault}"
        read.append(wanted)
    made = [given.layouts[tile] for tile in results_of(step)]
    match step:
        case TileLoad() | TileStore() | TileMap() | TileScan() | Carried():
            if any(layout != (made or read)[0] for layout in (*made, *read)):
                return "operands and results are in different places"
            return _scan(given, step, read[0]) if isinstance(step, TileScan) else ""
        case TileReduce():
            return _reduce(given, step, read[0], made[0])
        case TileGather():
            return _gather(given, step, read, made[0])
        case TileDot():
            return _dot(given, step, read, made[0])
        case TileSplit():
            lacking = [w for w in (0, 1) if sources(step, read[0], made[w], w) is None]
            return f"a thread lacks elements of half {lacking[0]}" if lacking else ""
    for number, layout in enumerate(read):
        if sources(step, layout, made[0]) is None:
            return f"a thread lacks elements of operand {number}"
    return ""


def _scan(given: Assignment, step: TileScan, layout: LinearLayout) -> str:
    width = max(8, bits(step.result.dtype))
    for bit in range(bits_of(step.result.shape)[step.axis]):
        there = fetched(layout, step.result.shape, step.axis, bit)
        verdict = plan(layout, there, width, given.threads.device.name).prove()
        if not isinstance(verdict, Proved):
            return f"round {bit}: {verdict}"
    return ""


def _reduce(
    given: Assignment, step: TileReduce, read: LinearLayout, made: LinearLayout
) -> str:
    found = plan_reduction(read, [dim_name(step.axis)], given.threads.device.name)
    verdict = found.prove()
    if not isinstance(verdict, Proved):
        return str(verdict)
    left = found.dst.linear
    same = (left.columns, left.in_bits) == (made.columns, made.in_bits)
    return "" if same else "the results are elsewhere"


def _gather(
    given: Assignment, step: TileGather, read: list[LinearLayout], made: LinearLayout
) -> str:
    if read[1] != made:
        return "indices and results are in different places"
    try:
        found = plan_gather(
            read[0], read[1], dim_name(step.axis), given.threads.device.name
        )
    except LayoutError:
        return ""  # through memory, which all threads see whole
    verdict = found.prove()
    return "" if isinstance(verdict, Proved) else str(verdict)


def _dot(
    given: Assignment, step: TileDot, read: list[LinearLayout], made: LinearLayout
) -> str:
    for choice in dot_choices(step, given.threads.warp_bits, given.threads.device):
        fits = all(
            wanted in (None, layout)
            for wanted, layout in zip(choice.operands, read, strict=True)
        )
        if fits and made == choice.result:
            return ""
    return "no matrix instruction has these fragments"
