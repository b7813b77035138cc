"""A plan as one block of PTX, for ``inline_asm_elementwise``.

All registers of a thread are one pack, so the block sees the whole file: words of 32
bits with as many elements as fit, or 64-bit elements. Where the two sides have
different numbers of registers, the larger one comes in parts of equal size, each an
operand of its own. Where that would leave less than a word, words are made before the
block, and taken apart after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra.errors import UnsupportedLayoutError
from compiler.convert.hardware import Hardware, hardware_of
from compiler.convert.lower import Packing, lower
from compiler.convert.merge import merge
from compiler.convert.renaming import Renaming, renamings
from compiler.convert.steps import (
    SCOPES,
    Barrier,
    Load,
    Registers,
    Select,
    Shuffle,
    Step,
    Store,
)

from .assembly import Assembly
from .declared import STATIC_BYTES
from .memory_access import MemoryAccess

WORD_BITS = 32
WIDEST = 64
BYTE = 8
MOST_GIVEN = 24
BARRIERS = {"warp": "bar.warp.sync 0xffffffff;", "block": "bar.sync 0;"}


@dataclass(frozen=True, slots=True)
class Block:
    """The PTX of a plan.

    Attributes:
        text: The block; ``$0`` and so on are words, those of outputs first.
        constraints: Of the operands, in the same order.
        operand_bits: Size of an element of an operand [bits].
        inputs: Log2 of the operand elements of a thread before [bits].
        outputs: Log2 of the operand elements of a thread after [bits].
        joined: Log2 of the elements that are joined to a word before [bits].
        parted: Log2 of the elements that a word is cut to after [bits].
        taken: What is done to registers before the block, where it costs nothing.
        left: The same after the block.
        computed: Lines of Gluon that make values from ``thread``, before the block.
        given: Names of those that are operands, as many to a tensor as a pack has.
    """

    text: str
    constraints: str
    operand_bits: int
    inputs: int
    outputs: int
    joined: int = 0
    parted: int = 0
    taken: Renaming | None = None
    left: Renaming | None = None
    computed: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @property
    def pack(self) -> int:
        """Elements of an operand that one thread holds."""
        return 1 << min(self.inputs, self.outputs)


def block(
    steps: Sequence[Step],
    element_bits: int,
    *,
    shared_bytes: int = 0,
    repeated: bool = True,
    tile: str = "",
    in_common: bool = True,
    renamed: bool = False,
) -> Block:
    """Return the PTX of the steps.

    Args:
        steps: Steps of a plan, one at least.
        element_bits: Size of an element [bits].
        shared_bytes: Shared memory of the steps [bytes].
        repeated: Whether the block may run again, so must wait before its first store.
        tile: Name of shared memory that another block declares; default: its own.
        in_common: Whether blocks of other plans use that memory, too.
        renamed: Whether what is renamed outside is not named back by shifts of each
            byte: another block undoes it.

    Raises:
        UnsupportedLayoutError: elements of 128 bits, other blocks' memory, or more
            shared memory than a block of PTX may declare.
    """
    _check(steps, element_bits, shared_bytes)
    whole = inside(steps)
    merged, taken, left = renamings(whole, element_bits)
    first, last = ends(merged)
    narrow = element_bits << min(first.registers, last.registers) < WORD_BITS
    if element_bits == BYTE and narrow and not renamed:
        # one byte permute is less than shifts of each byte
        merged, taken, left = whole, None, None
        first, last = ends(merged)
    packing = Packing(element_bits)
    joined = parted = 0
    is_word = element_bits << min(first.registers, last.registers) < WORD_BITS
    if is_word:
        joined, parted = packing.parts(first), packing.parts(last)
    inputs, outputs = first.registers - joined, last.registers - parted
    pack = 1 << min(inputs, outputs)
    for flips_outside in (True, False):
        assembly = Assembly(True, flips_outside)
        assembly.shared_bytes, assembly.tile = shared_bytes, tile
        writer = _Writer(assembly, merged, element_bits)
        constraints = writer.open(first, last)
        if repeated and shared_bytes:
            scopes = {step.scope for step in merged if isinstance(step, Barrier)}
            if tile and in_common:  # another plan may have used it across warps
                scopes.add("block")
            widest = [scope for scope in SCOPES if scope in scopes][-1:]
            assembly.lines += [BARRIERS[scope] for scope in widest]
        writer.write()
        writer.close()
        if len(assembly.given) <= MOST_GIVEN:
            break
    given = tuple(assembly.given)
    operands = constraints.count("r") + constraints.count("l")
    constraints += ",r" * (-(-len(given) // pack) * pack)
    return Block(
        assembly.text(operands),
        constraints,
        WORD_BITS if is_word else element_bits,
        inputs,
        outputs,
        joined,
        parted,
        taken,
        left,
        tuple(assembly.computed()),
        given,
    )


def inside(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with renaming as selections, neighbours made one."""
    return merge([Select(s.source) if isinstance(s, Registers) else s for s in steps])


