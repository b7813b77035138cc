"""Two judges of reductions, independent of each other and of the planner.

The proof follows the subspace of elements that each place has combined. The simulation
counts, for every place, how often it has combined each element: that must end as 1 for
the elements of its fibre and 0 for all others.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from algebra.affine import AffineLayout
from algebra.gauss import Echelon, kernel
from algebra.verdict import Proved, Refuted, Verdict

from .hardware import hardware_of
from .reduction import (
    Exchange,
    Fold,
    Pass,
    ReductionStep,
    axis_mask,
    projected,
    without_register,
)
from .simulate import images
from .steps import Registers

Counts = npt.NDArray[np.int64]


def simulate(
    src: AffineLayout,
    steps: Sequence[ReductionStep],
    dims: Sequence[str],
    dst: AffineLayout,
) -> bool:
    """Run the steps on places x elements: how often each element was combined.

    Args:
        src: Layout of the first file.
        steps: Steps of a plan.
        dims: Out-dims that are reduced.
        dst: Layout of the last file, over the other dims.

    Returns:
        Whether each place has each element of its fibre once and no other.
    """
    elements = 1 << sum(src.linear.out_bits)
    held: Counts = np.zeros((1 << len(src.linear.columns), elements), np.int64)
    held[np.arange(len(held)), images(src)] = 1
    registers = hardware_of(src).registers
    for step in steps:
        place = np.arange(len(held))
        match step:
            case Registers():
                held = held[images(step.source)]
                registers = hardware_of(step.source).registers
            case Fold():
                kept = place[place >> step.pivot & 1 == 0]
                held = held[kept] + held[kept ^ step.place]
                registers -= 1
            case Exchange():
                held = held + held[place ^ step.place]
            case Pass():
                held = _through_memory(step, held)
    whole = np.arange(elements)
    rest, fibre = ~axis_mask(src.linear, dims), images(dst)
    packed = _packed_rest(src, dims, whole & rest)
    return bool(np.array_equal(held, packed[None, :] == fibre[:, None]))


def _packed_rest(src: AffineLayout, dims: Sequence[str], elements: Counts) -> Counts:
    """Return the packed index over the dims that stay."""
    result = np.zeros_like(elements)
    low = position = 0
    for name, bits in zip(src.linear.out_names, src.linear.out_bits, strict=True):
        if name not in dims:
            result |= (elements >> low & (1 << bits) - 1) << position
            position += bits
        low += bits
    return result


def _through_memory(step: Pass, held: Counts) -> Counts:
    place = np.arange(len(held))
    cells = images(step.address)
    writers = place[place & step.silent == 0]
    memory = np.full((1 << sum(step.address.linear.out_bits), held.shape[1]), -1)
    twice = len(np.unique(cells[writers])) < len(writers)
    if twice:
        return np.full_like(held, -1)
    memory[cells[writers]] = held[writers]
    result = np.zeros_like(held)
    sums = [0]
    for vector in step.places:
        sums += [vector ^ other for other in sums]
    for vector in sums:
        result += memory[cells[place ^ vector]]
    return result


def prove(
    src: AffineLayout,
    steps: Sequence[ReductionStep],
    dims: Sequence[str],
    dst: AffineLayout,
) -> Verdict:
    """Prove by F2 algebra that the steps reduce ``dims`` and leave ``dst``.

    Args:
        src: Layout of the first file.
        steps: Steps of a plan.
        dims: Out-dims that are reduced.
        dst: Layout of the last file, over the other dims.
    """
    content = src
    combined: list[int] = []
    axis = axis_mask(src.linear, dims)
    for number, step in enumerate(steps):
        where = f"step {number} ({type(step).__name__.lower()})"
        if isinstance(step, Registers):
            content = step.source.compose(content)
            continue
        vectors = step.places if isinstance(step, Pass) else (step.place,)
        here = hardware_of(content)
        wide = here.bits if isinstance(step, Pass) else here.registers + here.lanes
        if isinstance(step, Fold):
            wide = here.registers
        for place in vectors:
            if place >> wide:
                return Refuted(f"{where}: combines what it cannot reach")
            element = content.linear.apply_index(place)
            if element & ~axis:
                return Refuted(f"{where}: combines other rows")
            if not Echelon(combined).reduce(element)[0]:
                return Refuted(f"{where}: combines an element twice")
            combined.append(element)
        if isinstance(step, Pass):
            wrong = _judge_pass(step, content, combined[: -len(vectors)])
            if wrong:
                return Refuted(f"{where}: {wrong}")
        if isinstance(step, Fold):
            if not step.place >> step.pivot & 1:
                return Refuted(f"{where}: keeps both halves")
            content = without_register(content, step.pivot)
    if Echelon(combined).rank != axis.bit_count():
        return Refuted("the end: elements are left out")
    rest = [name for name in src.linear.out_names if name not in dims]
    if projected(content, rest) != dst:
        return Refuted("the end: the results are elsewhere")
    facts = (("places", 1 << len(dst.linear.columns)), ("steps", len(steps)))
    return Proved("exact F2 algebra", facts)


def _judge_pass(step: Pass, content: AffineLayout, combined: Sequence[int]) -> str:
    """Say what is wrong with a pass through memory, or nothing."""
    cosets = Echelon(combined)
    same = [cosets.reduce(column)[0] for column in content.linear.columns]
    columns = step.address.linear.columns
    active = [c for bit, c in enumerate(columns) if not step.silent >> bit & 1]
    if Echelon(active).kernel:
        return "two places write one address"
    if Echelon(active).rank != Echelon(columns).rank:
        return "reads an address that was not written"
    for tag in [*kernel(columns), *kernel(same)]:
        image = address = 0
        for bit, (column, element) in enumerate(zip(columns, same, strict=True)):
            if tag >> bit & 1:
                address ^= column
                image ^= element
        if address or image:
            return "an address holds different sums"
    return ""
