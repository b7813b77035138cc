"""The choice of form, tile and warps for a kernel on a GPU.

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
    mul,
    product,
    terms,
    unflatten,
)
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.node import Axis
from compiler.ir.operations import OPERATIONS
from compiler.ir.ranges import Ranges

from .flat import (
    expressions,
    flattened,
    indices,
    recombined,
    replaced,
    with_indices,
)
from .spelling import WIDTHS

PERSISTENT: Final = 16384
"""Largest row that a program holds in registers [elements]."""

_COLUMN_PERSISTENT: Final = 64
_VECTOR_BYTES: Final = 16
_THREADS: Final = 32
_LINE_BYTES: Final = 128
_WASTE: Final = 1 / 16
_COSTLY: Final = 12
_MANY: Final = 1 << 24


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
    """

    kernel: Kernel
    tile: tuple[TileAxis, ...]
    programs: tuple[Axis, ...]
    reduced: TileAxis | None
    persistent: bool
    num_warps: int
    num_stages: int = 1

    @property
    def independent(self) -> tuple[TileAxis, ...]:
        """Return the dims of the tile but ``r``."""
        return tuple(axis for axis in self.tile if axis is not self.reduced)

    @property
    def grid(self) -> Expression:
        """Return the number of programs."""
        points = product(axis.extent for axis in self.programs)
        return mul(points, *(axis.blocks for axis in self.independent))


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
            elif factor is not None and _mentions(factor, over):
                return None
        return count


def _mentions(value: Expression, over: Expression) -> bool:
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


def plan(kernel: Kernel, *, invariant: bool = False) -> Plan:
    """Return the plan of a kernel.

    Sizes that are not constants count as large.

    Args:
        kernel: What the scheduler made.
        invariant: Choose the tile of a reduction by its reduced axes alone, so that
            the bits of a result do not depend on how many others there are.
    """
    kernel = flattened(kernel)
    if not kernel.inner:
        return _plan_pointwise(kernel)
    return _plan_reduction(kernel, invariant)


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
        if not (axis is plan.reduced and plan.persistent)
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
            found = [d for d in split if any(_mentions(n, d) for n in divided)]
            changed = substitute(index, {d: split[d] for d in found})
            done[index] = recombined(ranges.simplify(changed)) if found else index
        return done[index]

    return replace(plan, kernel=with_indices(plan.kernel, apart))


def _size(extents: Sequence[Index]) -> int:
    known = constant_value(product(extents))
    return _MANY if known is None else known


def _power_above(size: int) -> int:
    return 1 << max(size - 1, 0).bit_length()


def _bounded(size: int, low: int, high: int) -> int:
    return max(low, min(high, size))


