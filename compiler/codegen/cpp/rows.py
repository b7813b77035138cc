"""Nests that reduce along vector lanes: one outer point at a time, its row in cache."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from compiler.ir.expression import loads, nodes
from compiler.ir.index import constant_value, flatten, product
from compiler.ir.kernel import Prefix, Reduction
from compiler.ir.node import Axis
from compiler.ir.scalar import local

from . import spelling
from .nest import FlatStore, Let, PlainStage, stage_roots
from .reduction import Part, along_lanes, results
from .scan import print_scan
from .stages import kept_values
from .writer import Writer

PARTS: Final = 16
"""Parts into which a long reduction with few results is cut: a fixed number, so that
the result does not depend on the number of threads."""

_LONG: Final = 1 << 16


class _Kept:
    """Values of the row that later stages read back from a small array."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._values = kept_values(writer.nest)
        self._arrays: dict[int, str] = {}
        axes = writer.nest.inner
        self._position = flatten([a.digit for a in axes], [a.extent for a in axes])
        self._total = constant_value(product(a.extent for a in axes))

    def declare(self) -> None:
        """Write the arrays, one outer point's each."""
        for value in self._values:
            name = self._writer.body.fresh("c")
            kind = spelling.VALUES[value.dtype]
            self._writer.body.line(f"alignas(64) {kind} {name}[{self._total}];")
            self._arrays[id(value)] = name
        self._full: set[int] = set()

    def use(self, stage: PlainStage) -> None:
        """Read back what the stage needs, and keep what it is first to compute."""
        body = self._writer.body
        inside = {id(node) for node in nodes(*stage_roots(stage))}
        for value in self._values:
            if id(value) not in inside:
                continue
            name = f"{self._arrays[id(value)]}[{body.value(self._position)}]"
            if id(value) in self._full:
                kept = body.fresh("v")
                kind = spelling.VALUES[value.dtype]
                body.line(f"const {kind} {kept} = {name};")
                body.bind(value, kept)
            else:
                body.line(f"{name} = {body.value(value)};")

    def done(self, stage: PlainStage) -> None:
        """Note that the stage has run over the whole row."""
        inside = {id(node) for node in nodes(*stage_roots(stage))}
        self._full |= inside & {id(value) for value in self._values}


def print_rows(writer: Writer) -> None:
    """Write the loops of a nest that reduces along its last inner axis."""
    nest = writer.nest
    if _few(nest.outer) and _much(nest.inner) and not _scans(writer):
        with writer.loops(nest.outer):
            _in_parts(writer)
        return
    extents = [axis.extent for axis in (*nest.outer, *nest.inner)]
    pragma = writer.pragma("parallel for", collapse=len(nest.outer), axes=extents)
    with writer.loops(nest.outer, pragma if nest.outer and not writer.serial else ()):
        kept = _Kept(writer)
        kept.declare()
        for group in _with_reductions(writer, grouped(nest.stages)):
            _stage(writer, group, kept)


def grouped(stages: Sequence[PlainStage]) -> list[list[PlainStage]]:
    """Return stages in order, neighbouring inner stores together.

    Scans and the stores after them go together: a scan reads another's running values.
    """
    groups: list[list[PlainStage]] = []
    for stage in stages:
        before = groups[-1][-1] if groups else None
        if isinstance(stage, FlatStore) and stage.inner:
            scanning = bool(groups) and isinstance(groups[-1][0], Prefix)
            stores = isinstance(before, FlatStore) and before.inner
            together = scanning or stores
        elif isinstance(stage, Prefix) and groups and isinstance(groups[-1][0], Prefix):
            stored = {s.buffer for s in groups[-1] if isinstance(s, FlatStore)}
            reads = {str(load.data) for load in loads(*stage_roots(stage))}
            together = not reads & stored
        else:
            together = False
        if together:
            groups[-1].append(stage)
        else:
            groups.append([stage])
    return groups


def _with_reductions(
    writer: Writer, groups: list[list[PlainStage]]
) -> list[list[PlainStage]]:
    """Return groups in which stores before a reduction run along with it."""
    joined: list[list[PlainStage]] = []
    for group in groups:
        before = joined[-1] if joined else []
        stores = [s.buffer for s in before if isinstance(s, FlatStore) and s.inner]
        reads = {str(load.data) for load in loads(*stage_roots(group[0]))}
        if (
            isinstance(group[0], Reduction)
            and stores
            and len(stores) == len(before)
            and not reads.intersection(stores)
            and not writer.serial
        ):
            before += group
        else:
            joined.append(group)
    return joined


def _few(outer: Sequence[Axis]) -> bool:
    total = constant_value(product(axis.extent for axis in outer))
    return total is not None and total < 4


def _much(inner: Sequence[Axis]) -> bool:
    total = constant_value(product(axis.extent for axis in inner))
    return total is None or total >= _LONG


def _scans(writer: Writer) -> bool:
    return any(isinstance(stage, Prefix) for stage in writer.nest.stages)


