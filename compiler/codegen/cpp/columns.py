"""Nests that reduce down columns: the axis along lanes is an outer one.

A tile of columns is walked row by row, so memory is read in long lines, and each
column has its accumulators in a small array.
"""

from collections.abc import Sequence
from typing import Final

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, product
from compiler.ir.kernel import Prefix, Reduction
from compiler.ir.node import Axis
from compiler.ir.scalar import local

from . import spelling
from .nest import FlatStore, Let, PlainStage
from .reduction import Arrays, Part, down_columns
from .rows import PARTS, grouped, longest_axis, part_loop, spans
from .scan import advance, start_of
from .writer import Writer

_WIDEST: Final = 512
_NARROWEST: Final = 64
_MANY: Final = 1 << 15


class _Columns:
    """State of the columns of one tile: where results are."""

    def __init__(self, writer: Writer, fast: Axis, tile: tuple[str, str, int]) -> None:
        self.writer, self.fast, self.tile = writer, fast, tile
        self.arrays: list[tuple[Expression, str]] = []
        self.lane = ""

    def bind(self) -> None:
        """Make the results known in the innermost loop, whose lane is known."""
        for leaf, name in self.arrays:
            self.writer.body.bind(leaf, f"{name}[{self.lane}]")

    def lanes(self) -> "_Lanes":
        return _Lanes(self)


