"""Tiles of pointwise kernels: vectors, squares for transposes, shared columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from compiler.ir.expression import Expression, nodes
from compiler.ir.index import constant_value, digit, index, product
from compiler.ir.kernel import Kernel
from compiler.ir.node import Axis
from compiler.ir.operations import OPERATIONS

from .flat import expressions, replaced
from .parts import parts_of
from .tile import (
    LINE_BYTES,
    PART,
    Access,
    Plan,
    TileAxis,
    accesses,
    bounded,
    flat_axis,
    power_above,
    size_of,
)

_VECTOR_BYTES: Final = 16
_THREADS: Final = 32
_WASTE: Final = 1 / 16
_COSTLY: Final = 12


def plan_pointwise(kernel: Kernel) -> Plan:
    """Return the plan of a flat kernel without inner axes."""
    parts = parts_of(kernel)
    found = _plan_whole(kernel, max(len(parts), 1))
    if not parts:
        return found
    chooser = Axis(PART, index(len(parts)))
    return replace(found, programs=(chooser, *found.programs), parts=parts)


def _plan_whole(kernel: Kernel, parts: int) -> Plan:
    """Return the plan of a kernel of which a program does all, or one of its parts."""
    found = accesses(kernel)
    second = _second_axis(kernel, found)
    if second is not None:
        return _plan_square(kernel, second, found)
    if _shares_columns(kernel):
        return _plan_shared(kernel)
    last = kernel.outer[-1].digit if kernel.outer else None
    varying = [a for a in found if last is not None and a.stride(last) != 0]
    width = min((access.width for access in varying or found), default=4)
    size = size_of([axis.extent for axis in kernel.outer])
    lanes = bounded(_VECTOR_BYTES // width, 4, 16)
    block, warps = _pointwise_block(size * parts, lanes)
    count = _suffix(kernel.outer, block)
    x, rewritten = flat_axis("x", kernel, kernel.outer[len(kernel.outer) - count :])
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
    rows = size_of([axis.extent for axis in others])
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
    y, rewritten = flat_axis("y", kernel, others)
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
    return min(block, power_above(size)), warps


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


def _second_axis(kernel: Kernel, found: Sequence[Access]) -> Axis | None:
    """Return an axis that is adjacent for many bytes where the last one is not."""
    if len(kernel.outer) < 2:
        return None
    last = kernel.outer[-1]
    best, best_bytes = None, 0
    for axis in kernel.outer[:-1]:
        if size_of([axis.extent]) < 16 or size_of([last.extent]) < 16:
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
    side = bounded(LINE_BYTES // width, 32, 64)
    warps = 8
    if size_of([axis.extent for axis in kernel.outer]) >= 4 * side * side * 132 * 16:
        side, warps = 2 * side, 4
    rest = tuple(axis for axis in kernel.outer if axis not in (second, last))
    x, y = digit("x"), digit("y")
    whole = replace(
        kernel, outer=(*kernel.outer, Axis(x, last.extent), Axis(y, second.extent))
    )
    kernel = replaced(whole, {last.digit: x, second.digit: y})
    rows = min(side, power_above(size_of([second.extent])))
    columns = min(side, power_above(size_of([last.extent])))
    return Plan(
        kernel=kernel,
        tile=(TileAxis(y, second.extent, rows), TileAxis(x, last.extent, columns)),
        programs=rest,
        reduced=None,
        persistent=False,
        num_warps=bounded(rows * columns // 512, 1, warps),
    )
