"""PTX text under construction: registers, functions of the thread, and words."""

from collections.abc import Sequence

from algebra.bits import set_bits
from compiler.convert.words import Functional, Input, Node, Prmt, Program, Selp, Shfl

WORD_BITS = 32
ALIGNMENT = 1024
FULL_WARP = "0xffffffff"
LAST_LANE = "0x1f"


class Assembly:
    """Lines of a block of PTX; what is asked for twice is computed once."""

    def __init__(self) -> None:
        """Start an empty block."""
        self.lines: list[str] = []
        self.words = 0
        self.predicates = 0
        self.shared_bytes = 0
        self._known: dict[object, str] = {}

    def text(self) -> str:
        """Return the block with its declarations."""
        head = []
        if self.words:
            head.append(f".reg .b32 w<{self.words}>;")
        if self.predicates:
            head.append(f".reg .pred p<{self.predicates}>;")
        if self.shared_bytes:
            head.append(f".shared .align {ALIGNMENT} .b8 tile[{self.shared_bytes}];")
        body = "\n".join(f"    {line}" for line in [*head, *self.lines])
        return "{\n" + body + "\n}"

    def add(self, line: str) -> None:
        """Append an instruction."""
        self.lines.append(line)

    def word(self) -> str:
        """Return a new 32-bit register."""
        self.words += 1
        return f"w{self.words - 1}"

    def make(self, opcode: str, *operands: object) -> str:
        """Return a register that holds the result of an instruction."""
        key = (opcode, operands)
        if key not in self._known:
            result = self._known[key] = self.word()
            listed = ", ".join(map(str, operands))
            self.add(f"{opcode} {result}, {listed};")
        return self._known[key]

    def thread(self) -> str:
        """Return the thread's index: lane, then warp."""
        return self.make("mov.u32", "%tid.x")

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
            self._known[key] = f"p{self.predicates}"
            self.predicates += 1
            mask = functional.mask
            if mask & mask - 1:
                tested = self.parity(mask)
            else:
                tested = self.make("and.b32", self.thread(), mask)
            self.add(f"setp.ne.b32 {self._known[key]}, {tested}, 0;")
        return self._known[key]

    def quiet(self, mask: int) -> str:
        """Return a predicate: none of these bits of the thread is set."""
        key = ("quiet", mask)
        if key not in self._known:
            self._known[key] = f"p{self.predicates}"
            self.predicates += 1
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
        return total or self.make("mov.u32", 0)

    def plus(self, base: str, constant: int) -> str:
        """Return a register xored with a constant."""
        return self.make("xor.b32", base, constant) if constant else base

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
            condition = self.condition(Functional(mask))
            other = f"0x{node.selector ^ change:04x}"
            return self.make("selp.b32", other, f"0x{node.selector:04x}", condition)
        total = f"0x{node.selector:04x}"
        for mask, change in node.varying:
            condition = self.condition(Functional(mask))
            part = self.make("selp.b32", f"0x{change:04x}", 0, condition)
            total = self.make("xor.b32", part, total)
        return total

    def _shuffle(self, node: Shfl, lanes: int, word: str) -> str:
        if node.is_butterfly(lanes):
            return self.make(
                "shfl.sync.bfly.b32", word, node.start, LAST_LANE, FULL_WARP
            )
        lane = self.plus(self.linear(node.lanes, width=lanes), node.start)
        return self.make("shfl.sync.idx.b32", word, lane, LAST_LANE, FULL_WARP)