def _stage(writer: Writer, group: list[PlainStage], kept: _Kept) -> None:
    nest, body = writer.nest, writer.body
    stage = group[-1] if isinstance(group[-1], Reduction) else group[0]
    if isinstance(stage, Reduction):

        def before() -> None:
            for item in group:
                kept.use(item)
                if isinstance(item, FlatStore):
                    writer.store(item)

        arrays, raw = along_lanes(writer, stage, nest.inner, before)
        for leaf, name in results(writer, stage, arrays, raw):
            body.bind(leaf, name)
    elif isinstance(stage, Let):
        body.bind(local(stage.name, stage.value.dtype), body.value(stage.value))
    elif isinstance(stage, Prefix):
        print_scan(writer, group)
    elif stage.inner:
        with inner_loops(writer, nest.inner):
            for item in group:
                if isinstance(item, FlatStore):
                    kept.use(item)
                    writer.store(item)
    else:
        writer.store(stage)
    for item in group:
        if not isinstance(stage, Prefix):  # which goes by blocks, and keeps nothing
            kept.done(item)
        if isinstance(item, FlatStore):
            body.forget(item.buffer)


@contextmanager
def inner_loops(
    writer: Writer, axes: Sequence[Axis], part: Part | None = None
) -> Iterator[None]:
    """Open loops over inner axes, the last one vectorised."""
    with spans(writer, axes[:-1], part):
        last = axes[-1]
        start, end = "0", writer.extent(last.extent)
        if part is not None and part[0] is last:
            start, end = part[1:]
        with writer.span(last, start, end, () if writer.serial else writer.simd()):
            yield


@contextmanager
def spans(writer: Writer, axes: Sequence[Axis], part: Part | None) -> Iterator[None]:
    """Open one loop below the other over each axis, or the part of it."""
    if not axes:
        yield
        return
    start, end = "0", writer.extent(axes[0].extent)
    if part is not None and part[0] is axes[0]:
        start, end = part[1:]
    with writer.span(axes[0], start, end), spans(writer, axes[1:], part):
        yield


def _in_parts(writer: Writer) -> None:
    """Write each inner stage as a loop over parts that threads share."""
    nest, body = writer.nest, writer.body
    for group in grouped(nest.stages):
        stage = group[0]
        if isinstance(stage, Reduction):
            _reduced_in_parts(writer, stage)
        elif isinstance(stage, Let):
            body.bind(local(stage.name, stage.value.dtype), body.value(stage.value))
        elif isinstance(stage, FlatStore) and stage.inner:
            axis = longest_axis(nest.inner)
            with part_loop(writer, axis, not writer.serial) as (part, _):
                _stores(writer, group, part)
        elif isinstance(stage, FlatStore):
            writer.store(stage)
        for item in group:
            if isinstance(item, FlatStore):
                body.forget(item.buffer)


def longest_axis(axes: Sequence[Axis]) -> Axis:
    """Return the axis with the greatest extent, the first of equals."""

    def length(axis: Axis) -> float:
        number = constant_value(axis.extent)
        return float("inf") if number is None else number

    return max(axes, key=length)


def _stores(writer: Writer, group: Sequence[PlainStage], part: Part) -> None:
    with inner_loops(writer, writer.nest.inner, part):
        for item in group:
            if isinstance(item, FlatStore):
                writer.store(item)


@contextmanager
def part_loop(writer: Writer, axis: Axis, parallel: bool) -> Iterator[tuple[Part, str]]:
    """Open a loop over the parts of an inner axis; yields a part and its number."""
    body = writer.body
    number, end = body.fresh("x"), writer.extent(axis.extent)
    length = body.fresh("i")
    # whole vectors in each part
    whole = 64 if axis is writer.nest.inner[-1] else 1
    body.line(
        f"const i64 {length} = (({end} + {PARTS - 1}) / {PARTS} + {whole - 1}) / "
        f"{whole} * {whole};"
    )
    extents = [a.extent for a in writer.nest.inner]
    pragma = writer.pragma("parallel for", axes=extents) if parallel else ()
    head = f"for (i64 {number} = 0; {number} < {PARTS}; ++{number})"
    with body.block(*pragma, head):
        start, stop = body.fresh("x"), body.fresh("x")
        body.line(f"const i64 {start} = {number} * {length};")
        body.line(
            f"const i64 {stop} = {start} + {length} < {end} ? "
            f"{start} + {length} : {end};"
        )
        yield (axis, start, stop), number


def _reduced_in_parts(writer: Writer, stage: Reduction) -> None:
    body = writer.body
    heads: list[str] = []
    mark = len(body.blocks[-1].lines)
    with part_loop(writer, longest_axis(writer.nest.inner), True) as (part, number):
        arrays, raw = along_lanes(writer, stage, writer.nest.inner, _nothing, part)
        names = [body.fresh("s") for _ in raw]
        for name, kind, value in zip(names, arrays.types, raw, strict=True):
            heads.append(f"{kind} {name}[{PARTS}];")
            body.line(f"{name}[{number}] = {value};")
    body.blocks[-1].lines[mark:mark] = heads
    into = [f"{name}[0]" for name in names]
    other = [f"{name}[l]" for name in names]
    statements = " ".join(arrays.accumulator.join(into, other))
    body.line(f"for (i32 l = 1; l < {PARTS}; ++l) {{ {statements} }}")
    for leaf, name in results(writer, stage, arrays, into):
        body.bind(leaf, name)


def _nothing() -> None:
    return None
