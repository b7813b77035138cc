"""PTX text under construction: registers, functions of the thread, and words.

What depends on the thread alone (addresses, lanes to read from, selectors) is not
computed in the block, which runs where it stands, but before it, in Gluon, so that the
compiler can move it out of loops. The block takes the results as operands.
"""

import re
from collections.abc import Sequence

from algebra.bits import set_bits
from compiler.convert.words import Functional, Input, Node, Prmt, Program, Selp, Shfl

from .declared import declaration

WORD_BITS = 32
FULL_WARP = "0xffffffff"
LAST_LANE = "0x1f"
OPERATORS = {"and.b32": "&", "xor.b32": "^", "shl.b32": "<<", "shr.u32": ">>"}
THREAD = "thread"
OWN_TILE = "tile"


class Assembly:
    """Lines of a block of PTX; what is asked for twice is computed once."""

    def __init__(self, outside: bool = False, flips_outside: bool = True) -> None:
        """Start an empty block.

        Args:
            outside: Whether what depends on the thread alone is computed before.
            flips_outside: Whether that includes each flip of an address; if not, the
                block needs few operands.
        """
        self.outside, self.flips_outside = outside, flips_outside
        self.lines: list[str] = []
        self.values: dict[str, str] = {}
        self.words = 0
        self.doubles = 0
        self.predicates = 0
        self.labels = 0
        self.shared_bytes = 0
        # memory that another block declares; empty for memory of its own
        self.tile = ""
        self._known: dict[object, str] = {}

    @property
    def given(self) -> list[str]:
        """Values computed before the block that it uses, in order of first use."""
        found = re.findall(r"\bt\d+\b", "\n".join(self.lines))
        return list(dict.fromkeys(found))

    def text(self, operands: int = 0) -> str:
        """Return the block with its declarations.

        Args:
            operands: Number of operands before those for values from outside.
        """
        head = []
        given = self.given
        if self.words:
            head.append(f".reg .b32 w<{self.words}>;")
        if self.doubles:
            head.append(f".reg .b64 d<{self.doubles}>;")
        if given:
            head.append(f".reg .b32 {', '.join(given)};")
        if self.predicates:
            head.append(f".reg .pred p<{self.predicates}>;")
        if self.shared_bytes and not self.tile:
            head.append(declaration(OWN_TILE, self.shared_bytes))
        head += [f"mov.b32 {v}, ${operands + i};" for i, v in enumerate(given)]
        body = "\n".join(f"    {line}" for line in [*head, *self.lines])
        return "{\n" + body + "\n}"

    def computed(self) -> list[str]:
        """Return the lines of Gluon that make what is given, from ``thread``."""
        needed: set[str] = set(self.given)
        for name in reversed(self.values):
            if name in needed:
                needed.update(re.findall(r"\bt\d+\b", self.values[name]))
        return [f"{name} = {v}" for name, v in self.values.items() if name in needed]

    def add(self, line: str) -> None:
        """Append an instruction."""
        self.lines.append(line)

    def word(self) -> str:
        """Return a new 32-bit register."""
        self.words += 1
        return f"w{self.words - 1}"

    def predicate(self) -> str:
        """Return a new predicate."""
        self.predicates += 1
        return f"p{self.predicates - 1}"

    def memory(self) -> str:
        """Return a register with the address of the shared memory."""
        return self.make("mov.u32", self.tile or OWN_TILE)

    def label(self) -> str:
        """Return a new label."""
        self.labels += 1
        return f"AFTER{self.labels - 1}"

    def double(self) -> str:
        """Return a new 64-bit register."""
        self.doubles += 1
        return f"d{self.doubles - 1}"

    def make(self, opcode: str, *operands: object) -> str:
        """Return a register that holds the result of an instruction."""
        key = (opcode, operands)
        if key not in self._known:
            if self.outside and opcode in OPERATORS and self._is_outside(operands):
                one, other = operands
                made = self._value(f"{one} {OPERATORS[opcode]} {other}")
                self._known[key] = made
                return made
            result = self._known[key] = self.word()
            listed = ", ".join(map(str, operands))
            self.add(f"{opcode} {result}, {listed};")
        return self._known[key]

    def _is_outside(self, operands: Sequence[object]) -> bool:
        return all(isinstance(o, int) or o in self.values for o in operands)

    def _value(self, expression: str) -> str:
        name = f"t{len(self.values)}"
        self.values[name] = expression
        return name

    def thread(self) -> str:
        """Return the thread's index: lane, then warp."""
        if self.outside:
            if THREAD not in self._known:
                self._known[THREAD] = self._value(f"{THREAD} + 0")
            return self._known[THREAD]
        return self.make("mov.u32", "%tid.x")

    def zero(self) -> str:
        """Return a register that holds 0."""
        if self.outside:
            return self.make("and.b32", self.thread(), 0)
        return self.make("mov.u32", 0)

    def parity(self, mask: int) -> str:
        """Return 0 or 1: the parity of some bits of the thread."""
        total = ""
        for bit in set_bits(mask):
            moved = self.make("shr.u32", self.thread(), bit) if bit else self.thread()
            total = self.make("xor.b32", total, moved) if total else moved
        return self.make("and.b32", total, 1)

    def condition(self, functional: Functional) -> str:
        """Return a predicate for a functional that is not constant."""
        key = ("condition", functional.mask)
        if key not in self._known:
            self._known[key] = self.predicate()
            tested = self._tested(functional.mask)
            self.add(f"setp.ne.b32 {self._known[key]}, {tested}, 0;")
        return self._known[key]

    def _tested(self, mask: int) -> str:
        """Return a word that is 0 where the parity of some bits of the thread is."""
        if mask & mask - 1:
            return self.parity(mask)
        return self.make("and.b32", self.thread(), mask)

    def _choice(self, mask: int, one: str, zero: str) -> str:
        """Return one of two constants, by the parity of some bits of the thread."""
        if not self.outside:
            condition = self.condition(Functional(mask))
            return self.make("selp.b32", one, zero, condition)
        key = ("choice", mask, one, zero)
        if key not in self._known:
            tested = self._tested(mask)
            self._known[key] = self._value(f"gl.where({tested} != 0, {one}, {zero})")
        return self._known[key]

    def quiet(self, mask: int) -> str:
        """Return a predicate: none of these bits of the thread is set."""
        key = ("quiet", mask)
        if key not in self._known:
            self._known[key] = self.predicate()
            tested = self.make("and.b32", self.thread(), mask)
            self.add(f"setp.eq.b32 {self._known[key]}, {tested}, 0;")
        return self._known[key]

    def linear(
        self, columns: Sequence[int], shift: int = 0, width: int = WORD_BITS
    ) -> str:
        """Return the xor of the columns that the thread's bits select.

        Bits that move by the same distance take one shift, and one mask unless all
        others fall outside.

        Args:
            columns: Image of each thread bit; the thread has no others.
            shift: How far images are shifted left besides.
            width: Bits of the result that matter.
        """
        matters = (1 << width) - 1
        moves: dict[int, int] = {}
        for bit, column in enumerate(columns):
            for target in set_bits(column << shift):
                moves[target - bit] = moves.get(target - bit, 0) | 1 << bit
        total = ""
        for distance, mask in sorted(moves.items()):
            part = self.thread()
            others = ((1 << len(columns)) - 1) ^ mask
            strays = others << distance if distance > 0 else others >> -distance
            if strays & matters:
                part = self.make("and.b32", part, mask)
            if distance > 0:
                part = self.make("shl.b32", part, distance)
            elif distance < 0:
                part = self.make("shr.u32", part, -distance)
            total = self.make("xor.b32", total, part) if total else part
        return total or self.zero()

    def plus(self, base: str, constant: int) -> str:
        """Return a register xored with a constant."""
        if not constant:
            return base
        if self.outside and not self.flips_outside:
            key = ("plus", base, constant)
            if key not in self._known:
                self._known[key] = self.word()
                self.add(f"xor.b32 {self._known[key]}, {base}, {constant};")
            return self._known[key]
        return self.make("xor.b32", base, constant)

    def run(self, program: Program, words: Sequence[str]) -> list[str]:
        """Append a program; return the registers of its outputs.

        Args:
            program: What each thread executes.
            words: Registers of its inputs.
        """
        registers: list[str] = []
        for node in program.nodes:
            registers.append(self._node(node, program.lane_bits, words, registers))
        return [registers[output] for output in program.outputs]

    def _node(
        self, node: Node, lanes: int, words: Sequence[str], made: Sequence[str]
    ) -> str:
        match node:
            case Input():
                return words[node.word]
            case Selp():
                condition = self.condition(node.condition)
                return self.make("selp.b32", made[node.one], made[node.zero], condition)
            case Prmt():
                selector = self._selector(node)
                return self.make("prmt.b32", made[node.low], made[node.high], selector)
            case Shfl():
                return self._shuffle(node, lanes, made[node.word])

    def _selector(self, node: Prmt) -> str:
        if not node.varying:
            return f"0x{node.selector:04x}"
        if len(node.varying) == 1:
            ((mask, change),) = node.varying
            other = f"0x{node.selector ^ change:04x}"
            return self._choice(mask, other, f"0x{node.selector:04x}")
        parts = [self._choice(m, f"0x{c:04x}", "0") for m, c in node.varying]
        total = parts[0]
        for part in parts[1:]:
            total = self.make("xor.b32", total, part)
        return self.make("xor.b32", total, node.selector) if node.selector else total

    def _shuffle(self, node: Shfl, lanes: int, word: str) -> str:
        if node.is_butterfly(lanes):
            return self.make(
                "shfl.sync.bfly.b32", word, node.start, LAST_LANE, FULL_WARP
            )
        lane = self.plus(self.linear(node.lanes, width=lanes), node.start)
        return self.make("shfl.sync.idx.b32", word, lane, LAST_LANE, FULL_WARP)