def _plan_pointwise(kernel: Kernel) -> Plan:
    found = accesses(kernel)
    second = _second_axis(kernel, found)
    if second is not None:
        return _plan_square(kernel, second, found)
    if _shares_columns(kernel):
        return _plan_shared(kernel)
    width = min((access.width for access in found), default=4)
    size = _size([axis.extent for axis in kernel.outer])
    lanes = _bounded(_VECTOR_BYTES // width, 4, 16)
    block, warps = _pointwise_block(size, lanes)
    count = _suffix(kernel.outer, block)
    x, rewritten = _flat_axis("x", kernel, kernel.outer[len(kernel.outer) - count :])
    return Plan(
        kernel=rewritten,
        tile=(TileAxis(x.digit, x.extent, block),),
        programs=kernel.outer[: len(kernel.outer) - count],
        reduced=None,
        persistent=False,
        num_warps=warps,
    )


def _shares_columns(kernel: Kernel) -> bool:
    """Return whether costly values depend on the last axis only, as in a batch norm."""
    if len(kernel.outer) < 2:
        return False
    *others, last = kernel.outer
    length = constant_value(last.extent)
    rows = _size([axis.extent for axis in others])
    if length is None or length % 64 or rows < 132 * 32:
        return False
    outside = {axis.digit for axis in others}
    roots = [part for stage in kernel.stages for part in expressions(stage)]
    varies: set[Expression] = set()
    cost = 0
    for node in nodes(*roots):
        if node in outside or any(arg in varies for arg in node.args):
            varies.add(node)
        elif node.op in OPERATIONS and node.dtype != "index":
            cost += OPERATIONS[node.op].cost
    return cost >= _COSTLY


def _plan_shared(kernel: Kernel) -> Plan:
    """Plan tiles of several rows, which share what depends on the column only."""
    *others, last = kernel.outer
    y, rewritten = _flat_axis("y", kernel, others)
    x = digit("x")
    whole = replace(rewritten, outer=(*kernel.outer, y, Axis(x, last.extent)))
    rewritten = replaced(whole, {last.digit: x})
    length = constant_value(last.extent) or 64
    columns = min(length & -length, 256)
    return Plan(
        kernel=replace(rewritten, outer=kernel.outer),
        tile=(
            TileAxis(y.digit, y.extent, 8192 // columns),
            TileAxis(x, last.extent, columns),
        ),
        programs=(),
        reduced=None,
        persistent=False,
        num_warps=8,
    )


def _pointwise_block(size: int, lanes: int) -> tuple[int, int]:
    """Return (elements, warps) of a program: two vectors a thread if there is work."""
    warps = 4
    block = warps * _THREADS * lanes
    if size >= block * 132 * 16:
        return 2 * block, warps
    while warps > 1 and size < block * 132 * 2:
        warps, block = warps // 2, block // 2
    return min(block, _power_above(size)), warps


def _suffix(axes: Sequence[Axis], block: int) -> int:
    """Return how many of the last axes make ``x``: few, and little waste in tiles."""
    for count in range(1, len(axes)):
        size = constant_value(product(axis.extent for axis in axes[-count:]))
        if size is None:
            continue
        covered = -(-size // block) * block
        if covered - size <= size * _WASTE:
            return count
    return len(axes)


def _flat_axis(name: str, kernel: Kernel, axes: Sequence[Axis]) -> tuple[Axis, Kernel]:
    """Return one axis for several, and the kernel over it."""
    extents = [axis.extent for axis in axes]
    axis = Axis(digit(name), product(extents))
    places = unflatten(axis.digit, extents)
    digits = {a.digit: place for a, place in zip(axes, places, strict=True)}
    whole = replace(kernel, outer=(*kernel.outer, axis))
    return axis, replace(replaced(whole, digits), outer=kernel.outer)


def _second_axis(kernel: Kernel, found: Sequence[Access]) -> Axis | None:
    """Return an axis that is adjacent for many bytes where the last one is not."""
    if len(kernel.outer) < 2:
        return None
    last = kernel.outer[-1]
    best, best_bytes = None, 0
    for axis in kernel.outer[:-1]:
        if _size([axis.extent]) < 16 or _size([last.extent]) < 16:
            continue
        moved = sum(
            access.width
            for access in found
            if access.stride(axis.digit) == 1
            and access.stride(last.digit) not in (0, 1, None)
        )
        if moved > best_bytes:
            best, best_bytes = axis, moved
    return best


def _plan_square(kernel: Kernel, second: Axis, found: Sequence[Access]) -> Plan:
    """Plan two-dimensional tiles: rows along one access, columns along the other."""
    last = kernel.outer[-1]
    width = max(access.width for access in found)
    side = _bounded(_LINE_BYTES // width, 32, 64)
    warps = 8
    if _size([axis.extent for axis in kernel.outer]) >= 4 * side * side * 132 * 16:
        side, warps = 2 * side, 4
    rest = tuple(axis for axis in kernel.outer if axis not in (second, last))
    x, y = digit("x"), digit("y")
    whole = replace(
        kernel, outer=(*kernel.outer, Axis(x, last.extent), Axis(y, second.extent))
    )
    kernel = replaced(whole, {last.digit: x, second.digit: y})
    rows = min(side, _power_above(_size([second.extent])))
    columns = min(side, _power_above(_size([last.extent])))
    return Plan(
        kernel=kernel,
        tile=(TileAxis(y, second.extent, rows), TileAxis(x, last.extent, columns)),
        programs=rest,
        reduced=None,
        persistent=False,
        num_warps=_bounded(rows * columns // 512, 1, warps),
    )


def _plan_reduction(kernel: Kernel, invariant: bool) -> Plan:
    extent = product(axis.extent for axis in kernel.inner)
    places = unflatten(digit("r"), [axis.extent for axis in kernel.inner])
    r = Axis(digit("r"), extent)
    digits = {a.digit: p for a, p in zip(kernel.inner, places, strict=True)}
    whole = replace(kernel, outer=(*kernel.outer, r))
    kernel = replace(replaced(whole, digits), outer=kernel.outer, inner=(r,))
    found = accesses(kernel)
    if kernel.outer and _by_columns(kernel, r, found):
        return _plan_columns(kernel, r, found, invariant)
    return _plan_rows(kernel, r, found, invariant)


def _by_columns(kernel: Kernel, r: Axis, found: Sequence[Access]) -> bool:
    """Return whether neighbours in memory belong to different outer points."""
    last = kernel.outer[-1].digit
    along = sum(a.width for a in found if a.stride(r.digit) in (1, None))
    across = sum(
        a.width
        for a in found
        if a.stride(last) == 1 and a.stride(r.digit) not in (0, 1)
    )
    return across > along


def _is_one_pass(kernel: Kernel) -> bool:
    """Return whether a loop only reduces: many elements a thread pay then."""
    return all(
        isinstance(stage, Reduction) or (isinstance(stage, Store) and not stage.inner)
        for stage in kernel.stages
    )


def _plan_rows(
    kernel: Kernel, r: Axis, found: Sequence[Access], invariant: bool
) -> Plan:
    length = constant_value(r.extent)
    block = _power_above(length) if length is not None else PERSISTENT + 1
    persistent = block <= PERSISTENT
    outer = _MANY if invariant else _size([axis.extent for axis in kernel.outer])
    rows = 1
    if not persistent:
        width = min((a.width for a in found if a.stride(r.digit)), default=4)
        block = 8192 if width <= 2 and _is_one_pass(kernel) else 4096
        if length is not None:
            block = min(block, _power_above(length))
        block = _inside_periods(kernel, r, block)
    elif block < 1024:
        rows = _bounded(2048 // block, 1, _power_above(outer))
        while rows > 1 and outer < rows * 132 * 4:
            rows //= 2
    warps = _row_warps(rows, block)
    programs = kernel.outer
    tile: tuple[TileAxis, ...] = ()
    if rows > 1 or not kernel.outer:
        programs = ()
    if rows > 1:
        x, kernel = _flat_axis("x", kernel, kernel.outer)
        tile = (TileAxis(x.digit, x.extent, rows),)
    reduced = TileAxis(r.digit, r.extent, max(block, 1))
    return Plan(
        kernel=kernel,
        tile=(*tile, reduced),
        programs=programs,
        reduced=reduced,
        persistent=persistent,
        num_warps=warps,
    )


def _row_warps(rows: int, block: int) -> int:
    """Return the warps for a tile of rows; measured on an H200."""
    size = rows * block
    if size < 1024:
        return _bounded(size // 256, 1, 4)
    if rows > 1:
        return 4
    return 16 if size >= 16384 else 8 if size >= 2048 else 4


def _inside_periods(kernel: Kernel, r: Axis, block: int) -> int:
    """Return a tile in which no quotient of ``r`` changes, if that is not tiny."""
    for root in indices(kernel):
        for node in nodes(root):
            if node.op in ("floordiv", "mod") and _mentions(node.args[0], r.digit):
                period = constant_value(node.args[1]) or 1
                period &= -period
                if 1024 <= period < block:
                    block = period
    return block


def _plan_columns(
    kernel: Kernel, r: Axis, found: Sequence[Access], invariant: bool
) -> Plan:
    last = kernel.outer[-1]
    width = min(a.width for a in found if a.stride(last.digit) == 1)
    outer = _MANY if invariant else _size([axis.extent for axis in kernel.outer])
    columns = _bounded(_LINE_BYTES // width, 16, 64)
    if not invariant:
        columns = min(columns, _power_above(_size([last.extent])))
    length = constant_value(r.extent)
    block = _COLUMN_PERSISTENT + 1 if length is None else _power_above(length)
    persistent = block <= _COLUMN_PERSISTENT
    if not persistent:
        block = _bounded(4096 // columns, 32, 256)
        if length is not None:
            block = min(block, _power_above(length))
    while columns > 16 and outer < columns * 132 and not persistent:
        columns, block = columns // 2, min(block * 2, 256)
    x = digit("x")
    whole = replace(kernel, outer=(*kernel.outer, Axis(x, last.extent), r))
    rewritten = replaced(whole, {last.digit: x})
    reduced = TileAxis(r.digit, r.extent, max(block, 1))
    return Plan(
        kernel=replace(rewritten, outer=kernel.outer),
        tile=(TileAxis(x, last.extent, columns), reduced),
        programs=kernel.outer[:-1],
        reduced=reduced,
        persistent=persistent,
        num_warps=_bounded(columns * block // 512, 1, 8),
    )


def programs_of(plan: Plan) -> dict[Expression, Expression]:
    """Return each program axis, and each tile's first block, by the program's number.

    The last axis runs fastest: neighbouring programs share lines of memory.
    """
    independent = plan.independent
    extents = [axis.extent for axis in plan.programs]
    extents += [axis.blocks for axis in independent]
    places = unflatten(digit("program"), extents) if extents else []
    names = [axis.digit for axis in plan.programs]
    names += [block_of(axis) for axis in independent]
    return dict(zip(names, places, strict=True))


def rounded(extent: Expression, block: int) -> Expression:
    """Return the extent that whole tiles cover."""
    known = constant_value(extent)
    if known is None:
        return add(extent, block - 1)
    return index(math.ceil(known / block) * block)
