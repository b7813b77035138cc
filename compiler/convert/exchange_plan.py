"""Shuffle first, then shared memory: wider accesses for elements of less than a word.

A store and a load move words only if both sides hold the same elements in registers.
Where they share too few, some lane bits of one side that are registers of the other
change places with registers that the other side doesn't have, inside the warps. What
results has those registers in common, and is stored, or loaded, in whole words.
"""

from collections.abc import Callable, Iterator

from algebra.affine import AffineLayout
from compiler.cost import Device, cost

from .hardware import affine, hardware_of
from .lower import Packing
from .merge import merge
from .nearest import nearest_source
from .shared_plan import SharedPlan, shared_plans
from .steps import Step
from .warp_factors import with_full_rank, within_warp
from .warp_plan import warp_plans
from .work import estimate


def exchange_plans(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
) -> Iterator[SharedPlan]:
    """Yield the ways that shuffle before they store, or after they load.

    Args:
        src: Source, without registers that hold copies.
        dst: Destination, likewise.
        element_bits: Size of an element [bits].
        device: Target.
        limit: Memory above which the tile is cut to repetitions [bytes].
    """

    def price(steps: tuple[Step, ...]) -> float:
        return cost(estimate(steps, element_bits), device)

    def through(one: AffineLayout, other: AffineLayout) -> SharedPlan:
        found = shared_plans(one, other, element_bits, device, limit)
        return min(found, key=lambda plan: price(plan.steps))

    for middle in _middles(src, dst, element_bits):
        before = _within_warps(src, middle, element_bits, price)
        if before is not None:
            rest = through(middle, dst)
            steps = merge((*before, *rest.steps))
            yield SharedPlan(steps, rest.swizzling, rest.shared_bytes)
    for middle in _middles(dst, src, element_bits):
        after = _within_warps(middle, dst, element_bits, price)
        if after is not None:
            rest = through(src, middle)
            steps = merge((*rest.steps, *after))
            yield SharedPlan(steps, rest.swizzling, rest.shared_bytes)


def _within_warps(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    price: Callable[[tuple[Step, ...]], float],
) -> tuple[Step, ...] | None:
    blocks = within_warp(nearest_source(src, dst))
    full = None if blocks is None else with_full_rank(blocks, src)
    if full is None:
        return None
    return min(warp_plans(full, element_bits), key=price)


def _middles(
    layout: AffineLayout, other: AffineLayout, element_bits: int
) -> Iterator[AffineLayout]:
    """Yield the layouts within warps of ``layout`` that may be better for memory."""
    yield from _exchanged(layout, other, element_bits)
    if element_bits in (8, 16):
        yield from _turned(layout, other, element_bits)


def _turned(
    layout: AffineLayout, other: AffineLayout, element_bits: int
) -> Iterator[AffineLayout]:
    """Yield layouts that suit the transposed matrix instructions.

    Those move rows of memory to lanes 2, 3 and 4, so registers of the other side that
    are lanes here go there; for bytes, one more must be a register on both sides.
    """
    here = hardware_of(layout)
    columns = list(layout.linear.columns)
    first, last = here.registers, here.registers + here.lanes
    if here.lanes != 5 or not first:
        return
    wanted = other.linear.columns[: hardware_of(other).registers]
    if element_bits == 8 and not any(c in wanted for c in columns[:first]):
        shared = [c for c in wanted if c and c in columns[first:last]]
        if not shared:
            return
        lane = columns.index(shared[0], first)
        columns[0], columns[lane] = columns[lane], columns[0]
    lanes = columns[first:last]
    rows = [c for c in wanted if c and c in lanes][:3]
    if not rows:
        return
    others = list(lanes)
    for row in rows:
        others.remove(row)
    columns[first:last] = [*others[:2], *rows, *others[2:]]
    if columns != list(layout.linear.columns):
        outs = dict(zip(layout.linear.out_names, layout.linear.out_bits, strict=True))
        yield affine(here.dims, outs, columns, layout.packed_offset)


def _exchanged(
    layout: AffineLayout, other: AffineLayout, element_bits: int
) -> Iterator[AffineLayout]:
    """Yield the layout with one, two, ... register and lane columns exchanged."""
    here = hardware_of(layout)
    columns = list(layout.linear.columns)
    registers = columns[: here.registers]
    wanted = other.linear.columns[: hardware_of(other).registers]
    common = sum(column in wanted for column in registers)
    lacking = Packing(element_bits).parts(here) - common
    lanes = range(here.registers, here.registers + here.lanes)
    wanted_lanes = [bit for bit in lanes if columns[bit] in wanted and columns[bit]]
    spare = [bit for bit, column in enumerate(registers) if column not in wanted]
    outs = dict(zip(layout.linear.out_names, layout.linear.out_bits, strict=True))
    # the lowest spare registers stay, so that words change as little as they can
    pairs = zip(wanted_lanes, reversed(spare), strict=False)
    for lane, register in list(pairs)[: max(0, lacking)]:
        columns[lane], columns[register] = columns[register], columns[lane]
        yield affine(here.dims, outs, columns, layout.packed_offset)
