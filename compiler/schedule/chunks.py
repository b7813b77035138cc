"""A reduction as two: over the elements of each chunk, and over the chunks.

Sums and extremes reduce their chunks' results as they reduced the elements. Moments,
positions and softmax's pair are put together by what they mean, with plain reductions:

- moments: all chunks have the same count n, so the mean is the mean of the chunks'
  means, and the squares add up to ``sum(m2 + n * (mean_c - mean)**2)`` (Chan, Golub
  and LeVeque's update for equal parts);
- the softmax pair: the greatest chunk's m, and ``sum(s * exp(m_c - m))``;
- a position: the first greatest chunk, and the position inside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.ir.expression import Expression, make
from compiler.ir.index import constant_value, floordiv, mod, product
from compiler.ir.node import Axis, Buffer, Map, Node, Reduce

from .canonical import canonical_node
from .simplify import ranges_of, simplified

CUTTABLE = (
    "sum",
    "product",
    "maximum",
    "minimum",
    "any",
    "all",
    "xor",
    "argmax",
    "argmin",
    "welford",
    "online_softmax",
)
"""Reducers that can be cut."""


def in_chunks(
    node: Reduce,
    shared: Sequence[Axis],
    rest: Sequence[Axis],
    moved: Mapping[Expression, Expression],
    least: Mapping[Expression, int],
) -> tuple[Node, ...]:
    """Return nodes that together do what a reduction does.

    Args:
        node: The reduction.
        shared: Axes of the chunks, the outermost of those that it reduces.
        rest: Axes inside a chunk.
        moved: Its digits over both, where they are cut.
        least: Symbol -> the least that it can be.
    """
    made = _Chunks(node, shared, rest, moved, least)
    if node.reducer == "welford":
        nodes = made.moments()
    elif node.reducer == "online_softmax":
        nodes = made.softmax()
    elif node.reducer in ("argmax", "argmin"):
        nodes = made.position()
    else:
        (chunk,) = made.chunk(node.reducer, node.buffers[:1])
        nodes = [made.over(node.reducer, node.buffers[0], made.at(chunk))]
    return tuple(canonical_node(part, least) for part in (*made.first, *nodes))


class _Chunks:
    def __init__(
        self,
        node: Reduce,
        shared: Sequence[Axis],
        rest: Sequence[Axis],
        moved: Mapping[Expression, Expression],
        least: Mapping[Expression, int],
    ) -> None:
        self.node, self.shared, self.rest = node, tuple(shared), tuple(rest)
        ranges = ranges_of((*node.axes, *shared, *rest), least)
        self.value = simplified(node.values[0], ranges, moved)
        self.first: list[Node] = []
        self.type = self.value.dtype

    def chunk(self, reducer: str, like: Sequence[Buffer]) -> list[Buffer]:
        """Add the reduction over each chunk; returns what it makes."""
        axes = (*self.node.axes, *self.shared)
        made = [
            Buffer(
                f"{buffer.name}_chunks",
                buffer.dtype,
                tuple(axis.extent for axis in axes),
                buffer.device,
                origin=buffer.origin,
            )
            for buffer in like
        ]
        self.first.append(Reduce(tuple(made), axes, self.rest, reducer, (self.value,)))
        return made

    def at(self, buffer: Buffer) -> Expression:
        """Return what a chunk gave, at the point of all axes."""
        place = tuple(axis.digit for axis in (*self.node.axes, *self.shared))
        return make("load", place, buffer.dtype, buffer.name)

    def row(self, name: str, dtype: str) -> Expression:
        """Return a result at the point of the outer axes."""
        place = tuple(axis.digit for axis in self.node.axes)
        return make("load", place, dtype, name)

    def over(self, reducer: str, buffer: Buffer, value: Expression) -> Reduce:
        """Return the reduction over the chunks."""
        axes = self.node.axes
        return Reduce((buffer,), axes, self.shared, reducer, (value,))

    def plain(self, name: str, dtype: str) -> Buffer:
        """Return a new array of one element an outer point."""
        like = self.node.buffers[0]
        return replace(like, name=name, dtype=dtype, strides=None, offset=None)

    def constant(self, value: float) -> Expression:
        return make("constant", (), self.type, value)

    def operation(self, op: str, *args: Expression) -> Expression:
        dtype = "bool" if op in ("eq", "ne") else args[-1].dtype
        return make(op, args, dtype)

    def moments(self) -> list[Node]:
        mean, squares, count = self.node.buffers
        means, parts, _ = self.chunk("welford", self.node.buffers)
        number = _known(product(axis.extent for axis in self.shared))
        size = _known(product(axis.extent for axis in self.rest))
        total = self.plain(f"{mean.name}_total", self.type)
        average = self.operation(
            "truediv", self.row(total.name, self.type), self.constant(float(number))
        )
        away = self.operation("sub", self.at(means), self.row(mean.name, self.type))
        spread = self.operation(
            "mul", self.operation("mul", away, away), self.constant(float(size))
        )
        return [
            self.over("sum", total, self.at(means)),
            Map(mean, self.node.axes, average),
            self.over("sum", squares, self.operation("add", self.at(parts), spread)),
            Map(count, self.node.axes, self.constant(float(number * size))),
        ]

    def softmax(self) -> list[Node]:
        greatest, total = self.node.buffers
        tops, sums = self.chunk("online_softmax", self.node.buffers)
        top, whole = self.at(tops), self.row(greatest.name, self.type)
        scale = self.operation("exp", self.operation("sub", top, whole))
        scaled = self.operation("mul", self.at(sums), scale)
        # a chunk of nothing but -inf adds nothing, unless all are
        lowest = self.constant(float("-inf"))
        empty = self.operation("eq", top, lowest)
        part = make("where", (empty, self.constant(0.0), scaled), self.type)
        same = self.operation("eq", top, whole)
        part = make("where", (same, self.at(sums), part), self.type)
        return [
            self.over("maximum", greatest, top),
            self.over("sum", total, part),
        ]

    def position(self) -> list[Node]:
        out = self.node.buffers[0]
        kind = "maximum" if self.node.reducer == "argmax" else "minimum"
        (places,) = self.chunk(self.node.reducer, [out])
        (tops,) = self.chunk(kind, [self.plain(f"{out.name}_top", self.type)])
        which = self.plain(f"{out.name}_chunk", out.dtype)
        number = product(axis.extent for axis in self.shared)
        size = product(axis.extent for axis in self.rest)
        picked = self.row(which.name, which.dtype)
        chosen = make("checked_index", (picked, number), "index", False)
        inside = self._chunk_at(places, chosen)
        start = make("constant", (), out.dtype, _known(size))
        place = self.operation("add", self.operation("mul", picked, start), inside)
        return [
            self.over(self.node.reducer, which, self.at(tops)),
            Map(out, self.node.axes, place),
        ]

    def _chunk_at(self, buffer: Buffer, chosen: Expression) -> Expression:
        """Return what the chunk of a number gave."""
        place = [axis.digit for axis in self.node.axes]
        rest = chosen
        tail: list[Expression] = []
        for axis in reversed(self.shared[1:]):
            tail.append(mod(rest, axis.extent))
            rest = floordiv(rest, axis.extent)
        return make("load", (*place, rest, *tail[::-1]), buffer.dtype, buffer.name)


def _known(value: Expression) -> int:
    known = constant_value(value)
    assert known is not None, "chunks have known sizes"
    return known
