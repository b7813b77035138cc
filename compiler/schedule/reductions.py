"""Reductions made fit for a machine: tiny ones unrolled, long ones cut in two.

Sums of one term are no sums (:mod:`~compiler.schedule.one_hot`).

A reduction with few results keeps a machine busy only if its reduced axes are shared
out: a first node reduces chunks, a second one the chunks' results. The order of a
floating sum changes, and with it the last bits; a deterministic compilation cuts by
the reduced extent alone, so an element's bits do not depend on the batch around it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product as combinations

from compiler.ir.expression import Expression, loads, make
from compiler.ir.index import constant_value, index
from compiler.ir.node import Axis, Buffer, Map, Node, Program, Reduce
from compiler.ir.operations import type_class
from compiler.ir.scalar import constant
from compiler.options import Options

from .adjacent import Adjacent
from .arrays import space_of, values_of
from .chunks import CUTTABLE, in_chunks
from .inline import effort
from .one_hot import one_hot
from .refine import split_axis
from .row_chunks import PROCESSORS, rows_beside
from .simplify import ranges_of, simplified
from .work import points

UNROLLED = 9
"""Elements of a reduction that is written out, at most (a 3 x 3 window)."""

HARD = 32
"""Instructions for an element from which on computing it takes as long as moving it
[instructions]."""

_COMBINE = {
    "sum": "add",
    "product": "mul",
    "maximum": "maximum",
    "minimum": "minimum",
    "any": "bitwise_or",
    "all": "bitwise_and",
    "xor": "bitwise_xor",
}


def with_fit_reductions(
    program: Program, options: Options, notes: list[str]
) -> Program:
    """Return the program with reductions unrolled or cut in two where that pays."""
    spread = _broadcast(program)
    beside = None if options.deterministic else rows_beside(program)
    hard = _hard(program)
    adjacent = Adjacent(program)
    out: list[Node] = []
    for node in program.nodes:
        if not isinstance(node, Reduce):
            out.append(node)
            continue
        if all(constant_value(axis.extent) == 1 for axis in node.reduced):
            out.extend(single(node))
            continue
        hot = one_hot(node)
        if hot is not None:
            notes.append(f"{hot.buffer.name} has one term at most that is not 0")
            out.append(hot)
            continue
        plain = unrolled(node, spread, program.least)
        if plain is not None:
            notes.append(f"{node.buffers[0].name} is written out")
            out.append(plain)
            continue
        parts = None if beside is None else beside(node)
        if parts is None:
            busy = any(str(load.data) in hard for load in loads(*node.values))
            halves = cut(node, adjacent, options, program.least, busy)
        else:
            halves = in_chunks(node, *parts, program.least)
        if len(halves) > 1:
            name = node.buffers[0].name
            notes.append(f"{name} is reduced in two steps: few results, many elements")
        out.extend(halves)
    return replace(program, nodes=tuple(out))


def _hard(program: Program) -> set[str]:
    """Return the arrays on a GPU whose elements take many instructions.

    What makes them counts too, where one kernel would do both.
    """
    found: dict[str, tuple[int, int]] = {}
    for node in program.nodes:
        if not isinstance(node, Map) or not node.buffer.device.startswith("cuda"):
            continue
        size, total = points_of(node.buffer), effort(node).instructions
        for name in {str(load.data) for load in loads(node.value)}:
            own_size, own = found.get(name, (0, 0))
            total += own if own_size == size else 0
        found[node.buffer.name] = size, total
    return {name for name, (_, total) in found.items() if total >= HARD}


def _broadcast(program: Program) -> set[str]:
    """Return the arrays that some reader reads at more points than they have."""
    shapes = {name: points_of(b) for name, b in program.buffers().items()}
    found: set[str] = set()
    for node in program.nodes:
        size = points(space_of(node))
        for load in loads(*values_of(node)):
            if shapes.get(str(load.data), size) < size:
                found.add(str(load.data))
    return found


def points_of(buffer: Buffer) -> int:
    """Return the number of elements."""
    return points(Axis(index(0), extent) for extent in buffer.shape)


def single(node: Reduce) -> list[Map]:
    """Return a reduction of one element each as maps."""
    value = node.values[0]
    zero = {axis.digit: index(0) for axis in node.reduced}
    value = simplified(value, ranges_of(node.axes), zero)
    results = [started(node.reducer, value)]
    if node.reducer in ("argmax", "argmin"):
        results = [make("constant", (), node.buffers[0].dtype, 0)]
    elif node.reducer in ("welford", "online_softmax"):
        # what is infinite or NaN leaves NaN, as the loops would
        rest = make("sub", (value, value), value.dtype)
        if node.reducer == "welford":
            one = make("constant", (), value.dtype, 1.0)
            results += [make("mul", (rest, rest), value.dtype), one]
        else:
            results.append(make("exp", (rest,), value.dtype))
    return [
        Map(buffer, node.axes, result)
        for buffer, result in zip(node.buffers, results, strict=True)
    ]


def started(reducer: str, value: Expression) -> Expression:
    """Return a reduction of the first element: a sum starts from 0, not from -0."""
    if reducer != "sum" or type_class(value.dtype) != "float":
        return value
    return make("add", (constant(0, value.dtype), value), value.dtype)


def unrolled(
    node: Reduce, spread: set[str], least: Mapping[Expression, int]
) -> Map | None:
    """Return a small reduction as a map, None where it stays one.

    Reductions whose result goes back to each of their elements stay: they share a
    kernel with their reader, which could not share one with a map.
    """
    if node.reducer not in _COMBINE or node.buffers[0].name in spread:
        return None
    extents = [constant_value(axis.extent) for axis in node.reduced]
    total = 1
    for extent in extents:
        if extent is None:
            return None
        total *= extent
    if not 1 <= total <= UNROLLED or node.buffers[0].dtype != node.values[0].dtype:
        return None
    ranges = ranges_of(node.axes, least)
    result: Expression | None = None
    for place in combinations(*(range(extent or 0) for extent in extents)):
        at = {
            axis.digit: index(number)
            for axis, number in zip(node.reduced, place, strict=True)
        }
        value = simplified(node.values[0], ranges, at)
        if result is None:
            result = started(node.reducer, value)
        else:
            result = make(_COMBINE[node.reducer], (result, value), value.dtype)
    assert result is not None
    return Map(node.buffers[0], node.axes, result)


def cut(
    node: Reduce,
    adjacent: Adjacent,
    options: Options,
    least: Mapping[Expression, int],
    busy: bool = False,
) -> tuple[Node, ...]:
    """Return the reduction, or nodes that do the same in two steps.

    Args:
        node: The reduction.
        adjacent: Which dims are adjacent in memory.
        options: Threads; whether how it is cut may depend on its results.
        least: Symbol -> the least that it can be.
        busy: Whether its kernel will also compute what it reduces, at a cost: then
            more programs hide each other's waits.
    """
    if node.reducer not in CUTTABLE or not node.reduced:
        return (node,)
    chunks = _chunks(node, adjacent, options, busy)
    if chunks is None:
        return (node,)
    made = _cut_axes(node.reduced, chunks)
    if made is None:
        return (node,)
    return in_chunks(node, *made, least)


def _chunks(
    node: Reduce, adjacent: Adjacent, options: Options, busy: bool
) -> int | None:
    """Return how many chunks there should be, None for one."""
    results, elements = points(node.axes), points(node.reduced)
    cuda = node.buffers[0].device.startswith("cuda")
    if options.deterministic:
        return 64 if elements >= 1 << 20 else None
    if not cuda:
        threads = options.threads or os.cpu_count() or 1
        if threads == 1 or results >= 2 * threads or elements < 1 << 15:
            return None
        return 4 * threads
    lanes = 64 if adjacent.is_column_wise(node) else 1
    programs = max(results // lanes, 1)
    if programs >= 2 * PROCESSORS or elements * results < 1 << 18:
        return None
    each = 16 if busy and lanes > 1 else 4
    wanted = max(each * PROCESSORS // programs, 2)
    return min(wanted, max(elements // (1 if lanes > 1 else 1024), 1))


def _cut_axes(
    reduced: Sequence[Axis], chunks: int
) -> tuple[list[Axis], list[Axis], dict[Expression, Expression]] | None:
    """Return (axes of the chunks, axes inside, old digit -> over both)."""
    shared: list[Axis] = []
    rest: list[Axis] = []
    moved: dict[Expression, Expression] = {}
    left = chunks
    for axis in reduced:
        extent = constant_value(axis.extent)
        if extent is None:
            return None
        if left <= 1 or extent == 1:
            rest.append(axis)
        elif extent <= left:
            shared.append(axis)
            left = -(-left // extent)
        else:
            by = _divisor(extent, left)
            if by is None:
                if extent <= 16 * left and len(reduced) > 1:
                    shared.append(axis)
                    left = 1
                    continue
                return None
            parts, value = split_axis(axis, [extent // by])
            shared.append(parts[0])
            rest.append(parts[1])
            moved[axis.digit] = value
            left = 1
    return (shared, rest, moved) if shared and rest else None


def _divisor(extent: int, wanted: int) -> int | None:
    """Return the divisor nearest to what is wanted, within a factor of 4."""
    near = [
        d
        for d in range(max(wanted // 4, 2), 4 * wanted + 1)
        if extent % d == 0 and extent // d > 1
    ]
    return min(near, key=lambda d: (max(d, wanted) / min(d, wanted), d), default=None)
