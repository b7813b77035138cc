"""Nests without inner axes: maps, copies, scatters, and tiles for transposed loads."""

from typing import Final

from compiler.ir.expression import Expression, nodes
from compiler.ir.index import constant_value, product
from compiler.ir.node import Axis
from compiler.ir.operations import OPERATIONS
from compiler.ir.scalar import bits

from . import spelling
from .body import pointer
from .nest import FlatStore, Nest, coefficient, stage_roots
from .writer import Writer

BLOCK: Final = 4096
"""Elements of the last axis that one thread takes at a time."""

_WORTH: Final = 6
"""Cost [instructions] of a value from which a table of it pays."""

_LINE: Final = 64
"""Bytes of a cache line: a side of a tile."""


def print_pointwise(writer: Writer) -> None:
    """Write the loops of a nest without inner axes."""
    nest = writer.nest
    if writer.serial:
        _scatter(writer)
        return
    if not nest.outer:
        with writer.loops(()):
            _stages(writer)
        return
    fast = fastest(nest, nest.outer)
    others = [axis for axis in nest.outer if axis is not fast]
    slow = _transposed(nest, fast, others)
    if slow is not None:
        _tiles(writer, [a for a in others if a is not slow[0]], slow[0], fast, slow[1])
        return
    extents = [axis.extent for axis in nest.outer]
    number = constant_value(fast.extent)
    if number is not None and number <= 2 * BLOCK:
        pragma = writer.pragma("parallel for", collapse=len(others), axes=extents)
        head = pragma if others else ()
        shared = _tabulated(writer, fast, others)
        with writer.loops(others, head), writer.loops([fast], writer.simd()):
            for value, name in shared.items():
                known = writer.body.fresh("v")
                kind = spelling.VALUES[value.dtype]
                place = writer.body.value(fast.digit)
                writer.body.line(f"const {kind} {known} = {name}[{place}];")
                writer.body.bind(value, known)
            _stages(writer)
        return
    blocks = writer.blocks(fast, BLOCK)
    axes = [*others, blocks]
    pragma = writer.pragma("parallel for", collapse=len(axes), axes=extents)
    with writer.loops(axes, pragma):
        start = f"{writer.body.value(blocks.digit)} * {BLOCK}"
        stop = writer.stop(fast, start, BLOCK)
        with writer.span(fast, start, stop, writer.simd()):
            _stages(writer)


def _tabulated(writer: Writer, fast: Axis, others: list[Axis]) -> dict[Expression, str]:
    """Write tables of costly values that depend on the last axis alone.

    Returns:
        Value -> name of its table.
    """
    nest, body = writer.nest, writer.body
    rows = constant_value(product(axis.extent for axis in others))
    number = constant_value(fast.extent)
    if number is None or not others or (rows is not None and rows < 8):
        return {}
    changed = {s.buffer for s in nest.stages if isinstance(s, FlatStore)}
    roots = [root for stage in nest.stages for root in stage_roots(stage)]
    order = list(nodes(*roots))
    alone: dict[int, bool] = {}
    cost: dict[int, int] = {}
    for node in order:
        leaf = node.op in ("constant", "symbol") or node is fast.digit
        inside = bool(node.args) and all(alone[id(arg)] for arg in node.args)
        safe = node.op not in ("guard", "checked_index", *spelling.DIVISIONS)
        alone[id(node)] = leaf or (inside and safe and node.data not in changed)
        own = 0
        if node.dtype != "index" and node.op in OPERATIONS:
            own = OPERATIONS[node.op].cost
        cost[id(node)] = own + sum(cost[id(arg)] for arg in node.args)
    guarded = {
        id(below)
        for node in order
        if node.op == "guard"
        for below in nodes(node.args[1])
    }
    users = {id(a) for node in order if not alone[id(node)] for a in node.args}
    users |= {id(root) for root in roots}
    tables: dict[Expression, str] = {}
    for node in order:
        costly = cost[id(node)] >= _WORTH and node.dtype != "index"
        if alone[id(node)] and costly and id(node) in users - guarded:
            name = body.fresh("c")
            kind = spelling.VALUES[node.dtype]
            body.line(f"alignas(64) {kind} {name}[{number}];")
            tables[node] = name
    if tables:
        with writer.loops([fast], writer.simd()):
            for value, name in tables.items():
                place = body.value(fast.digit)
                body.line(f"{name}[{place}] = {body.value(value)};")
    return tables


def fastest(nest: Nest, axes: tuple[Axis, ...]) -> Axis:
    """Return the axis along which most accesses are adjacent, the last of equals."""

    def score(axis: Axis) -> tuple[bool, int]:
        extent = constant_value(axis.extent)
        return extent is None or extent >= 8, adjacent(nest, axis)

    best = max(map(score, axes))
    return next(axis for axis in reversed(axes) if score(axis) == best)


