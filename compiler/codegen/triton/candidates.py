"""Other plans of a kernel, for a tuner to time.

A plan of another tile sums in another order, so its result may differ in the last
bits. Where results must not depend on a timing, only kernels whose results no order
changes are tuned; :func:`exchangeable` tells.
"""

from collections.abc import Iterator
from dataclasses import replace

from compiler.ir.kernel import Prefix, Reduction, Store
from compiler.ir.operations import type_class

from .tile import Plan, TileAxis

_ORDERLESS = ("maximum", "minimum", "any", "all", "xor", "argmax", "argmin")


def exchangeable(plan: Plan) -> bool:
    """Return whether all plans of the kernel have bitwise equal results.

    Example:
        >>> from compiler.ir.kernel import Kernel
        >>> empty = Kernel("empty", (), (), (), {})
        >>> exchangeable(Plan(empty, (), (), None, False, 4))
        True
    """
    if plan.factors is not None:
        return False
    for stage in plan.kernel.stages:
        if isinstance(stage, Prefix):
            return False
        if isinstance(stage, Store):
            if not stage.injective:
                return False
        elif stage.reducer not in _ORDERLESS and _rounds(stage):
            return False
    return True


def _rounds(stage: Reduction) -> bool:
    return any(type_class(value.dtype) == "float" for value in stage.values)


def repeatable(plan: Plan) -> bool:
    """Return whether a kernel may run twice: it reads nothing that it writes."""
    from compiler.ir.expression import loads

    from .flat import expressions

    roots = [part for stage in plan.kernel.stages for part in expressions(stage)]
    read = {load.data for load in loads(*roots)}
    for stage in plan.kernel.stages:
        if isinstance(stage, Store) and (stage.mode != "set" or stage.buffer in read):
            return False
    return True


def candidates(plan: Plan) -> list[Plan]:
    """Return a few plans of the same kernel, the given one first."""
    found = [plan]
    for other in _others(plan):
        size = 1
        for axis in other.tile:
            size *= axis.block
        threads = other.num_warps * 32
        if threads <= size <= threads * 128 and other not in found:
            found.append(other)
    return found


def _others(plan: Plan) -> Iterator[Plan]:
    if plan.reduced is None:
        yield from _blocks(plan)
        return
    for warps in (plan.num_warps // 2, plan.num_warps * 2):
        if 1 <= warps <= 32:
            yield replace(plan, num_warps=warps)
    if plan.persistent:
        for axis in plan.independent:
            for block in (axis.block // 2, axis.block * 2, axis.block * 4):
                yield _with_block(plan, axis, block)
        return
    for scale in (0.25, 0.5, 2):
        block = int(plan.reduced.block * scale)
        if block >= 1:
            yield _with_block(plan, plan.reduced, block)
            if scale > 1:
                wide = _with_block(plan, plan.reduced, block)
                yield replace(wide, num_warps=min(plan.num_warps * 2, 32))
    for stages in (2, 3):
        yield replace(plan, num_stages=stages)
    for axis in plan.independent:
        for block in (axis.block // 2, axis.block * 2):
            yield _with_block(plan, axis, block)


def _blocks(plan: Plan) -> Iterator[Plan]:
    if len(plan.tile) == 1:
        axis = plan.tile[0]
        for block, warps in ((0.5, 1), (2, 1), (1, 2), (2, 2), (0.5, 0.5)):
            size = int(axis.block * block)
            if size >= 1 and plan.num_warps * warps >= 1:
                moved = _with_block(plan, axis, size)
                yield replace(moved, num_warps=int(plan.num_warps * warps))
        return
    rows, columns = plan.tile
    for y, x in ((1, 2), (2, 1), (0.5, 1), (1, 0.5), (0.5, 2), (2, 2)):
        moved = _with_block(plan, rows, int(rows.block * y))
        moved = _with_block(moved, columns, int(columns.block * x))
        yield moved
        yield replace(moved, num_warps=max(moved.num_warps // 2, 1))


def _with_block(plan: Plan, axis: TileAxis, block: int) -> Plan:
    """Return the plan with another tile along an axis."""
    new = replace(axis, block=max(block, 1))
    tile = tuple(new if a.digit is axis.digit else a for a in plan.tile)
    reduced = plan.reduced
    if reduced is not None and reduced.digit is axis.digit:
        reduced = new
    folded = plan.folded
    if folded is not None and folded.digit is axis.digit:
        folded = new
    return replace(plan, tile=tile, reduced=reduced, folded=folded)
