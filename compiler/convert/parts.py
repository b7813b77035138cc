"""One part of a tile after another through shared memory, within warps.

Where no element leaves its warp, a barrier of the warp costs next to nothing, and loads
of one part wait while the next one is stored. So two parts may take less time than the
whole, although every warp moves the same words.

A part is where a functional of the elements is 0, or 1. It vanishes on what lanes and
warps select on both sides, so all threads have as much of each part. The bank map is
found, and certified, for one part; both use the same memory.
"""

from collections.abc import Iterator

from algebra.affine import AffineLayout
from algebra.bits import parity
from algebra.dims import BLOCK, OFFSET
from algebra.gauss import kernel
from algebra.layout import LinearLayout
from algebra.swizzle import Swizzling, optimal_swizzle
from compiler.cost.device import Device

from .hardware import Hardware, hardware_of, moved
from .merge import merge
from .shared_plan import SharedPlan, kinds_of, patterns, steps_through
from .steps import Barrier, Select, Step

PART = "part of the tile"


def parted_plans(
    src: AffineLayout, dst: AffineLayout, element_bits: int, device: Device
) -> Iterator[SharedPlan]:
    """Yield ways through shared memory in two parts, if the elements stay in warps.

    Args:
        src: Layout that stores, without registers that hold copies.
        dst: Layout that loads, likewise.
        element_bits: Size of an element [bits].
        device: Target.
    """
    if hardware_of(src).blocks:
        return
    for functional in functionals(src, dst):
        yield from _in_parts(src, dst, functional, element_bits, device)


def functionals(src: AffineLayout, dst: AffineLayout) -> list[int]:
    """Return the functionals of elements that one register bit of each side decides.

    Law: each is 0 on what lanes, warps and blocks select, and 1 on one register bit.
    """
    threads: list[int] = []
    for side in (src, dst):
        threads += side.linear.columns[hardware_of(side).registers :]
    bits = sum(src.linear.out_bits)
    rows = [
        sum((column >> bit & 1) << place for place, column in enumerate(threads))
        for bit in range(bits)
    ]
    return [
        found
        for found in kernel(rows)
        if all(len(_deciding(side, found)) == 1 for side in (src, dst))
    ]


def _deciding(side: AffineLayout, functional: int) -> list[int]:
    """Return the register bits on which a functional is 1."""
    registers = side.linear.columns[: hardware_of(side).registers]
    return [bit for bit, c in enumerate(registers) if parity(c & functional)]


def _in_parts(
    src: AffineLayout,
    dst: AffineLayout,
    functional: int,
    element_bits: int,
    device: Device,
) -> Iterator[SharedPlan]:
    order, near = _decided_last(src, functional)
    back, far = _decided_last(dst, functional)
    halves = [_half(near.linear, functional), _half(far.linear, functional)]
    for store in kinds_of(halves[0], element_bits, device.stores_matrices):
        for load in kinds_of(halves[1], element_bits, device.loads_matrices):
            kinds = store, load
            seen = patterns(halves, kinds, element_bits)
            part = optimal_swizzle(*seen, element_bits, device.banks)
            memory = _whole(part.memory, functional, near.linear)
            whole = Swizzling(memory, part.vector_bits, 0, part.certificate)
            steps = steps_through(near, far, kinds, whole, element_bits, 1)
            if steps is None or any(
                isinstance(step, Barrier) and step.scope != "warp" for step in steps
            ):
                continue
            ends: list[Step] = [Select(order)] if order is not None else []
            last = [] if back is None else [Select(_turned(back))]
            size = (element_bits << part.memory.get_in_dim_size_log2(OFFSET)) // 8
            yield SharedPlan(merge((*ends, *steps, *last)), whole, size)


def _decided_last(
    side: AffineLayout, functional: int
) -> tuple[AffineLayout | None, AffineLayout]:
    """Return a side whose last register bit decides, and the renaming to it, if any."""
    here = hardware_of(side)
    (bit,) = _deciding(side, functional)
    order = [b for b in range(here.registers) if b != bit] + [bit]
    if bit == here.registers - 1:
        return None, side
    columns = [1 << old for old in (*order, *range(here.registers, here.bits))]
    source = moved(here, here, columns)
    return source, source.compose(side)


def _turned(source: AffineLayout) -> AffineLayout:
    """Return the inverse of a renaming of registers."""
    here = hardware_of(source)
    columns = [0] * here.bits
    for new, column in enumerate(source.linear.columns):
        columns[column.bit_length() - 1] = 1 << new
    return moved(here, here, columns)


def _half(side: LinearLayout, functional: int) -> LinearLayout:
    """Return where the functional is 0, without the last register bit.

    An element of the half lacks the highest bit that the functional looks at.
    """
    here = Hardware(*side.in_bits)
    last = here.registers - 1
    columns = [c for bit, c in enumerate(side.columns) if bit != last]
    pivot = functional.bit_length() - 1
    low = (1 << pivot) - 1
    less = [c & low | c >> pivot + 1 << pivot for c in columns]
    return LinearLayout.from_columns(
        here.with_registers(last).dims, {PART: sum(side.out_bits) - 1}, less
    )


def _whole(part: LinearLayout, functional: int, side: LinearLayout) -> LinearLayout:
    """Return the memory of a part with the parts above it: offset, block -> tensor."""
    pivot = functional.bit_length() - 1
    low = (1 << pivot) - 1
    columns = []
    for column in part.columns:
        element = column & low | column >> pivot << pivot + 1
        columns.append(element | parity(element & functional) << pivot)
    bits = part.get_in_dim_size_log2(OFFSET)
    columns.insert(bits, 1 << pivot)
    outs = dict(zip(side.out_names, side.out_bits, strict=True))
    return LinearLayout.from_columns({OFFSET: bits + 1, BLOCK: 0}, outs, columns)
