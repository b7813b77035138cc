"""Loads and stores: how addresses depend on coordinates, and what a layout costs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from compiler.cost.access import LINE_BYTES, access_cost, sectors, span
from compiler.ir.expression import Expression, leaves, nodes
from compiler.ir.index import add, mul, terms
from compiler.ir.node import Buffer
from compiler.ir.scalar import bits
from compiler.ir.tile import TileGraph, TileLoad, TileStore

from .laws import bits_of

WIDEST_BITS = 128
FAR = 1 << 20
"""Distance of elements whose addresses nothing is known about [elements]."""
MOST_INSTRUCTIONS = 8


@dataclass(frozen=True, slots=True)
class Access:
    """How the address of a load or store depends on the coordinates.

    Attributes:
        shape: Of the tile [elements].
        element_bits: Size of an element [bits].
        steps: For each packed bit of an element, about how far it moves the address
            [elements]; zero where it does not.
        axis: The dim along which elements are adjacent in memory, if there is one.
        aligned: Adjacent elements that start at a multiple of their number, so may
            move together; a power of two [elements].
    """

    shape: tuple[int, ...]
    element_bits: int
    steps: tuple[int, ...]
    axis: int | None
    aligned: int

    def vector(self, layout: LinearLayout) -> tuple[int, ...]:
        """Return the register bits that one access moves, the lowest address first.

        Args:
            layout: Of the tile.
        """
        if self.axis is None:
            return ()
        start = sum(bits_of(self.shape)[: self.axis])
        registers = layout.columns[: layout.in_bits[0]]
        found: list[int] = []
        while 2 << len(found) <= self.aligned:
            unit = 1 << start + len(found)
            users = [column for column in layout.columns if column & unit]
            if users != [unit] or unit not in registers:
                break
            found.append(registers.index(unit))
        return tuple(found)

    def line(self) -> list[int]:
        """Return the packed bits along the dim of adjacent elements, lowest first."""
        if self.axis is None:
            return []
        sizes = bits_of(self.shape)
        start = sum(sizes[: self.axis])
        return list(range(start, start + sizes[self.axis]))

    def cost(self, layout: LinearLayout) -> float:
        """Return what moving the tile costs a warp [cycles].

        Args:
            layout: Of the tile; copies in registers move once.
        """
        count, lanes = layout.in_bits[:2]
        columns = layout.columns
        vector = self.vector(layout)
        moved = [columns[bit] for bit in vector]
        echelon = Echelon(moved, len(moved) + count)
        repeated = [
            columns[bit]
            for bit in range(count)
            if bit not in vector and echelon.add(columns[bit], len(moved) + bit)
        ]
        shown = repeated[: MOST_INSTRUCTIONS.bit_length() - 1]
        inside = span([*moved, *columns[count : count + lanes]])
        elements = span(shown)[:, None] ^ inside[None, :]
        addresses = np.zeros_like(elements)
        for bit, step in enumerate(self.steps):
            addresses += (elements >> bit & 1) * (step * self.element_bits // 8)
        instructions = 1 << len(repeated)
        factor = instructions / len(elements)
        return access_cost(
            instructions,
            sectors(addresses) * factor,
            sectors(addresses, LINE_BYTES) * factor,
        )


def access_of(graph: TileGraph, step: TileLoad | TileStore) -> Access:
    """Return how a load or store of a graph reaches memory."""
    tile = step.result if isinstance(step, TileLoad) else step.operands[0]
    buffer = graph.buffers[step.buffer]
    address = position(buffer, step.index)
    sizes = bits_of(tile.shape)
    width = bits(tile.dtype)
    distances: list[int] = []
    zero = _value(address, graph, {})
    for axis, size in enumerate(sizes):
        for bit in range(size):
            moved = _value(address, graph, {f"d{axis}": 1 << bit})
            distances.append(abs(moved - zero))
    adjacent, aligned = _adjacent(address, graph, len(sizes))
    if leaves("local", address):
        distances = [step or FAR for step in distances]
    if step.condition is not None and adjacent is not None:
        aligned = min(aligned, _constancy(step.condition, adjacent, graph))
    return Access(
        tile.shape,
        width,
        tuple(distances),
        adjacent,
        min(aligned, WIDEST_BITS // width),
    )


def position(buffer: Buffer, index: tuple[Expression, ...]) -> Expression:
    """Return the place of an element in memory, after the first one [elements]."""
    strides = buffer.strides
    assert strides is not None, "the builder gives strides"
    parts = (mul(at, step) for at, step in zip(index, strides, strict=True))
    return add(0, *parts)


def divisor(value: Expression, graph: TileGraph) -> int:
    """Return a power of two that divides an index expression, up to 2**20."""
    if value.op == "constant":
        known = int(str(value.data))
        return min(known & -known, FAR) if known else FAR
    if value.op == "symbol":
        given = graph.divisible.get(str(value.data), 1)
        return given & -given
    parts = [divisor(arg, graph) for arg in value.args if arg.dtype == "index"]
    if value.op == "add":
        return min(parts)
    if value.op == "mul":
        found = 1
        for part in parts:
            found = min(found * part, FAR)
        return found
    if value.op == "mod":
        return min(parts)
    return 1


def _adjacent(
    address: Expression, graph: TileGraph, rank: int
) -> tuple[int | None, int]:
    """Return the dim of adjacent elements, and how many are aligned together."""
    parts = terms(address)
    for axis in range(rank):
        name = f"d{axis}"
        mine = [factor for factor in parts if factor and _mentions(factor, name)]
        if len(mine) != 1 or mine[0].op != "digit" or parts[mine[0]] != 1:
            continue
        aligned = FAR
        for factor, count in parts.items():
            if factor is mine[0]:
                continue
            known = count & -count
            if factor is not None:
                known = min(known * divisor(factor, graph), FAR)
            aligned = min(aligned, known)
        return axis, aligned
    return None, 1


def _mentions(value: Expression, name: str) -> bool:
    return any(leaf.data == name for leaf in leaves("digit", value))


def _constancy(condition: Expression, axis: int, graph: TileGraph) -> int:
    """Return for how many neighbours along a dim a condition is the same."""
    name = f"d{axis}"
    least = FAR
    for node in nodes(condition):
        if node.op not in ("lt", "le", "gt", "ge"):
            if node.op in ("eq", "ne") and _mentions(node, name):
                return 1
            continue
        if not _mentions(node, name):
            continue
        # d < n, where n and all else are multiples of a number, for groups of so many
        left, right = (
            arg.args[0] if arg.op == "from_index" else arg for arg in node.args
        )
        if node.op != "lt" or left.dtype != "index":
            return 1
        if right.dtype != "index":
            known = int(str(right.data)) if right.op == "constant" else 1
            least = min(least, known & -known or FAR)
        elif _mentions(right, name):
            return 1
        else:
            least = min(least, divisor(right, graph))
        for factor, count in terms(left).items():
            if factor is not None and factor.op == "digit" and factor.data == name:
                if count != 1:
                    return 1
                continue
            if factor is not None and _mentions(factor, name):
                return 1
            part = 1 if factor is None else divisor(factor, graph)
            least = min(least, (count & -count) * part)
    return least if not leaves("local", condition) else 1


def _value(value: Expression, graph: TileGraph, digits: Mapping[str, int]) -> int:
    """Return an index for typical sizes."""
    match value.op:
        case "constant":
            return int(str(value.data))
        case "digit":
            return digits.get(str(value.data), 0)
        case "symbol":
            name = str(value.data)
            return 0 if name.startswith("program") else graph.typical.get(name, 1)
    parts = [_value(a, graph, digits) for a in value.args if a.dtype == "index"]
    match value.op:
        case "add":
            return sum(parts)
        case "mul":
            found = 1
            for part in parts:
                found *= part
            return found
        case "floordiv":
            return parts[0] // max(1, parts[1])
        case "mod":
            return parts[0] % max(1, parts[1])
        case "minimum":
            return min(parts)
        case "maximum":
            return max(parts)
    return 0
