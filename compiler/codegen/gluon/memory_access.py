"""PTX of stores to shared memory and loads from it."""

from collections.abc import Iterator, Sequence

from algebra.bits import log2
from algebra.dims import BLOCK, LANE, OFFSET, REGISTER
from algebra.gauss import apply
from algebra.layout import LinearLayout
from algebra.matrix_instructions import MatrixAccess, matrix_access
from compiler.convert.hardware import hardware_of
from compiler.convert.lower import Packing
from compiler.convert.steps import Load, Store

from .assembly import Assembly
from .declared import ALIGNMENT

WORD_BITS = 32
MOST_GUARDED = 2


class MemoryAccess:
    """One store or load of a plan: which words go where."""

    def __init__(
        self,
        assembly: Assembly,
        step: Store | Load,
        element_bits: int,
        unit_bits: int = WORD_BITS,
    ) -> None:
        """Prepare the addresses.

        Args:
            assembly: Where instructions go.
            step: Step of a plan.
            element_bits: Size of an element [bits].
            unit_bits: Size of the registers that hold a file, 64 if elements of 64 bits
                stay whole [bits].
        """
        self.unit_bits = unit_bits
        self.assembly, self.step, self.bits = assembly, step, element_bits
        self.here = hardware_of(step.address)
        self.packing = Packing(element_bits)
        self.parts = self.packing.parts(self.here)
        self.extra_bits = 0 if unit_bits == element_bits else self.packing.element_bits
        self.shift = log2(element_bits) - 3
        self.offset_bits = step.address.linear.out_bits[0]
        self.columns = step.address.linear.columns
        self.start = step.address.packed_offset

    def store(self, words: Sequence[str]) -> None:
        """Write the words of a file, those of the step's repetition."""
        step = self.step
        assert isinstance(step, Store), "what is stored"
        if step.instruction.is_matrix:
            for address, registers in self._rows():
                listed = ", ".join(words[self._word(r)] for r in registers)
                self.assembly.add(f"{self._matrix()} [{address}], {{{listed}}};")
            return
        stores = []
        for address, registers in self._vectors():
            pieces = self._pieces(words, registers)
            suffix, listed = self._vector(pieces)
            stores.append(f"st.shared{suffix} [{address}], {listed};")
        self._guarded(stores, step.silent >> self.here.registers)

    def _guarded(self, stores: Sequence[str], silent: int) -> None:
        """Append stores, for one warp of those that hold copies.

        Lanes with copies write the same to the same place in the same instruction,
        which takes no longer.
        """
        warps = silent >> self.here.lanes << self.here.lanes
        if not warps:
            self.assembly.lines += stores
            return
        quiet = self.assembly.quiet(warps)
        if len(stores) <= MOST_GUARDED:
            self.assembly.lines += [f"@{quiet} {store}" for store in stores]
            return
        # the assembler would make a branch of each
        label = self.assembly.label()
        self.assembly.add(f"@!{quiet} bra.uni {label};")
        self.assembly.lines += [*stores, f"{label}:"]

    def load(self, words: list[str]) -> None:
        """Fill the words of a file, those of the step's repetition."""
        if self.step.instruction.is_matrix:
            for address, registers in self._rows():
                found = [self.assembly.word() for _ in registers]
                listed = ", ".join(found)
                self.assembly.add(f"{self._matrix()} {{{listed}}}, [{address}];")
                for register, word in zip(registers, found, strict=True):
                    words[self._word(register)] = word
            return
        narrow: dict[int, list[tuple[int, str]]] = {}
        for address, registers in self._vectors():
            count = max(1, len(registers) * self.bits // self.unit_bits)
            new = (
                self.assembly.word
                if self.unit_bits == WORD_BITS
                else (self.assembly.double)
            )
            found = [new() for _ in range(count)]
            suffix, listed = self._vector(found, len(registers))
            self.assembly.add(f"ld.shared{suffix} {listed}, [{address}];")
            if len(registers) * self.bits < WORD_BITS and self.parts:
                place = registers[0] & (1 << self.parts) - 1
                entry = narrow.setdefault(self._word(registers[0]), [])
                entry.append((place, found[0]))
                continue
            size = max(1, WORD_BITS // self.bits)
            wide = 1 << self.extra_bits
            for index, word in enumerate(found):
                register = registers[index * size // wide]
                words[self._word(register) + index % wide] = word
        for target, pieces in narrow.items():
            words[target] = self._joined(pieces)

    def _word(self, register: int) -> int:
        return register >> self.parts << self.extra_bits

    def _active(self) -> list[int]:
        """Return the registers of this repetition that are no copies."""
        silent = self.step.silent if isinstance(self.step, Store) else 0
        found = []
        for register in range(1 << self.here.registers):
            packed = self.start ^ apply(self.columns, register)
            repetition = packed >> self.offset_bits
            repetition &= (1 << self.step.address.linear.out_bits[1]) - 1
            if repetition == self.step.repetition and not register & silent:
                found.append(register)
        return found

    def _offset(self, register: int) -> int:
        mask = (1 << self.offset_bits) - 1
        return (self.start ^ apply(self.columns, register)) & mask

    def _vectors(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each access: its address and its registers in order of memory."""
        size = self.step.instruction.vector
        groups: dict[int, list[tuple[int, int]]] = {}
        for register in self._active():
            offset = self._offset(register)
            groups.setdefault(offset // size * size, []).append((offset, register))
        base_columns = [
            column & (1 << self.offset_bits) - 1
            for column in self.columns[self.here.registers :]
        ]
        for offset, members in groups.items():
            registers = [register for _, register in sorted(members)]
            yield self._address(base_columns, offset), registers

    def _address(self, columns: Sequence[int], offset: int) -> str:
        """Return the text of an address: a register, perhaps with a constant."""
        moving = 0
        for column in columns:
            moving |= column
        flips = (offset & moving) << self.shift
        low = flips & ALIGNMENT - 1
        base = self.assembly.linear(columns, self.shift)
        if self.assembly.outside:
            low = 0
        base = self.assembly.plus(base, flips ^ low)
        tile = self.assembly.memory()
        base = self.assembly.plus(self.assembly.make("add.u32", base, tile), low)
        rest = (offset & ~moving) << self.shift
        return f"{base}+{rest}" if rest else base

    def _vector(self, words: Sequence[str], elements: int = 0) -> tuple[str, str]:
        """Return the suffix of an instruction and its operand."""
        if len(words) > 1:
            kind = f".v{len(words)}.b{self.unit_bits}"
            return kind, "{" + ", ".join(words) + "}"
        size = self.step.instruction.vector * self.bits
        return f".b{min(size, self.unit_bits)}", words[0]

    def _pieces(self, words: Sequence[str], registers: Sequence[int]) -> list[str]:
        """Return the words that one store writes."""
        if len(registers) * self.bits >= WORD_BITS or not self.parts:
            size = max(1, WORD_BITS // self.bits)
            wide = 1 << self.extra_bits
            return [
                words[self._word(register) + extra]
                for register in registers[::size]
                for extra in range(wide)
            ]
        word = words[self._word(registers[0])]
        place = registers[0] & (1 << self.parts) - 1
        distance = place * self.bits
        if not distance:
            return [word]
        return [self.assembly.make("shr.u32", word, distance)]

    def _joined(self, pieces: Sequence[tuple[int, str]]) -> str:
        """Put narrow loads together to a word; each is zero above its bytes."""
        parts = sorted(pieces)
        size = self.step.instruction.vector
        while len(parts) > 1:
            joined = []
            for (low, first), (_, second) in zip(parts[::2], parts[1::2], strict=True):
                selector = "0x5410" if size * self.bits == 16 else "0x0040"
                joined.append(
                    (low, self.assembly.make("prmt.b32", first, second, selector))
                )
            parts, size = joined, size * 2
        return parts[0][1]

    def _matrix(self) -> str:
        instruction = self.step.instruction
        verb = instruction.name.removesuffix(".trans")
        matrices = instruction.vector_bits // WORD_BITS
        form = ".trans" if instruction.name.endswith(".trans") else ""
        return f"{verb}.sync.aligned.m8n8.x{matrices}{form}.shared.b16"

    def _rows(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each matrix instruction: its address and a register of each matrix."""
        offset_bits, repetition_bits, blocks = self.step.address.linear.out_bits
        whole = LinearLayout.from_columns(
            self.here.dims,
            {OFFSET: offset_bits + repetition_bits, BLOCK: blocks},
            self.columns,
        )
        transposed = self.step.instruction.name.endswith(".trans")
        found = matrix_access(whole, self.bits, transposed=transposed)
        assert isinstance(found, MatrixAccess), "the planner has checked it"
        mask = (1 << offset_bits) - 1
        rows = found.addresses
        lanes = [column & mask for column in rows.in_columns(LANE)]
        lanes += [0] * (self.here.lanes - len(lanes))
        outer = [
            column & mask
            for name in rows.in_names
            if name not in (LANE, REGISTER)
            for column in rows.in_columns(name)
        ]
        for repeat in range(1 << len(found.repeat_registers)):
            place = apply([1 << bit for bit in found.repeat_registers], repeat)
            packed = self.start ^ apply(self.columns, place)
            repetition = packed >> offset_bits & (1 << repetition_bits) - 1
            if repetition != self.step.repetition:
                continue
            matrices = [1 << bit for bit in found.matrix_registers]
            registers = [
                place | apply(matrices, matrix) for matrix in range(found.matrices)
            ]
            yield self._address([*lanes, *outer], packed & mask), registers
