"""Tiles: how a kernel's axes lie over programs and what a program holds.

A plan rewrites a kernel onto the axes of a program's tile: ``x`` (and ``y`` where two
axes are each adjacent in memory for some access) over independent points, ``r`` over
reduced or scanned ones. What is left of the outer axes is chosen by the program alone,
so its index arithmetic is scalar.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from compiler.ir.expression import Expression, loads, nodes, substitute
from compiler.ir.index import (
    Index,
    add,
    constant_value,
    digit,
    floordiv,
    index,
    minimum,
    mod,
    mul,
    product,
    terms,
    unflatten,
)
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Tiling
from compiler.ir.ranges import Ranges

from .flat import expressions, recombined, replaced, with_indices
from .spelling import WIDTHS

MANY: Final = 1 << 24
"""What a size that is not constant counts as [elements]."""

LINE_BYTES: Final = 128
"""Of a cache line."""

PART: Final = digit("part")
"""Which of several independent parts of a kernel a program does."""

Parts = tuple[tuple[int, ...], ...]
"""The numbers of each part's stages."""


@dataclass(frozen=True, slots=True)
class TileAxis:
    """A dim of a program's tile.

    Attributes:
        digit: ``x``, ``y`` or ``r``.
        extent: Of the whole axis [elements].
        block: Of the tile, a power of two [elements].
    """

    digit: Expression
    extent: Expression
    block: int

    @property
    def name(self) -> str:
        """Return the digit's name."""
        return str(self.digit.data)

    @property
    def exact(self) -> bool:
        """Whether tiles cover the axis without a rest."""
        known = constant_value(self.extent)
        return known is not None and known > 0 and known % self.block == 0

    @property
    def blocks(self) -> Expression:
        """Return the number of tiles along the axis."""
        return floordiv(add(self.extent, self.block - 1), self.block)


@dataclass(frozen=True, slots=True)
class MatrixFactors:
    """The factors of a product of matrices: where a tile's elements are.

    It may be the product of the transposes, whose left factor is the right one.

    Attributes:
        arrays: Left and right.
        places: Of the left factor's row ``y`` and of the right one's column ``x``, at
            the first term [elements].
        steps: Of both factors, from term to term [elements].
        rows: Of both factors, the step of the dim that is not adjacent, 0 where
            neither is or the places have no constant steps [elements].
        terms: Of a sum [elements].
        dtype: Of both.
        result: Name of the sum.
        tiling: What the scheduler chose.
    """

    arrays: tuple[str, str]
    places: tuple[Expression, Expression]
    steps: tuple[int, int]
    rows: tuple[int, int]
    terms: int
    dtype: str
    result: str
    tiling: Tiling


