"""One side of a way through shared memory: who addresses what, by which instruction.

Elements of less than a word are moved as bytes of words. The registers that one
instruction moves are brought to the low register bits first, so that they share words
in the order of memory; that is a selection of its own, and costs byte permutes.
"""

from dataclasses import dataclass

from algebra.affine import AffineLayout
from algebra.bits import log2
from algebra.contiguity import largest_vectorisation
from algebra.dims import BLOCK, OFFSET
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from algebra.matrix_instructions import MatrixAccess, matrix_access
from algebra.swizzle_certificate import AccessFacts

from .hardware import Hardware, affine, hardware_of, moved
from .instructions import Instruction
from .lower import Packing

REPETITION = "repetition"
ROW_BITS = 128
WORD_BITS = 32
PLAIN, MATRIX, TRANSPOSED = "shared", "matrix", "matrix.trans"


@dataclass(frozen=True, slots=True)
class Side:
    """How one register file goes to memory, or comes from it.

    Attributes:
        address: Place -> (offset, repetition, block), the registers in ``order``.
        instruction: What moves them.
        order: Old register bit of each register bit.
        flips: Register bits, in ``order``, that memory holds the other way round.
    """

    address: AffineLayout
    instruction: Instruction
    order: tuple[int, ...]
    flips: int = 0

    @property
    def packs(self) -> bool:
        """Whether words must be made, or taken apart, for the instruction."""
        return self.order != tuple(range(len(self.order))) or bool(self.flips)

    def to_memory(self) -> AffineLayout:
        """Return place in ``order`` -> place of the file as it was."""
        here = hardware_of(self.address)
        threads = range(here.registers, here.bits)
        return moved(here, here, [1 << bit for bit in (*self.order, *threads)])

    def from_memory(self) -> AffineLayout:
        """Return place of the file as it is wanted -> place in ``order``."""
        here = hardware_of(self.address)
        columns = [1 << bit for bit in range(here.bits)]
        for new, old in enumerate(self.order):
            columns[old] = 1 << new
        return moved(here, here, columns, self.flips)


def side(
    layout: LinearLayout,
    start: int,
    memory: LinearLayout,
    kind: str,
    fact: AccessFacts,
    *,
    element_bits: int,
    repeats: int,
    stores: bool,
) -> Side | None:
    """Return how a file is moved, or None if the kind of instruction can't.

    Args:
        layout: The file: register, lane, warp, block -> tensor.
        start: Element of place zero, relative to that of the memory.
        memory: offset, block -> tensor.
        kind: ``PLAIN``, ``MATRIX`` or ``TRANSPOSED``.
        fact: What the certificate says of this side.
        element_bits: Size of an element [bits].
        repeats: Log2 of the repetitions [bits].
        stores: Whether the file goes to memory.
    """
    address = _address(layout, start, memory, repeats)
    verb = "st" if stores else "ld"
    if kind == PLAIN:
        vector = largest_vectorisation(address.linear, element_bits).registers
        held = Echelon(address.linear.columns[: layout.in_bits[0]]).rank
        if held < len(vector) + repeats:
            return None  # other blocks, not registers, tell some repetitions apart
        count = 1 << held - len(vector) - repeats
        wavefronts = count * fact.lane_groups
        bits = element_bits << len(vector)
        name = f"{verb}.{PLAIN}"
    else:
        found = _matrices(address, kind, element_bits)
        if found is None or not found.instructions >> repeats:
            return None
        vector, count = found.element_registers, found.instructions >> repeats
        wavefronts = count * found.matrices
        bits = WORD_BITS * found.matrices
        name = f"{verb}{kind}"
    instruction = Instruction(
        name,
        bits // element_bits,
        bits,
        count,
        wavefronts * (1 + fact.conflicts),
        fact.conflicts,
    )
    order = _order(address, vector, element_bits)
    if _splits_words(
        address, order[: Packing(element_bits).parts(hardware_of(address))]
    ):
        return None
    ordered = Side(address, instruction, order).to_memory().compose(address)
    parts = Packing(element_bits).parts(hardware_of(address))
    flips = address.packed_offset & (1 << min(len(vector), parts)) - 1
    straight = {**ordered.offset, OFFSET: ordered.offset[OFFSET] ^ flips}
    return Side(AffineLayout(ordered.linear, straight), instruction, order, flips)


def _matrices(
    address: AffineLayout, kind: str, element_bits: int
) -> MatrixAccess | None:
    row = log2(ROW_BITS) - log2(element_bits)
    if address.packed_offset & (1 << row) - 1:
        return None
    offset_bits, repetition_bits, blocks = address.linear.out_bits
    whole = LinearLayout.from_columns(
        hardware_of(address).dims,
        {OFFSET: offset_bits + repetition_bits, BLOCK: blocks},
        address.linear.columns,
    )
    found = matrix_access(whole, element_bits, transposed=kind == TRANSPOSED)
    if not isinstance(found, MatrixAccess):
        return None
    together = (*found.element_registers, *found.matrix_registers)
    return None if _splits_words(address, together) else found


def _splits_words(address: AffineLayout, registers: tuple[int, ...]) -> bool:
    """Return whether registers that move together have different repetitions."""
    offset_bits, repetition_bits, _ = address.linear.out_bits
    repeated = ((1 << repetition_bits) - 1) << offset_bits
    return any(address.linear.columns[bit] & repeated for bit in registers)


def _order(
    address: AffineLayout, vector: tuple[int, ...], element_bits: int
) -> tuple[int, ...]:
    """Return the register bits, those of a word first, repetitions never among them."""
    registers = hardware_of(address).registers
    parts = Packing(element_bits).parts(hardware_of(address))
    first = list(vector[:parts])
    offset_bits, repetition_bits, _ = address.linear.out_bits
    repeated = ((1 << repetition_bits) - 1) << offset_bits
    columns = address.linear.columns
    rest = [bit for bit in range(registers) if bit not in first]
    rest.sort(key=lambda bit: bool(columns[bit] & repeated))
    return (*first, *rest[: parts - len(first)], *sorted(rest[parts - len(first) :]))


def _address(
    layout: LinearLayout, start: int, memory: LinearLayout, repeats: int
) -> AffineLayout:
    """Return place -> (offset, repetition, block), in the own block if it may be."""
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


def silent_bits(address: AffineLayout) -> int:
    """Return the bits of a place that select copies of what another place writes."""
    silent = 0
    for tag in Echelon(address.linear.columns).kernel:
        silent |= 1 << tag.bit_length() - 1
    return silent


def word_moves(instruction: Instruction, parts: int, registers: int) -> int:
    """Return the operations that cut words for narrow stores, or join narrow loads.

    Args:
        instruction: What moves the registers.
        parts: Register bits that share a word [bits].
        registers: Register bits of the file [bits].
    """
    in_word = instruction.vector.bit_length() - 1
    if instruction.is_matrix or in_word >= parts:
        return 0
    words = 1 << registers - parts
    return words * ((1 << parts - in_word) - 1)