def ends(steps: Sequence[Step]) -> tuple[Hardware, Hardware]:
    """Return the sizes of the first and of the last file."""
    first, last = steps[0], next(s for s in reversed(steps) if not _waits(s))
    assert not isinstance(first, Barrier | Load), "files are stored before"
    before = (
        hardware_of(first.address)
        if isinstance(first, Store)
        else Hardware(*first.source.linear.out_bits)
    )
    assert not isinstance(last, Barrier | Store), "files are loaded after"
    after = last.address if isinstance(last, Load) else last.source
    return before, hardware_of(after)


def _waits(step: Step) -> bool:
    return isinstance(step, Barrier)


def _check(steps: Sequence[Step], element_bits: int, shared_bytes: int) -> None:
    if element_bits > WIDEST:
        raise UnsupportedLayoutError(
            f"Triton has no elements of more than {WIDEST} bits, got "
            f"element_bits={element_bits}; convert the halves of the elements, each "
            "by a plan of its own",
            element_bits=element_bits,
        )
    if shared_bytes > STATIC_BYTES:
        raise UnsupportedLayoutError(
            f"a block of PTX may declare {STATIC_BYTES} bytes of shared memory, got "
            f"shared_bytes={shared_bytes}; convert the tensor in smaller tiles",
            shared_bytes=shared_bytes,
        )
    if any(isinstance(step, Barrier) and step.scope not in BARRIERS for step in steps):
        raise UnsupportedLayoutError(
            "elements that change their block need the memory of a cluster, which a "
            "function of one tensor cannot address; convert inside each block",
        )


class _Writer:
    """The words of the current file, while the steps are written."""

    def __init__(
        self, assembly: Assembly, steps: Sequence[Step], element_bits: int
    ) -> None:
        self.assembly, self.steps, self.bits = assembly, steps, element_bits
        self.packing = Packing(element_bits)
        self.words: list[str] = []
        self.outputs = 0
        # elements of 64 bits stay whole if they only go through memory
        moves = all(isinstance(step, Store | Load | Barrier) for step in steps)
        self.unit_bits = WIDEST if moves and element_bits == WIDEST else WORD_BITS

    def open(self, first: Hardware, last: Hardware) -> str:
        """Take the operands; return their constraints."""
        wide = self.bits == WIDEST
        counts = [
            1 << here.registers if wide else self.packing.words(here)
            for here in (last, first)
        ]
        self.outputs = counts[0]
        operands = [f"${self.outputs + index}" for index in range(counts[1])]
        if wide and self.unit_bits == WORD_BITS:
            for operand in operands:
                low, high = self.assembly.word(), self.assembly.word()
                self.assembly.add(f"mov.b64 {{{low}, {high}}}, {operand};")
                self.words += [low, high]
        else:
            self.words = operands
        kind = "l" if wide else "r"
        return ",".join([f"={kind}"] * counts[0] + [kind] * counts[1])

    def write(self) -> None:
        """Write all steps."""
        run: list[Select | Shuffle] = []
        filling: list[str] | None = None
        for position, step in enumerate(self.steps):
            if isinstance(step, Select | Shuffle):
                if filling is not None:
                    self.words, filling = filling, None
                run.append(step)
                after = self.steps[position + 1 : position + 2]
                if not after or not isinstance(after[0], Select | Shuffle):
                    self.words = self.assembly.run(lower(run, self.bits), self.words)
                    run = []
            elif isinstance(step, Store):
                self._access(step).store(self.words)
            elif isinstance(step, Load):
                if filling is None:
                    here = hardware_of(step.address)
                    filling = [""] * (
                        self.packing.words(here) * WORD_BITS // self.unit_bits
                    )
                self._access(step).load(filling)
            elif isinstance(step, Barrier):
                self.assembly.add(BARRIERS[step.scope])
        if filling is not None:
            self.words = filling

    def _access(self, step: Store | Load) -> MemoryAccess:
        return MemoryAccess(self.assembly, step, self.bits, self.unit_bits)

    def close(self) -> None:
        """Give the words to the operands."""
        if self.unit_bits == WIDEST:
            for index, whole in enumerate(self.words):
                self.assembly.add(f"mov.b64 ${index}, {whole};")
            return
        if self.bits == WIDEST:
            for index in range(self.outputs):
                low, high = self.words[2 * index : 2 * index + 2]
                self.assembly.add(f"mov.b64 ${index}, {{{low}, {high}}};")
            return
        for index, word in enumerate(self.words):
            self.assembly.add(f"mov.b32 ${index}, {word};")


def log2_parts(before: int, after: int) -> tuple[int, int]:
    """Return how often inputs and outputs are halved so that all have one size.

    Example:
        >>> log2_parts(5, 3), log2_parts(2, 2)
        ((2, 0), (0, 0))
    """
    return max(0, before - after), max(0, after - before)