class _Lanes:
    """Opens a loop over the columns of a tile with all results known."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns
        first, count, _ = columns.tile
        writer = columns.writer
        simd = () if writer.serial else writer.simd()
        self._loop = writer.lanes(columns.fast, first, count, simd)

    def __enter__(self) -> str:
        lane = self._loop.__enter__()
        self._columns.lane = lane
        self._columns.bind()
        return lane

    def __exit__(self, *error: object) -> None:
        self._loop.__exit__(None, None, None)


def print_columns(writer: Writer, fast: Axis) -> None:
    """Write the loops of a nest whose lanes run along an outer axis."""
    nest = writer.nest
    others = [axis for axis in nest.outer if axis is not fast]
    width = _width(writer, others, fast)
    if width is None:
        with writer.loops(others):
            _whole(writer, fast)
        return
    blocks = writer.blocks(fast, width)
    axes = [*others, blocks]
    extents = [axis.extent for axis in (*nest.outer, *nest.inner)]
    pragma = writer.pragma("parallel for", collapse=len(axes), axes=extents)
    with writer.loops(axes, () if writer.serial else pragma):
        body = writer.body
        first = body.fresh("x")
        body.line(f"const i64 {first} = {body.value(blocks.digit)} * {width};")
        number = constant_value(fast.extent)
        count = str(width)
        if number is None or number % width:
            count = body.fresh("x")
            end = writer.extent(fast.extent)
            body.line(
                f"const i64 {count} = {end} - {first} < {width} ? "
                f"{end} - {first} : {width};"
            )
        columns = _Columns(writer, fast, (first, count, width))
        for group in grouped(nest.stages):
            _stage(columns, group, None)


def _width(writer: Writer, others: Sequence[Axis], fast: Axis) -> int | None:
    """Return the columns of a tile; None where threads must share out the rows."""
    number = constant_value(fast.extent)
    if number is None:
        return _NARROWEST * 2
    rest = constant_value(product(axis.extent for axis in others))
    rows = constant_value(product(axis.extent for axis in writer.nest.inner))
    width = _WIDEST
    while width > _NARROWEST and (rest or 1) * -(-number // width) < 8:
        width //= 2
    tiles = (rest or PARTS) * -(-number // width)
    scans = any(isinstance(stage, Prefix) for stage in writer.nest.stages)
    much = (rows is None or rows * number >= _MANY) and not scans
    if tiles < 4 and much and number <= 4096:
        return None
    return min(width, max(number, 1))


def _stage(columns: _Columns, group: list[PlainStage], part: Part | None) -> None:
    writer, nest = columns.writer, columns.writer.nest
    body, stage = writer.body, group[0]
    if isinstance(stage, Reduction):
        arrays = _reduced(columns, stage, part)
        _finish(columns, stage, arrays, arrays.final)
    elif isinstance(stage, Let):
        kind, name = spelling.VALUES[stage.value.dtype], body.fresh("a")
        body.line(f"alignas(64) {kind} {name}[{columns.tile[2]}];")
        with columns.lanes() as lane:
            body.line(f"{name}[{lane}] = {body.value(stage.value)};")
        columns.arrays.append((local(stage.name, stage.value.dtype), name))
    elif isinstance(stage, Prefix):
        _scan(columns, group)
    elif stage.inner:
        with spans(writer, nest.inner, part), columns.lanes():
            _stores(writer, group)
    else:
        with columns.lanes():
            writer.store(stage)
    for item in group:
        if isinstance(item, FlatStore):
            body.forget(item.buffer)


def _stores(writer: Writer, group: Sequence[PlainStage]) -> None:
    for item in group:
        if isinstance(item, FlatStore):
            writer.store(item)


def _reduced(columns: _Columns, stage: Reduction, part: Part | None) -> Arrays:
    writer = columns.writer

    def bind(lane: str) -> None:
        columns.lane = lane
        columns.bind()

    return down_columns(
        writer, stage, writer.nest.inner, columns.fast, columns.tile, bind, part
    )


def _finish(
    columns: _Columns, stage: Reduction, arrays: Arrays, names: Sequence[str]
) -> None:
    """Write the final results into one array each."""
    body = columns.writer.body
    texts = arrays.accumulator.finish([f"{name}[l]" for name in names])
    for result, dtype, text in zip(stage.results, stage.dtypes, texts, strict=True):
        kind, name = spelling.VALUES[dtype], body.fresh("a")
        body.line(f"alignas(64) {kind} {name}[{columns.tile[2]}];")
        body.line(
            f"for (i32 l = 0; l < {columns.tile[1]}; ++l) {name}[l] = ({kind})({text});"
        )
        columns.arrays.append((local(result, dtype), name))


def _scan(columns: _Columns, group: list[PlainStage]) -> None:
    """Write scans down the columns, with the stores at the same points."""
    writer, body = columns.writer, columns.writer.body
    (axis,) = writer.nest.inner
    scans = [stage for stage in group if isinstance(stage, Prefix)]
    running = []
    for stage in scans:
        states = start_of(stage.kind, stage.value.dtype)
        names = [body.fresh("r") for _ in states]
        for (kind, start), name in zip(states, names, strict=True):
            body.line(f"alignas(64) {kind} {name}[{columns.tile[2]}];")
            body.line(
                f"for (i32 l = 0; l < {columns.tile[2]}; ++l) {name}[l] = {start};"
            )
        running.append(names)
    with spans(writer, [axis], None), columns.lanes() as lane:
        for stage, names in zip(scans, running, strict=True):
            value, place = body.value(stage.value), body.value(axis.digit)
            into = [f"{name}[{lane}]" for name in names]
            lines = advance(stage.kind, stage.value.dtype, into, value, place)
            body.line(f"{{ {' '.join(lines)} }}")
            for result, name, kind in zip(
                stage.results, into, stage.dtypes, strict=True
            ):
                body.bind(local(result, kind), f"(({spelling.VALUES[kind]}){name})")
        _stores(writer, group)


def _whole(writer: Writer, fast: Axis) -> None:
    """Write stages over all columns, the rows of each shared out among threads."""
    nest, body = writer.nest, writer.body
    number = constant_value(fast.extent) or 1
    columns = _Columns(writer, fast, ("0", str(number), number))
    for group in grouped(nest.stages):
        stage = group[0]
        if isinstance(stage, Reduction):
            _shared(columns, stage, number)
        elif isinstance(stage, FlatStore) and stage.inner:
            with part_loop(writer, longest_axis(nest.inner), not writer.serial) as part:
                _stage(columns, group, part[0])
        else:
            _stage(columns, group, None)
        for item in group:
            if isinstance(item, FlatStore):
                body.forget(item.buffer)


def _shared(columns: _Columns, stage: Reduction, number: int) -> None:
    body, writer = columns.writer.body, columns.writer
    heads: list[str] = []
    mark = len(body.blocks[-1].lines)
    with part_loop(writer, longest_axis(writer.nest.inner), True) as (part, place):
        arrays = _reduced(columns, stage, part)
        names = [body.fresh("s") for _ in arrays.final]
        for name, kind, source in zip(names, arrays.types, arrays.final, strict=True):
            heads.append(f"alignas(64) {kind} {name}[{PARTS * number}];")
            body.line(
                f"for (i32 l = 0; l < {number}; ++l) "
                f"{name}[{place} * {number} + l] = {source}[l];"
            )
    body.blocks[-1].lines[mark:mark] = heads
    into = [f"{name}[l]" for name in names]
    other = [f"{name}[w * {number} + l]" for name in names]
    statements = " ".join(arrays.accumulator.join(into, other))
    body.line(
        f"for (i32 w = 1; w < {PARTS}; ++w) for (i32 l = 0; l < {number}; ++l) "
        f"{{ {statements} }}"
    )
    _finish(columns, stage, arrays, names)
