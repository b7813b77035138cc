"""Steps of a conversion through shared memory, with a certified bank map.

Each way to store (``st.shared``, ``stmatrix``, its transposed form) is paired with each
way to load. The swizzle is found for the two access patterns that result: a matrix
instruction is an ordinary 128-bit access as the lanes that supply addresses see it.
Where the memory would be larger than wanted, registers that both sides share become
repetitions: part of the tile is stored and loaded at a time, with barriers between.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from algebra.affine import AffineLayout
from algebra.bits import log2
from algebra.contiguity import largest_vectorisation
from algebra.dims import BLOCK, OFFSET
from algebra.errors import UnsupportedLayoutError
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from algebra.matrix_instructions import MatrixAccess, matrix_access, row_access
from algebra.swizzle import Swizzling, optimal_swizzle
from algebra.swizzle_certificate import AccessFacts
from compiler.cost.device import Device

from .hardware import Hardware, affine, hardware_of
from .instructions import Instruction
from .steps import SCOPES, Barrier, Load, Step, Store

REPETITION = "repetition"
ROW_BITS = 128
PLAIN, MATRIX, TRANSPOSED = "", "matrix", "matrix.trans"


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """A way through shared memory, or around it.

    Attributes:
        steps: Stores, barriers and loads.
        swizzling: Memory layout with its certificate; None if it isn't used.
        shared_bytes: Memory of one block [bytes].
    """

    steps: tuple[Step, ...]
    swizzling: Swizzling | None
    shared_bytes: int


def shared_plans(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
) -> Iterator[SharedPlan]:
    """Yield the ways through shared memory that are worth comparing.

    Args:
        src: Layout that stores, without registers that hold copies.
        dst: Layout that loads, likewise.
        element_bits: Size of an element [bits].
        device: Target.
        limit: Memory above which the tile is cut to repetitions [bytes].
    """
    kinds_dst = _kinds(dst, element_bits, device.loads_matrices)
    for store in _kinds(src, element_bits, device.stores_matrices):
        for load in kinds_dst:
            found = _plan(src, dst, element_bits, device, limit, (store, load))
            if found is not None:
                yield found


def _kinds(layout: AffineLayout, element_bits: int, matrices: bool) -> list[str]:
    """Return the kinds of instruction that the registers and lanes allow."""
    kinds = [PLAIN]
    if not matrices or element_bits > 32:
        return kinds
    for kind, transposed in ((MATRIX, False), (TRANSPOSED, True)):
        try:
            row_access(layout.linear, element_bits, transposed=transposed)
        except UnsupportedLayoutError:
            continue
        kinds.append(kind)
    return kinds


def _plan(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
    kinds: tuple[str, str],
) -> SharedPlan | None:
    patterns = [
        row_access(side.linear, element_bits, transposed=kind == TRANSPOSED)
        if kind
        else side.linear
        for side, kind in zip((src, dst), kinds, strict=True)
    ]
    swizzling = optimal_swizzle(patterns[0], patterns[1], element_bits, device.banks)
    memory = swizzling.memory
    offset_bits = memory.get_in_dim_size_log2(OFFSET)
    size = (element_bits << offset_bits) // 8
    repeats = 0
    while size > limit and repeats < swizzling.rep_bits:
        size //= 2
        repeats += 1
    apart = (0, src.packed_offset ^ dst.packed_offset)
    addresses = [
        _address(side.linear, start, memory, repeats)
        for side, start in zip((src, dst), apart, strict=True)
    ]
    instructions = []
    facts = swizzling.certificate.accesses
    for address, kind, fact, verb in zip(
        addresses, kinds, facts, ("st", "ld"), strict=True
    ):
        found = _instruction(address, kind, fact, verb, element_bits, repeats)
        if found is None:
            return None
        instructions.append(found)
    silent = 0
    for tag in Echelon(addresses[0].linear.columns).kernel:
        silent |= 1 << tag.bit_length() - 1
    if silent and instructions[0].is_matrix:
        return None
    barriers = _scopes(addresses[0], addresses[1], silent)
    steps: list[Step] = []
    for repetition in range(1 << repeats):
        if repetition:
            steps.append(Barrier(barriers[1]))
        steps.append(Store(addresses[0], repetition, silent, instructions[0]))
        steps.append(Barrier(barriers[0]))
        steps.append(Load(addresses[1], repetition, instructions[1]))
    return SharedPlan(tuple(steps), swizzling, size)


def _address(
    layout: LinearLayout, start: int, memory: LinearLayout, repeats: int
) -> AffineLayout:
    """Return place -> (offset, repetition, block), in the own block if it may be.

    Place zero of the source is at address zero: its offset is that of the memory.
    """
    here = Hardware(*layout.in_bits)
    offset_bits = memory.get_in_dim_size_log2(OFFSET)
    blocks = len(memory.columns) - offset_bits
    echelon = Echelon(memory.columns)
    first = here.bits - here.blocks

    def find(element: int) -> int:
        remainder, address = echelon.reduce(element)
        assert not remainder, "the memory holds all elements of both sides"
        return address

    columns = []
    for bit, element in enumerate(layout.columns):
        if bit >= first:
            own = offset_bits + bit - first
            near = find(element ^ memory.columns[own])
            if not near >> offset_bits:
                columns.append(near | 1 << own)
                continue
        columns.append(find(element))
    dims = {OFFSET: offset_bits - repeats, REPETITION: repeats, BLOCK: blocks}
    return affine(here.dims, dims, columns, find(start))


def _instruction(
    address: AffineLayout,
    kind: str,
    fact: AccessFacts,
    verb: str,
    element_bits: int,
    repeats: int,
) -> Instruction | None:
    """Return how an access is made of instructions, or None if it can't be."""
    held = Echelon(address.linear.columns[: hardware_of(address).registers]).rank
    if not kind:
        vector = largest_vectorisation(address.linear, element_bits)
        count = 1 << held - len(vector.registers) - repeats
        return Instruction(
            f"{verb}.shared",
            vector.elements,
            vector.elements * element_bits,
            count,
            count * fact.lane_groups * (1 + fact.conflicts),
            fact.conflicts,
        )
    row = log2(ROW_BITS) - log2(element_bits)
    if address.packed_offset & (1 << row) - 1:
        return None
    found = matrix_access(address.linear, element_bits, transposed=kind == TRANSPOSED)
    if not isinstance(found, MatrixAccess):
        return None
    count = found.instructions >> repeats
    if not count:
        return None
    bits = 32 * found.matrices
    return Instruction(
        f"{verb if verb == 'ld' else 'st'}{kind}",
        bits // element_bits,
        bits,
        count,
        count * found.matrices * (1 + fact.conflicts),
        fact.conflicts,
    )


def _scopes(store: AffineLayout, load: AffineLayout, silent: int) -> tuple[str, str]:
    """Return the narrowest barriers after a store and after a load."""
    there, here = hardware_of(store), hardware_of(load)
    writers = [
        0 if silent >> bit & 1 else column
        for bit, column in enumerate(store.linear.columns)
    ]
    echelon = Echelon(writers)
    reach = 0
    for bit, column in enumerate(load.linear.columns):
        own = 0
        if here.registers <= bit:
            own = 1 << bit - here.registers + there.registers
        reach |= echelon.reduce(column)[1] ^ own
    reach |= echelon.reduce(load.packed_offset ^ store.packed_offset)[1]
    after_store = _scope(there, reach)
    offset_bits, repetition_bits, _ = store.linear.out_bits
    for bit in range(repetition_bits):
        reach |= echelon.reduce(1 << offset_bits + bit)[1]
    return after_store, _scope(there, reach)


def _scope(here: Hardware, reach: int) -> str:
    if reach & here.block_mask:
        return SCOPES[2]
    return SCOPES[1] if reach & here.outer_mask else SCOPES[0]
