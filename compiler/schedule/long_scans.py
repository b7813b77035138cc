"""Scans of few long rows in steps, so that all of a GPU works on them.

The row is cut into chunks: their totals are reduced, the totals are scanned, and each
chunk's own scan is combined with what came before it. The order of a floating sum
changes; a deterministic compilation keeps one program a row.
"""

from collections.abc import Mapping
from dataclasses import replace

from compiler.ir.expression import Expression, make
from compiler.ir.index import constant_value, floordiv, mod, sub
from compiler.ir.node import Axis, Map, Node, Program, Reduce, Scan
from compiler.options import Options

from .canonical import canonical_node
from .refine import split_axis
from .row_chunks import PROCESSORS
from .simplify import ranges_of, simplified
from .work import points

LONG = 1 << 16
"""Elements of a row from which it is cut."""

_COMBINE = {"sum": "add", "product": "mul", "maximum": "maximum", "minimum": "minimum"}
_LENGTHS = range(1024, 16385)


def with_long_scans(program: Program, options: Options, notes: list[str]) -> Program:
    """Return the program with scans of few long rows on a GPU cut into chunks."""
    if options.deterministic:
        return program
    out: list[Node] = []
    for node in program.nodes:
        steps = _cut(node, program.least)
        if len(steps) > 1:
            notes.append(f"{_name(node)} is scanned in steps: few rows, long ones")
        out.extend(steps)
    return replace(program, nodes=tuple(out))


def _name(node: Node) -> str:
    assert isinstance(node, Scan)
    return node.buffers[0].name


def _cut(node: Node, least: Mapping[Expression, int]) -> tuple[Node, ...]:
    if not isinstance(node, Scan) or node.kind not in _COMBINE:
        return (node,)
    others = [axis for i, axis in enumerate(node.axes) if i != node.along]
    extent = constant_value(node.axes[node.along].extent)
    cuda = node.buffers[0].device.startswith("cuda")
    if not cuda or extent is None or extent < LONG or points(others) >= PROCESSORS:
        return (node,)
    length = _chunk(extent)
    return (node,) if length is None else in_steps(node, length, least)


def _chunk(extent: int) -> int | None:
    """Return the divisor nearest to the square root among usable lengths."""
    wanted = 4096
    found = [length for length in _LENGTHS if extent % length == 0]
    return min(found, key=lambda n: (max(n, wanted) / min(n, wanted), n), default=None)


def in_steps(
    node: Scan, length: int, least: Mapping[Expression, int]
) -> tuple[Node, ...]:
    """Return nodes that do what a scan does, chunk by chunk.

    Args:
        node: A scan with one result.
        length: Of a chunk; divides the scanned extent [elements].
        least: Symbol -> the least that it can be.
    """
    (buffer,) = node.buffers
    along, dtype, kind = node.axes[node.along], node.value.dtype, node.kind
    (chunk, inside), position = split_axis(along, [length])
    before, after = node.axes[: node.along], node.axes[node.along + 1 :]
    whole = (*before, chunk, inside, *after)
    ranges = ranges_of(whole, least)
    value = simplified(node.value, ranges, {along.digit: position})

    rows = (*before, *after, chunk)
    like = replace(buffer, dtype=dtype, strides=None, offset=None)
    totals = replace(like, name=f"{buffer.name}_totals", shape=_shape(rows))
    carries = replace(like, name=f"{buffer.name}_carries", shape=_shape(rows))
    inner = replace(like, name=f"{buffer.name}_inside", shape=_shape(whole))

    place = tuple(axis.digit for axis in rows)
    total = make("load", place, dtype, totals.name)
    outer = tuple(axis.digit for axis in (*before, *after))
    number = floordiv(along.digit, length)
    own = tuple(
        part
        for axis in node.axes
        for part in (
            (number, mod(along.digit, length)) if axis is along else (axis.digit,)
        )
    )
    carry = make("load", (*outer, sub(number, 1)), dtype, carries.name)
    zero = make("constant", (), "int64", 0)
    later = make("gt", (make("from_index", (number,), "int64"), zero), "bool")
    mine = make("load", own, dtype, inner.name)
    joined = make(_COMBINE[kind], (carry, mine), dtype)
    result = make("guard", (later, joined, mine), dtype)
    steps = (
        Reduce((totals,), rows, (inside,), kind, (value,)),
        Scan((carries,), rows, len(rows) - 1, kind, total),
        Scan((inner,), whole, node.along + 1, kind, value),
        Map(buffer, node.axes, result),
    )
    return tuple(canonical_node(step, least) for step in steps)


def _shape(axes: tuple[Axis, ...]) -> tuple[Expression, ...]:
    return tuple(axis.extent for axis in axes)
