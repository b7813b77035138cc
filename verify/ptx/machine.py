"""The state of one CTA that runs straight-line code, all threads in step."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from algebra.errors import ParseError

from .buffers import ALIGNMENT, Buffers
from .halt import Fault, FaultError, UnsupportedError
from .memory import Conflict, SharedMemory
from .provenance import LAST_CONSTANT, Codes, Provenance
from .syntax import (
    Immediate,
    Instruction,
    Kernel,
    Operand,
    Register,
    Symbol,
)
from .word import (
    Mask,
    Word,
    codes_of,
    constant,
    from_codes,
    number,
    unknown,
)

WARP: Final = 32


class Machine:
    """Registers, memories and the set of threads that still run.

    Attributes:
        kernel: What runs.
        threads: Threads of the CTA [threads].
        buffers: Input and output.
        table: Provenance of data.
        shared: Shared memory.
        extents: Shared variable -> first byte and byte past the last. Where a variable
            lies is not known to the program: its pointers have a base of their own.
        running: Which threads have come to the current instruction.
        active: Which of them execute it: those whose guard holds.
        branched: Line of the first branch that parted the threads, 0 for none.
        parameters: Parameter -> what ``ld.param`` yields.
    """

    def __init__(
        self,
        kernel: Kernel,
        threads: int,
        buffers: Buffers,
        parameters: Mapping[str, Word],
        shared_bytes: int,
    ) -> None:
        """Start with empty registers and unwritten shared memory."""
        self.kernel = kernel
        self.threads = threads
        self.buffers = buffers
        self.parameters = parameters
        self.table = Provenance(buffers.size)
        self.index = np.arange(threads, dtype=np.int64)
        self.everyone: Mask = np.ones(threads, bool)
        self.running = self.everyone
        self.active = self.everyone
        self.branched = 0
        self.registers: dict[str, Word] = {}
        self.extents: dict[str, tuple[int, int]] = {}
        start = 0
        for name, (known, _) in kernel.variables.items():
            end = start + (shared_bytes if known is None else known)
            self.extents[name] = (start, end)
            start = end
        self.shared = SharedMemory(start)

    def width(self, operand: Operand, instruction: Instruction) -> int:
        """Return the declared width of a register operand [bits]."""
        if not isinstance(operand, Register):
            raise self.unsupported(instruction, "a register was needed here")
        if operand.name.startswith(("%tid", "%ntid", "%laneid", "%ctaid", "%nctaid")):
            return 32
        try:
            return self.kernel.width(operand.name)
        except ParseError:
            raise self.unsupported(
                instruction, f"register {operand.name} is not declared"
            ) from None

    def read(self, instruction: Instruction, operand: Operand, bits: int) -> Word:
        """Return an operand's contents, cut to ``bits`` where it is wider."""
        if isinstance(operand, Immediate):
            return constant(bits, operand.value, self.threads)
        if isinstance(operand, Symbol):
            return self._address_of(instruction, operand, bits)
        if not isinstance(operand, Register) or operand.negated:
            raise self.unsupported(instruction, "this form of operand")
        word = self.registers.get(operand.name)
        if word is None:
            word = self._special(operand.name, bits)
        if word is None:
            self.width(operand, instruction)
            word = unknown(bits, self._never_written(operand.name), self.threads)
        if word.bits == bits:
            return word
        if word.bits < bits:
            raise self.unsupported(
                instruction, f"{operand.name} is narrower than the operation"
            )
        if word.base is not None:
            return unknown(bits, self.table.unknown("part of a pointer"), self.threads)
        return self.cut(word, bits)

    def cut(self, word: Word, bits: int) -> Word:
        """Return the low bits of a word that is no pointer."""
        if word.codes is None:
            return number(bits, word.numbers)
        return from_codes(word.codes[:, : bits // 8], bits)

    def alignment(self, base: str) -> int:
        """Return the alignment of what a pointer is relative to [bytes]."""
        if base in self.kernel.variables:
            return self.kernel.variables[base][1]
        return ALIGNMENT

    def truth(self, instruction: Instruction, guard: Register) -> Mask:
        """Return in which threads a predicate holds."""
        word = self.read(instruction, Register(guard.name), 1)
        if word.codes is not None and (word.codes[self.running] < LAST_CONSTANT).any():
            raise self.not_known(instruction, word.codes, "a guard")
        truth = word.numbers.astype(bool)
        return ~truth if guard.negated else truth

    def write(self, instruction: Instruction, operand: Operand, word: Word) -> None:
        """Set a register in the active threads; ``None`` is the sink ``_``."""
        if operand is None:
            return
        bits = self.width(operand, instruction)
        assert isinstance(operand, Register)
        if bits != word.bits:
            raise self.unsupported(
                instruction,
                f"{operand.name} has {bits} bits, the result has {word.bits}",
            )
        if self.active is not self.everyone and not self.active.all():
            word = self._merge(instruction, operand, word)
        self.registers[operand.name] = word

    def select(self, mask: Mask, a: Word, b: Word) -> Word:
        """Return ``a`` where the mask holds and ``b`` elsewhere."""
        if a.base is None and b.base is None and a.codes is None and b.codes is None:
            return Word(a.bits, np.where(mask, a.numbers, b.numbers))
        if mask.all():
            return a
        if not mask.any():
            return b
        if a.base != b.base:
            code = self.table.unknown("a pointer in some threads only")
            return unknown(a.bits, code, self.threads)
        if a.base is not None:
            return Word(a.bits, np.where(mask, a.numbers, b.numbers), None, a.base)
        codes = np.where(mask[:, None], codes_of(a), codes_of(b))
        return from_codes(codes, a.bits)

    def opaque(self, instruction: Instruction, bits: int, reason: str) -> Word:
        """Return a result that is not known, because of this instruction."""
        code = self.table.unknown(
            f"{reason} at line {instruction.line} `{instruction.opcode}`"
        )
        return unknown(bits, code, self.threads)

    def blame(self, instruction: Instruction, *words: Word) -> Word | None:
        """Return why a result that needs numbers is not known, if it is not."""
        if all(word.is_number for word in words):
            return None
        bits = words[0].bits
        for word in words:
            why = None if word.codes is None else self._first_reason(word.codes)
            if why is not None:
                return unknown(bits, self.table.unknown(why), self.threads)
        if any(word.base is not None for word in words):
            return self.opaque(instruction, bits, "a pointer in other arithmetic")
        return self.opaque(instruction, bits, "arithmetic on data")

    def unsupported(self, instruction: Instruction, reason: str) -> UnsupportedError:
        """Return the error that ends the proof as Unknown."""
        return UnsupportedError(instruction.line, f"`{instruction.opcode}`: {reason}")

    def not_known(
        self,
        instruction: Instruction,
        codes: Codes,
        needed: str,
        awake: Mask | None = None,
    ) -> UnsupportedError | FaultError:
        """Return the error for a value that is needed but depends on what is not known.

        A fault where PTX leaves the value undefined, else unsupported.

        Args:
            instruction: Who needs it.
            codes: Of the value [threads, bytes].
            needed: What for.
            awake: Which threads count [threads]; default the active ones.
        """
        counted = self.active if awake is None else awake
        odd = np.flatnonzero((codes < LAST_CONSTANT).any(axis=1) & counted)
        if not len(odd):
            return self.unsupported(instruction, f"{needed} depends on data")
        thread = int(odd[0])
        code = int(codes[thread].min())
        why = self.table.reason(code)
        if self.table.is_undefined(code):
            return self.fault(instruction, "undefined value", thread, needed, why)
        return self.unsupported(
            instruction, f"thread {thread} needs {needed}, which is not known: {why}"
        )

    def fault(
        self,
        instruction: Instruction,
        kind: str,
        thread: int,
        expected: str,
        actual: str,
    ) -> FaultError:
        """Return the error that ends the proof as Refuted."""
        return FaultError(
            Fault(kind, instruction.line, instruction.text, thread, expected, actual)
        )

    def conflict(self, instruction: Instruction, found: Conflict) -> FaultError:
        """Return the error for a conflict in shared memory."""
        where = f"byte {found.place} of shared memory"
        if found.kind == "race":
            assert found.other is not None
            other, line = found.other
            return self.fault(
                instruction,
                "race",
                found.thread,
                f"a barrier between its access of {where} and that of thread {other}",
                f"none since line {line}",
            )
        expected = {
            "unwritten memory": "a byte written before",
            "outside shared memory": f"a place below {self.shared.size}",
        }[found.kind]
        return self.fault(instruction, found.kind, found.thread, expected, where)

    def _never_written(self, name: str) -> int:
        return self.table.unknown(f"{name} was never written", undefined=True)

    def _first_reason(self, codes: Codes) -> str | None:
        low = codes[codes < LAST_CONSTANT]
        return self.table.reason(int(low[0])) if len(low) else None

    def _merge(self, instruction: Instruction, operand: Register, word: Word) -> Word:
        old = self.registers.get(operand.name)
        if old is None:
            code = self._never_written(operand.name)
            old = unknown(word.bits, code, self.threads)
        return self.select(self.active, word, old)

    def _special(self, name: str, bits: int) -> Word | None:
        match name:
            case "%tid.x":
                return number(bits, self.index)
            case "%tid.y" | "%tid.z":
                return constant(bits, 0, self.threads)
            case "%ntid.x":
                return constant(bits, self.threads, self.threads)
            case "%ntid.y" | "%ntid.z":
                return constant(bits, 1, self.threads)
            case "%laneid":
                return number(bits, self.index % WARP)
        if name.startswith(("%ctaid", "%nctaid", "%cluster", "%warpid", "%clock")):
            return unknown(
                bits, self.table.unknown(f"it depends on {name}"), self.threads
            )
        return None

    def _address_of(self, instruction: Instruction, operand: Symbol, bits: int) -> Word:
        if operand.name not in self.extents:
            raise self.unsupported(instruction, f"{operand.name} is no shared variable")
        return Word(bits, np.zeros(self.threads, np.uint64), None, operand.name)