def adjacent(nest: Nest, axis: Axis) -> int:
    """Return how many accesses step by one element with an axis; stores count twice.

    In a reduction only what happens at inner points counts.
    """
    total = 0
    for stage in nest.stages:
        if isinstance(stage, FlatStore) and (stage.inner or not nest.inner):
            total += 2 * (coefficient(stage.offset, axis.digit) == 1)
    inner = {id(axis.digit) for axis in nest.inner}
    for load in _loads(nest):
        if inner and not any(id(node) in inner for node in nodes(load)):
            continue
        total += coefficient(load.args[0], axis.digit) == 1
    return total


def _loads(nest: Nest) -> list[Expression]:
    roots = [root for stage in nest.stages for root in stage_roots(stage)]
    return [node for node in nodes(*roots) if node.op == "load"]


def _stages(writer: Writer) -> None:
    for stage in writer.nest.stages:
        if isinstance(stage, FlatStore):
            writer.store(stage)
            writer.body.forget(stage.buffer)


def _scatter(writer: Writer) -> None:
    """Write loops whose points can meet: threads share out columns, never elements."""
    nest = writer.nest
    safe = [axis for axis in nest.outer if _apart(nest, axis)]
    if not safe:
        with writer.loops(nest.outer):
            _stages(writer)
        return
    fast = fastest(nest, tuple(safe))
    others = [axis for axis in nest.outer if axis is not fast]
    number = constant_value(fast.extent)
    size = BLOCK if number is None else max(16, -(-number // 8))
    blocks = writer.blocks(fast, size)
    extents = [axis.extent for axis in nest.outer]
    pragma = writer.pragma("parallel for", axes=extents)
    with writer.loops([blocks], pragma):
        start = f"{writer.body.value(blocks.digit)} * {size}"
        stop = writer.stop(fast, start, size)
        with writer.loops(others), writer.span(fast, start, stop, writer.simd()):
            _stages(writer)


def _apart(nest: Nest, axis: Axis) -> bool:
    """Return whether points that differ in this digit never meet."""
    return all(
        stage.injective or any(part is axis.digit for part in stage.target)
        for stage in nest.stages
        if isinstance(stage, FlatStore)
    )


def _transposed(
    nest: Nest, fast: Axis, others: list[Axis]
) -> tuple[Axis, list[Expression]] | None:
    """Return the axis along which loads are adjacent that are far apart on ``fast``."""

    def long(axis: Axis) -> bool:
        extent = constant_value(axis.extent)
        return extent is None or extent >= 8

    if not long(fast):
        return None
    guarded = {
        id(node)
        for root in _loads(nest) + [r for s in nest.stages for r in stage_roots(s)]
        for guard in nodes(root)
        if guard.op == "guard"
        for node in nodes(guard.args[1])
    }
    best: tuple[Axis, list[Expression]] | None = None
    for axis in filter(long, others):
        found = [
            load
            for load in _loads(nest)
            if id(load) not in guarded
            and coefficient(load.args[0], axis.digit) == 1
            and coefficient(load.args[0], fast.digit) not in (0, 1, None)
        ]
        if found and (best is None or len(found) > len(best[1])):
            best = axis, found
    return best


def _tiles(
    writer: Writer,
    others: list[Axis],
    slow: Axis,
    fast: Axis,
    turned: list[Expression],
) -> None:
    """Write loops over tiles: transposed loads go through a small array."""
    body = writer.body
    tile = max(_LINE * 8 // max(bits(load.dtype) for load in turned), 8)
    blocks = [writer.blocks(slow, tile), writer.blocks(fast, tile)]
    axes = [*others, blocks[0]]
    extents = [axis.extent for axis in writer.nest.outer]
    pragma = writer.pragma("parallel for", collapse=len(axes), axes=extents)
    with writer.loops(axes, pragma), writer.loops([blocks[1]]):
        row, column = body.fresh("x"), body.fresh("x")
        for name, block in zip((row, column), blocks, strict=True):
            body.line(f"const i64 {name} = {body.value(block.digit)} * {tile};")
        bottom = writer.stop(slow, row, tile)
        right = writer.stop(fast, column, tile)
        arrays = {}
        for load in turned:
            name = body.fresh("a")
            kind = spelling.MEMORY[load.dtype]
            body.line(f"alignas(64) {kind} {name}[{tile * tile}];")
            step = coefficient(load.args[0], fast.digit)
            with body.block(""):
                body.bind(slow.digit, row)
                body.bind(fast.digit, column)
                offset = body.value(load.args[0])
                word = f"u{bits(load.dtype)}"
                body.line(
                    f"transpose_tile<{word}, {tile}>((const {word} *)"
                    f"{pointer(str(load.data))} + {offset}, {step}LL, "
                    f"({word} *){name}, {bottom} - {row}, {right} - {column});"
                )
            arrays[load] = name
        with writer.span(slow, row, bottom):
            here = body.value(slow.digit)
            with writer.span(fast, column, right, writer.simd()):
                across = body.value(fast.digit)
                for load, name in arrays.items():
                    element = f"{name}[({here} - {row}) * {tile} + {across} - {column}]"
                    text = spelling.loaded(element, load.dtype)
                    value = body.fresh("v")
                    body.line(f"const {spelling.VALUES[load.dtype]} {value} = {text};")
                    body.bind(load, value)
                _stages(writer)
