"""How column sums are cut where a kernel over rows can make them on its way.

The gradients of a normalisation's weights sum along columns what the gradient of its
input needs in rows. One kernel reads both once if each program takes a chunk of rows
and leaves one sum a column; a second, small kernel adds up the chunks. There must be
enough chunks for all processors and few enough that their sums are little traffic.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product as combinations

from compiler.ir.expression import Expression, leaves, loads
from compiler.ir.index import constant_value
from compiler.ir.node import Axis, Buffer, Map, Program, Reduce

from .arrays import values_of
from .refine import split_axis
from .strides import affine, offset_of
from .work import bytes_of, elements, points

PROCESSORS = 132
"""Multiprocessors that a GPU has, about."""

WIDEST = 8192
"""Longest row whose column sums fit a program's registers [elements]."""

LEAST_PROGRAMS = PROCESSORS * 3 // 4
"""Fewer chunks leave processors idle."""

LEAST_ROWS = 8
"""Rows of a chunk."""

_PARTIAL_BYTES = 16
"""Two sums of float32 for each column of a chunk, written and read [bytes]."""

_ROW_BYTES = 10
"""What a kernel over rows moves for each element, about [bytes]."""

_ALONE = 1.25
"""Time of a processor's only program over its share of two: nothing hides its waits."""

Parts = tuple[list[Axis], list[Axis], dict[Expression, Expression]]
"""Axes of the chunks, axes inside, old digit -> over both."""


def rows_beside(program: Program) -> Callable[[Reduce], Parts | None]:
    """Return what says how a sum of columns is cut for the kernel over its rows.

    It returns None for a reduction without such a kernel: one that reduces the rows
    of an array that the sum reads, or makes that array from such a result.
    """
    shared = _shared(program)

    def parts(node: Reduce) -> Parts | None:
        size = points(node.reduced), points(node.axes)
        names = shared.get(size)
        if names is None or node.reducer != "sum" or len(node.values) != 1:
            return None
        if node.buffers[0].dtype != "float32" or node.values[0].dtype != "float32":
            return None
        if not any(str(load.data) in names for load in loads(*node.values)):
            return None
        if not is_across(node):
            return None
        return cut_rows(node.reduced)

    return parts


def _shared(program: Program) -> dict[tuple[int, int], set[str]]:
    """Return rows and columns -> matrices that reductions of rows read or make."""
    buffers = program.buffers()
    found: dict[tuple[int, int], set[str]] = {}
    results: dict[tuple[int, int], set[str]] = {}
    turned: set[str] = set()  # what has to do with a reduction across memory's rows
    for node in program.nodes:
        if isinstance(node, Reduce):
            size = points(node.axes), points(node.reduced)
            if not node.buffers[0].device.startswith("cuda") or size[1] > WIDEST:
                continue
            if is_across(node):
                continue
            whole = {
                name
                for load in loads(*node.values)
                if elements(buffers[name := str(load.data)].shape) == math.prod(size)
            }
            if not _in_rows(node, buffers):
                turned |= whole | {b.name for b in node.buffers}
            elif whole:
                found.setdefault(size, set()).update(whole)
                results.setdefault(size, set()).update(b.name for b in node.buffers)
        elif isinstance(node, Map):
            count = points(node.axes)
            read = {str(load.data) for load in loads(*values_of(node))}
            for size, names in results.items():
                if count == math.prod(size) and read & names and not read & turned:
                    found[size].add(node.buffer.name)
    return {size: names - turned for size, names in found.items()}


def _in_rows(node: Reduce, buffers: Mapping[str, Buffer]) -> bool:
    """Return whether most of what a reduction reads is adjacent where it reduces.

    Arrays whose strides are free yet are taken to be row-major.
    """
    reduced = {axis.digit for axis in node.reduced}
    along = across = 0
    for load in loads(*node.values):
        buffer = buffers[str(load.data)]
        if buffer.strides is None:
            ones = set(leaves("digit", *load.args[-1:]))
        else:
            steps, _ = affine(offset_of(load.args, buffer.strides))
            ones = {digit for digit, step in steps.items() if constant_value(step) == 1}
        if ones & reduced:
            along += bytes_of(buffer)
        elif ones:
            across += bytes_of(buffer)
    return along >= across


def is_across(node: Reduce) -> bool:
    """Return whether the elements of one result are not adjacent in memory.

    Adjacent results are computed together then.
    """
    reduced = {axis.digit for axis in node.reduced}
    for load in loads(*node.values):
        found = [set(leaves("digit", arg)) & reduced for arg in load.args]
        if any(found) and not found[-1]:
            return True
    return False


def cut_rows(reduced: Sequence[Axis]) -> Parts | None:
    """Return the rows in equal chunks, None where no number of chunks is good."""
    extents = [constant_value(axis.extent) for axis in reduced]
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents):
        return None
    rows = math.prod(known)
    ways: dict[int, tuple[int, ...]] = {}
    for way in combinations(*map(_divisors, known)):
        d = math.prod(way)
        if d not in ways or _adjacent(way, known):
            ways[d] = way
    fit = {
        d: way
        for d, way in ways.items()
        if d >= LEAST_PROGRAMS and rows // d >= LEAST_ROWS
    }
    # chunks of adjacent rows, if there are some
    fit = {d: way for d, way in fit.items() if _adjacent(way, known)} or fit
    if not fit:
        return None
    shared: list[Axis] = []
    rest: list[Axis] = []
    moved: dict[Expression, Expression] = {}
    for axis, extent, by in zip(
        reduced, known, fit[min(fit, key=lambda d: cost(d, rows))], strict=True
    ):
        if by in (1, extent):
            (rest if by == 1 else shared).append(axis)
            continue
        (high, low), moved[axis.digit] = split_axis(axis, [extent // by])
        shared.append(high)
        rest.append(low)
    return shared, rest, moved


def _adjacent(way: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether the rows of a chunk follow each other."""
    started = False
    for by, extent in zip(way, extents, strict=True):
        if started and by > 1:
            return False
        started = started or by < extent
    return True


def _divisors(extent: int) -> Iterator[int]:
    return (d for d in range(1, extent + 1) if extent % d == 0)


def cost(chunks: int, rows: int) -> float:
    """Return a kernel's time over that of its rows alone on processors all busy.

    Example:
        >>> cost(256, 8192) < cost(128, 8192) and cost(394, 6304) < cost(197, 6304)
        True
    """
    waves = -(-chunks // PROCESSORS)
    busy = chunks / (waves * PROCESSORS)
    traffic = 1 + _PARTIAL_BYTES * chunks / (_ROW_BYTES * rows)
    return traffic / busy * (_ALONE if waves == 1 else 1.0)
