"""Tiles of reductions and scans: rows in registers, rows in a loop, columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from compiler.ir.expression import nodes
from compiler.ir.index import constant_value, digit, index, product, unflatten
from compiler.ir.kernel import Kernel, Reduction, Store, folded_axes
from compiler.ir.node import Axis

from .flat import indices, replaced
from .folding import plan_folded
from .tile import (
    LINE_BYTES,
    MANY,
    Access,
    Plan,
    TileAxis,
    accesses,
    bounded,
    flat_axis,
    mentions,
    power_above,
    size_of,
    touched,
)
from .vectors import RARE

PERSISTENT: Final = 16384
"""Largest row that a program holds in registers [elements]."""

_COLUMN_PERSISTENT: Final = 64

_SECTOR_BYTES: Final = 32
"""The least that memory moves at once."""

_LANE_ELEMENTS: Final = 32
"""Elements of a tile that a lane holds where rows share a program, about."""


def plan_reduction(kernel: Kernel, invariant: bool) -> Plan:
    """Return the plan of a flat kernel with inner axes."""
    extent = product(axis.extent for axis in kernel.inner)
    places = unflatten(digit("r"), [axis.extent for axis in kernel.inner])
    r = Axis(digit("r"), extent)
    digits = {a.digit: p for a, p in zip(kernel.inner, places, strict=True)}
    whole = replace(kernel, outer=(*kernel.outer, r))
    kernel = replace(replaced(whole, digits), outer=kernel.outer, inner=(r,))
    if folded_axes(kernel.outer, kernel.stages):
        return plan_folded(kernel, r)
    found = accesses(kernel)
    if not kernel.outer:
        return _plan_rows(kernel, r, found, invariant)
    rows = _rows_across(kernel, r, found, invariant)
    if rows > 1:
        return _plan_beside(kernel, r, rows)
    if _by_columns(kernel, r, found, invariant):
        return _plan_columns(kernel, r, found, invariant)
    return _plan_rows(kernel, r, found, invariant)


def _by_columns(
    kernel: Kernel, r: Axis, found: Sequence[Access], invariant: bool
) -> bool:
    """Return whether neighbours in memory belong to different outer points."""
    along, across, _ = _directions(kernel, r, found, invariant)
    return across > along


def _directions(
    kernel: Kernel, r: Axis, found: Sequence[Access], invariant: bool
) -> tuple[int, int, int]:
    """Return the bytes of accesses along rows, across them, and of all, about."""
    outer: Sequence[Axis] = kernel.outer
    if invariant:
        outer = [replace(axis, extent=index(MANY)) for axis in outer]
    axes = (*outer, r)
    along = sum(touched(a, axes) for a in found if a.stride(r.digit) in (1, None))
    across = sum(touched(a, axes) for a in found if _is_across(a, kernel, r))
    return along, across, sum(touched(access, axes) for access in found)


def _is_across(access: Access, kernel: Kernel, r: Axis) -> bool:
    """Return whether an access's neighbours belong to different outer points."""
    last = kernel.outer[-1].digit
    return access.stride(last) == 1 and access.stride(r.digit) not in (0, 1)


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
    block = power_above(length) if length is not None else PERSISTENT + 1
    persistent = block <= PERSISTENT
    outer = MANY if invariant else size_of([axis.extent for axis in kernel.outer])
    rows = 1
    if not persistent:
        width = min((a.width for a in found if a.stride(r.digit)), default=4)
        block = 8192 if width <= 2 and _is_one_pass(kernel) else 4096
        if length is not None:
            block = min(block, power_above(length))
        block = _inside_periods(kernel, r, block)
    elif block < 1024:
        rows = bounded(2048 // block, 1, power_above(outer))
        while rows > 1 and outer < rows * 132 * 4:
            rows //= 2
    warps = _row_warps(rows, block)
    programs = kernel.outer
    tile: tuple[TileAxis, ...] = ()
    if rows > 1 or not kernel.outer:
        programs = ()
    if rows > 1:
        x, kernel = flat_axis("x", kernel, kernel.outer)
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


def _rows_across(
    kernel: Kernel, r: Axis, found: Sequence[Access], invariant: bool
) -> int:
    """Return how many rows a program takes so that accesses across fill sectors.

    A row alone would use one element of each sector that such an access touches.
    Returns 1 where either kind of access is rare, or the rows do not fit registers.
    """
    last = kernel.outer[-1]
    along, across, whole = _directions(kernel, r, found, invariant)
    if min(along, across) <= RARE * whole:
        return 1
    rows = _SECTOR_BYTES // min(a.width for a in found if _is_across(a, kernel, r))
    length = constant_value(r.extent)
    if length is None or rows * power_above(length) > PERSISTENT:
        return 1
    outer = MANY if invariant else size_of([axis.extent for axis in kernel.outer])
    few = not invariant and size_of([last.extent]) < rows
    if few or outer < rows * 132 * 4:
        return 1
    return rows


def _plan_beside(kernel: Kernel, r: Axis, rows: int) -> Plan:
    """Plan tiles of whole rows that are neighbours along the last outer axis."""
    last = kernel.outer[-1]
    x = digit("x")
    whole = replace(kernel, outer=(*kernel.outer, Axis(x, last.extent), r))
    rewritten = replaced(whole, {last.digit: x})
    block = power_above(constant_value(r.extent) or 1)
    reduced = TileAxis(r.digit, r.extent, block)
    return Plan(
        kernel=replace(rewritten, outer=kernel.outer),
        tile=(TileAxis(x, last.extent, rows), reduced),
        programs=kernel.outer[:-1],
        reduced=reduced,
        persistent=True,
        num_warps=bounded(rows * block // (32 * _LANE_ELEMENTS), 4, 16),
    )


def _row_warps(rows: int, block: int) -> int:
    """Return the warps for a tile of rows; measured on an H200."""
    size = rows * block
    if size < 1024:
        return bounded(size // 256, 1, 4)
    if rows > 1:
        return 4
    return 16 if size >= 16384 else 8 if size >= 2048 else 4


def _inside_periods(kernel: Kernel, r: Axis, block: int) -> int:
    """Return a tile in which no quotient of ``r`` changes, if that is not tiny."""
    for root in indices(kernel):
        for node in nodes(root):
            if node.op in ("floordiv", "mod") and mentions(node.args[0], r.digit):
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
    outer = MANY if invariant else size_of([axis.extent for axis in kernel.outer])
    columns = bounded(LINE_BYTES // width, 16, 64)
    if not invariant:
        columns = min(columns, power_above(size_of([last.extent])))
    length = constant_value(r.extent)
    block = _COLUMN_PERSISTENT + 1 if length is None else power_above(length)
    persistent = block <= _COLUMN_PERSISTENT
    if not persistent:
        block = bounded(4096 // columns, 32, 256)
        if length is not None:
            block = min(block, power_above(length))
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
        num_warps=bounded(columns * block // 512, 1, 8),
    )
