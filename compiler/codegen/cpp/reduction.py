"""Loops of one reduction: along vector lanes, or down the columns of a tile.

Sums of floats are added up in blocks: the arrays take some hundred terms, then move
into totals of double precision, so the error does not grow with the length.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, flatten, product
from compiler.ir.kernel import Reduction
from compiler.ir.node import Axis
from compiler.ir.scalar import bits, local

from . import spelling
from .accumulate import Accumulator, accumulator
from .writer import Writer

Part: TypeAlias = tuple[Axis, str, str]
"""An axis of which only [start, end) is walked, and these two as text."""

Hook: TypeAlias = Callable[[], None]
"""Called inside the innermost loop, before the value is computed."""

_STEPS: Final = 128
"""Terms that an array takes before it moves into the totals."""

_VECTOR_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Arrays:
    """The accumulators of a reduction.

    Attributes:
        accumulator: What they do.
        names: One array a result, and the type of its elements.
        totals: Array of the totals, None if there are none.
        length: Elements of each array, text or number.
    """

    accumulator: Accumulator
    names: tuple[str, ...]
    totals: str | None
    length: str

    @property
    def types(self) -> tuple[str, ...]:
        """C++ types of what is left at the end."""
        fold = self.accumulator.fold
        return self.accumulator.types if self.totals is None else (str(fold),)

    @property
    def final(self) -> tuple[str, ...]:
        """Names of the arrays that hold the result."""
        return self.names if self.totals is None else (self.totals,)


def declare(
    writer: Writer, stage: Reduction, axes: Sequence[Axis], length: int, steps: int
) -> Arrays:
    """Write the arrays of a reduction at their neutral elements.

    Args:
        writer: Where to.
        stage: The reduction.
        axes: Reduced axes.
        length: Elements of each array.
        steps: Terms that one element takes, at most; 0 if unknown.
    """
    body = writer.body
    total = constant_value(product(axis.extent for axis in axes))
    small = total is not None and total < 2**31
    found = accumulator(stage.reducer, stage.values[0].dtype, small)
    names = tuple(body.fresh("a") for _ in found.types)
    for kind, name in zip(found.types, names, strict=True):
        body.line(f"alignas(64) {kind} {name}[{length}];")
    totals = None
    if found.fold is not None and not 0 < steps <= 2 * _STEPS:
        totals = body.fresh("t")
        body.line(f"alignas(64) {found.fold} {totals}[{length}];")
    starts = [f"{n}[l] = {s};" for n, s in zip(names, found.start, strict=True)]
    if totals is not None:
        starts.append(f"{totals}[l] = 0;")
    body.line(f"for (i32 l = 0; l < {length}; ++l) {{ {' '.join(starts)} }}")
    return Arrays(found, names, totals, str(length))


def lanes_of(stage: Reduction, last: Axis) -> int:
    """Return how many lanes a reduction along an axis uses, a power of two."""
    wide = max(2, bits(stage.values[0].dtype) // 8)
    lanes = 4 * _VECTOR_BYTES // max(wide, 4)
    number = constant_value(last.extent)
    while number is not None and lanes > max(number, 1):
        lanes //= 2
    return lanes


def along_lanes(
    writer: Writer,
    stage: Reduction,
    axes: Sequence[Axis],
    hook: Hook,
    part: Part | None = None,
) -> tuple[Arrays, list[str]]:
    """Write a reduction whose last axis runs along vector lanes.

    Returns:
        The arrays, and the names of what was reduced, before the accumulator finishes.
    """
    body, last = writer.body, axes[-1]
    lanes = lanes_of(stage, last)
    extents = [constant_value(axis.extent) for axis in axes]
    if extents[-1] is not None:
        extents[-1] = -(-extents[-1] // lanes)
    arrays = declare(writer, stage, axes, lanes, _product(extents))
    position = flatten([a.digit for a in axes], [a.extent for a in axes])
    needs_position = stage.reducer in ("argmax", "argmin")

    def step(start: str, count: str) -> None:
        with writer.lanes(last, start, count, writer.simd()) as lane:
            hook()
            value = body.value(stage.values[0])
            place = body.value(position) if needs_position else "0"
            into = [f"{name}[{lane}]" for name in arrays.names]
            for line in arrays.accumulator.update(into, value, place):
                body.line(line)

    def walk(start: str, end: str) -> None:
        number = extents[-1] if part is None or part[0] is not last else None
        whole = number is not None and constant_value(last.extent) == number * lanes
        at = body.fresh("x")
        body.line(f"i64 {at} = {start};")
        with body.block(f"for (; {at} + {lanes} <= {end}; {at} += {lanes})"):
            step(at, str(lanes))
        if not whole:
            step(at, f"{end} - {at}")

    level, size = (None, 0) if arrays.totals is None else _fold_level(extents)
    outer = axes[:-1]
    start, end = "0", writer.extent(last.extent)
    if part is not None and part[0] is last:
        start, end = part[1:]
    if level == len(axes) - 1:
        with _loops(writer, outer, part):
            block = body.fresh("x")
            length = size * lanes
            head = f"for (i64 {block} = {start}; {block} < {end}; {block} += {length})"
            with body.block(head):
                stop = body.fresh("x")
                body.line(
                    f"const i64 {stop} = {block} + {length} < {end} ? "
                    f"{block} + {length} : {end};"
                )
                walk(block, stop)
                _fold(writer, arrays)
    elif level is not None:
        with _chunked(writer, outer, part, level, size, arrays):
            walk(start, end)
    else:
        with _loops(writer, outer, part):
            walk(start, end)
        if arrays.totals is not None:
            _fold(writer, arrays)
    return arrays, _joined(writer, arrays, lanes)


def down_columns(
    writer: Writer,
    stage: Reduction,
    axes: Sequence[Axis],
    fast: Axis,
    tile: tuple[str, str, int],
    bind: Callable[[str], None],
    part: Part | None = None,
) -> Arrays:
    """Write a reduction over all points of ``axes`` for each column of a tile.

    Args:
        writer: Where to.
        stage: The reduction.
        axes: Reduced axes.
        fast: Axis of the columns.
        tile: First column, number of columns (text), and the most there can be.
        bind: Makes results of earlier stages known inside the loop over columns.
        part: Walk a part of one axis only.
    """
    body = writer.body
    first, count, most = tile
    extents = [constant_value(axis.extent) for axis in axes]
    arrays = declare(writer, stage, axes, most, _product(extents))
    position = flatten([a.digit for a in axes], [a.extent for a in axes])
    needs_position = stage.reducer in ("argmax", "argmin")

    def step() -> None:
        with writer.lanes(fast, first, count, writer.simd()) as lane:
            bind(lane)
            value = body.value(stage.values[0])
            place = body.value(position) if needs_position else "0"
            into = [f"{name}[{lane}]" for name in arrays.names]
            for line in arrays.accumulator.update(into, value, place):
                body.line(line)

    if arrays.totals is None:
        with _loops(writer, axes, part):
            step()
        return arrays
    level, size = _fold_level(extents)
    if level is None:
        with _loops(writer, axes, part):
            step()
        _fold(writer, arrays)
        return arrays
    with _chunked(writer, axes, part, level, size, arrays):
        step()
    return arrays


def _product(extents: Sequence[int | None]) -> int:
    total = 1
    for extent in extents:
        total *= 0 if extent is None else extent
    return total


def _fold_level(extents: Sequence[int | None]) -> tuple[int | None, int]:
    """Return the loop in whose blocks terms are taken, and the blocks' length."""
    inside = 1
    for level in range(len(extents) - 1, -1, -1):
        extent = extents[level]
        if extent == 0:
            break  # no terms
        if extent is None or inside * extent >= _STEPS // 2:
            return level, max(1, _STEPS // inside)
        inside *= extent
    return None, 0


@contextmanager
def _loops(writer: Writer, axes: Sequence[Axis], part: Part | None) -> Iterator[None]:
    if not axes:
        yield
        return
    with _one(writer, axes[0], part), _loops(writer, axes[1:], part):
        yield


@contextmanager
def _one(writer: Writer, axis: Axis, part: Part | None) -> Iterator[None]:
    start, end = "0", writer.extent(axis.extent)
    if part is not None and part[0] is axis:
        start, end = part[1:]
    with writer.span(axis, start, end):
        yield


@contextmanager
def _chunked(
    writer: Writer,
    axes: Sequence[Axis],
    part: Part | None,
    level: int,
    size: int,
    arrays: Arrays,
) -> Iterator[None]:
    """Open all loops; after each block of the level's loop, arrays move to totals."""
    body, axis = writer.body, axes[level]
    start, end = "0", writer.extent(axis.extent)
    if part is not None and part[0] is axis:
        start, end = part[1:]
    with _loops(writer, axes[:level], part):
        block = body.fresh("x")
        head = f"for (i64 {block} = {start}; {block} < {end}; {block} += {size})"
        with body.block(head):
            stop = body.fresh("x")
            body.line(
                f"const i64 {stop} = {block} + {size} < {end} ? "
                f"{block} + {size} : {end};"
            )
            inside = axes[level + 1 :]
            with writer.span(axis, block, stop), _loops(writer, inside, part):
                yield
            _fold(writer, arrays)


def _fold(writer: Writer, arrays: Arrays) -> None:
    name = arrays.names[0]
    writer.body.line(
        f"for (i32 l = 0; l < {arrays.length}; ++l) "
        f"{{ {arrays.totals}[l] += {name}[l]; {name}[l] = 0; }}"
    )


def _joined(writer: Writer, arrays: Arrays, lanes: int) -> list[str]:
    """Write the join of all lanes; return names of the results."""
    body = writer.body
    if lanes > 1:
        into = [f"{name}[l]" for name in arrays.final]
        while lanes > 1:
            lanes //= 2
            other = [f"{name}[l + {lanes}]" for name in arrays.final]
            statements = " ".join(arrays.accumulator.join(into, other))
            if lanes >= 4:
                body.line("#pragma omp simd")
            body.line(f"for (i32 l = 0; l < {lanes}; ++l) {{ {statements} }}")
    names = []
    for kind, array in zip(arrays.types, arrays.final, strict=True):
        name = body.fresh("v")
        body.line(f"const {kind} {name} = {array}[0];")
        names.append(name)
    return names


def results(
    writer: Writer, stage: Reduction, arrays: Arrays, raw: Sequence[str]
) -> list[tuple[Expression, str]]:
    """Write the final results; return each local with its name."""
    found = []
    for name, dtype, text in zip(
        stage.results, stage.dtypes, arrays.accumulator.finish(raw), strict=True
    ):
        value = writer.body.fresh("v")
        kind = spelling.VALUES[dtype]
        writer.body.line(f"const {kind} {value} = ({kind})({text});")
        found.append((local(name, dtype), value))
    return found