@dataclass(frozen=True, slots=True)
class Plan:
    """How a kernel runs.

    Attributes:
        kernel: Over the digits of ``tile`` and ``programs``, with flat addresses.
            Tiles may still be changed: :func:`tiles_apart` comes last.
        tile: Dims of a program's tile; ``r`` comes last.
        programs: Axes that a program has one point of, outermost first.
        reduced: The axis ``r``, None if the kernel has no inner axes.
        persistent: Whether ``r`` has one tile, which stays in registers.
        num_warps: Warps of a program.
        num_stages: Depth of the software pipeline.
        folded: The dim of the tile that a program loops over, to sum columns on the
            way; None if it has no such loop. ``r`` is persistent then.
        neighbours: Rows of tiles of which the first program of each starts before any
            second one does: neighbouring programs share the lines of both factors of
            a product. Divides the number of rows of tiles.
        factors: Of a product of matrices, else None. Its reduction is no stage of the
            kernel then.
        parts: Stages that programs do apart; () if each does all. ``PART`` is the
            first axis of programs then.
    """

    kernel: Kernel
    tile: tuple[TileAxis, ...]
    programs: tuple[Axis, ...]
    reduced: TileAxis | None
    persistent: bool
    num_warps: int
    num_stages: int = 1
    folded: TileAxis | None = None
    neighbours: int = 1
    factors: "MatrixFactors | None" = None
    parts: Parts = ()

    @property
    def independent(self) -> tuple[TileAxis, ...]:
        """Return the dims of the tile but ``r``."""
        return tuple(axis for axis in self.tile if axis is not self.reduced)

    @property
    def shared(self) -> tuple[TileAxis, ...]:
        """Return the dims of the tile that programs share out."""
        return tuple(axis for axis in self.independent if axis is not self.folded)

    @property
    def tiles(self) -> Expression:
        """Return the number of tiles, over all points of the axes of programs."""
        points = product(axis.extent for axis in self.programs)
        return mul(points, *(axis.blocks for axis in self.shared))

    @property
    def grid(self) -> Expression:
        """Return the number of programs: one a tile, unless they share the tiles."""
        if self.factors is None or not self.factors.tiling.programs:
            return self.tiles
        return minimum(self.tiles, self.factors.tiling.programs)


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store: its address and width [bytes]."""

    address: Expression
    width: int

    def stride(self, over: Expression) -> int | None:
        """Return the coefficient of a digit; None if it is not constant."""
        count = 0
        for factor, number in terms(self.address).items():
            if factor is over:
                count = number
            elif factor is not None and mentions(factor, over):
                return None
        return count


def lies_across(plan: Plan) -> bool:
    """Return whether a plan's accesses ask for different layouts of its tile.

    That is where several dims of the tile are each adjacent in memory for some access
    that varies along all of them, or where a reduction runs across such a dim.

    Args:
        plan: Tiles not taken apart yet.
    """
    whole = [
        access
        for access in accesses(plan.kernel)
        if all(access.stride(axis.digit) != 0 for axis in plan.tile)
    ]
    along = {
        axis.digit
        for axis in plan.tile
        for access in whole
        if access.stride(axis.digit) == 1
    }
    if plan.reduced is not None:
        along.add(plan.reduced.digit)
    return len(along) > 1


def mentions(value: Expression, over: Expression) -> bool:
    """Return whether an index depends on a digit."""
    return any(node is over for node in nodes(value))


def accesses(kernel: Kernel) -> list[Access]:
    """Return the distinct loads and the stores of a flat kernel."""
    roots = [part for stage in kernel.stages for part in expressions(stage)]
    found = [Access(load.args[0], WIDTHS[load.dtype] // 8) for load in loads(*roots)]
    for stage in kernel.stages:
        if isinstance(stage, Store):
            width = WIDTHS[kernel.buffers[stage.buffer].dtype] // 8
            found.append(Access(stage.target[0], width))
    return found


def touched(access: Access, axes: Sequence[Axis | TileAxis]) -> int:
    """Return how many bytes an access touches, each place once, about.

    Args:
        access: The load or store.
        axes: All that its address may depend on; sizes that are not constants count
            as large.
    """
    moved = access.width
    for axis in axes:
        if access.stride(axis.digit) != 0:
            moved *= size_of([axis.extent])
    return moved


def block_of(axis: TileAxis) -> Expression:
    """Return the digit that counts tiles along an axis."""
    return digit(f"{axis.name}_block")


def lane_of(axis: TileAxis) -> Expression:
    """Return the digit that counts points of a tile along an axis."""
    return digit(f"{axis.name}_lane")


def tiles_apart(plan: Plan) -> Plan:
    """Write divided coordinates as tile and lane: many quotients become scalars.

    Law: ``x == x_block * XBLOCK + x_lane``. Only indices that divide or take a
    remainder of a coordinate change.
    """
    split = {
        axis.digit: add(mul(block_of(axis), axis.block), lane_of(axis))
        for axis in plan.tile
        if axis is not plan.folded and not (axis is plan.reduced and plan.persistent)
    }
    extents: dict[Expression, Index] = {a.digit: a.extent for a in plan.programs}
    for axis in plan.tile:
        extents[axis.digit] = axis.extent
        extents[block_of(axis)] = axis.blocks
        extents[lane_of(axis)] = axis.block
    ranges = Ranges(extents)
    done: dict[Expression, Expression] = {}

    def apart(index: Expression) -> Expression:
        if index not in done:
            divided = [n for n in nodes(index) if n.op in ("floordiv", "mod")]
            found = [d for d in split if any(mentions(n, d) for n in divided)]
            changed = substitute(index, {d: split[d] for d in found})
            done[index] = recombined(ranges.simplify(changed)) if found else index
        return done[index]

    return replace(plan, kernel=with_indices(plan.kernel, apart))


def programs_of(plan: Plan) -> dict[Expression, Expression]:
    """Return each program axis, and each tile's first block, by the program's number.

    The last axis runs fastest: neighbouring programs share lines of memory.
    """
    shared = plan.shared
    extents = [axis.extent for axis in plan.programs]
    extents += [axis.blocks for axis in shared]
    # no program runs where an extent is 0: any place will do
    extents = [index(1) if constant_value(e) == 0 else e for e in extents]
    if plan.neighbours > 1:
        places = _grouped(extents, plan.neighbours)
    else:
        places = unflatten(digit("program"), extents) if extents else []
    names = [axis.digit for axis in plan.programs]
    names += [block_of(axis) for axis in shared]
    return dict(zip(names, places, strict=True))


def _grouped(extents: Sequence[Expression], rows: int) -> list[Expression]:
    """Return the row and the column of a program's tile, some rows at a time."""
    _, columns = extents
    program = digit("program")
    inside = mod(program, mul(rows, columns))
    first = mul(floordiv(program, mul(rows, columns)), rows)
    return [add(first, mod(inside, rows)), floordiv(inside, rows)]


def rounded(extent: Expression, block: int) -> Expression:
    """Return the extent that whole tiles cover."""
    known = constant_value(extent)
    if known is None:
        return add(extent, block - 1)
    return index(math.ceil(known / block) * block)


def flat_axis(name: str, kernel: Kernel, axes: Sequence[Axis]) -> tuple[Axis, Kernel]:
    """Return one axis for several, and the kernel over it."""
    extents = [axis.extent for axis in axes]
    axis = Axis(digit(name), product(extents))
    places = unflatten(axis.digit, extents)
    digits = {a.digit: place for a, place in zip(axes, places, strict=True)}
    whole = replace(kernel, outer=(*kernel.outer, axis))
    return axis, replace(replaced(whole, digits), outer=kernel.outer)


def size_of(extents: Sequence[Index]) -> int:
    """Return the product of extents; what is not constant counts as many."""
    known = constant_value(product(extents))
    return MANY if known is None else known


def power_above(size: int) -> int:
    """Return the least power of two that is no smaller."""
    return 1 << max(size - 1, 0).bit_length()


def bounded(size: int, low: int, high: int) -> int:
    """Return the size, or the nearer limit."""
    return max(low, min(high, size))
