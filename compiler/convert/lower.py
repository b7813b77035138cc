"""Selections of registers as stages of ``selp`` and ``prmt``, shuffles word by word.

Registers of a file are parts of words: the low bits of a register index select a
part of a 32-bit word, the others the word. A selection r' = N r + Q t + c asks, for
each part of each new word, for a part of an old one, by what the thread t is. Let S be
the span of all word directions that parts and threads select among. Each stage removes
one direction from S with at most one operation a word, by a substitution:

* shared words: some new word bit j moves words by a direction of S, so two new words
  pick from the same two old ones, each part at its own position;
* exchanged parts: some new word bit j moves parts only, so two new words share their
  two sources by exchanging parts with words (the step of a byte transpose);
* neither: a word is picked from two that nobody else wants.

When S is empty, words are renamed and parts change places; the last stage does that on
the way. The number of stages is the dimension of S, the least that is possible when
each operation reads two words and all words need all their sources.
"""

from collections.abc import Sequence

from algebra.affine import AffineLayout
from algebra.bits import log2, parity, set_bits
from algebra.gauss import apply, kernel

from .hardware import Hardware, hardware_of
from .steps import Select, Shuffle
from .words import Functional, Graph, Input, Program, Shfl

WORD_BITS = 32
WORD_BYTES = 4


def lower(steps: Sequence[Select | Shuffle], element_bits: int) -> Program:
    """Return the operations of steps within a warp.

    Args:
        steps: Selections and shuffles, one at least.
        element_bits: Size of an element [bits].
    """
    packing = Packing(element_bits)
    graph = Graph()
    first = Hardware(*steps[0].source.linear.out_bits)
    file = [graph.add(Input(word)) for word in range(packing.words(first))]
    inputs = len(file)
    for index, step in enumerate(steps):
        if isinstance(step, Shuffle):
            file = _shuffle(graph, packing, step, file)
            continue
        read, made = packing.around(steps, index)
        file = _Selection(graph, packing, step.source, file, read, made).outputs()
    return graph.program(first.lanes, inputs, file)


class Packing:
    """How elements of a size lie in words.

    Attributes:
        part_bits: Log2 of the elements that fill a word [bits].
        element_bits: Log2 of the words that fill an element [bits].
        part_bytes: Bytes of an element within a word.
    """

    __slots__ = ("element_bits", "part_bits", "part_bytes")

    def __init__(self, element_bits: int) -> None:
        """Take the size of an element [bits]."""
        self.part_bits = max(0, log2(WORD_BITS) - log2(element_bits))
        self.element_bits = max(0, log2(element_bits) - log2(WORD_BITS))
        self.part_bytes = WORD_BYTES >> self.part_bits

    def parts(self, here: Hardware) -> int:
        """Return how many register bits share a word."""
        return min(self.part_bits, here.registers)

    def around(self, steps: Sequence[Select | Shuffle], index: int) -> tuple[int, int]:
        """Return the register bits that share a word before and after a selection.

        What is shuffled may be packed less densely.
        """
        step = steps[index]
        read = self.parts(Hardware(*step.source.linear.out_bits))
        made = self.parts(hardware_of(step.source))
        before = steps[index - 1] if index else None
        after = steps[index + 1] if index + 1 < len(steps) else None
        if isinstance(before, Shuffle):
            read = before.word_registers
        if isinstance(after, Shuffle):
            made = after.word_registers
        return read, made

    def words(self, here: Hardware) -> int:
        """Return how many words hold a file."""
        return 1 << here.registers - self.parts(here) + self.element_bits


def _shuffle(
    graph: Graph, packing: Packing, step: Shuffle, file: Sequence[int]
) -> list[int]:
    here = hardware_of(step.source)
    mask = (1 << here.lanes) - 1
    columns = [c >> here.registers & mask for c in step.source.linear.columns]
    lanes = tuple(columns[here.registers :])
    start = step.source.packed_offset >> here.registers
    own = [1 << bit for bit in range(here.lanes)]
    still = list(lanes) == own + [0] * (here.warps + here.blocks)
    result = []
    for word, node in enumerate(file):
        slot = word >> packing.element_bits << step.word_registers
        lane = start ^ apply(columns, slot)
        same = still and not lane
        result.append(node if same else graph.add(Shfl(node, lanes, lane)))
    return result


class _Selection:
    """One selection, in coordinates (part, thread, 1, word) of the new file.

    ``map`` has a column for each coordinate: the (part, word) of the old file that it
    moves to. A stage (partner, chosen, unit) says: where the functional ``chosen`` is
    1, take the word xor ``partner`` and, with ``unit``, the part xor ``unit``.
    """

    def __init__(
        self,
        graph: Graph,
        packing: Packing,
        source: AffineLayout,
        file: Sequence[int],
        read: int,
        made: int,
    ) -> None:
        self.graph, self.packing, self.file = graph, packing, file
        new, old = hardware_of(source), Hardware(*source.linear.out_bits)
        mask, extra = old.register_mask, packing.element_bits
        self.p, self.made, self.t = packing.part_bits, made, new.threads

        def placed(place: int) -> int:
            register = place & mask
            part = register & (1 << read) - 1
            return part | register >> read << self.p + extra

        columns = [placed(column) for column in source.linear.columns]
        self.map = [
            *columns[:made],
            *[0] * (self.p - made),
            *columns[new.registers :],
            placed(source.packed_offset),
            *(1 << self.p + bit for bit in range(extra)),
            *columns[made : new.registers],
        ]
        self.fixed = self.p + self.t + 1
        self.words = 1 << len(self.map) - self.fixed
        self.stages: list[tuple[int, int, int]] = []
        while self._reduce():
            pass
        self.memo: dict[tuple[int, int], int] = {}

    def outputs(self) -> list[int]:
        """Return the node of each new word."""
        return [self._value(0, word) for word in range(self.words)]

    def _reduce(self) -> bool:
        """Take one direction out of S; return whether there was one."""
        p = self.p
        choosing = [c >> p for c in self.map[: self.made] + self.map[p : p + self.t]]
        if not any(choosing):
            return False
        words = [c >> p for c in self.map[self.fixed :]]
        own = (1 << len(words)) - 1
        for tag in kernel([*words, *choosing]):
            if apply(words, tag & own):
                self._share(tag & own)
                return True
        moves = kernel(words)
        if moves and any(choosing[: self.made]):
            self._exchange(moves[0])
        else:
            self.map.append(next(filter(None, choosing)) << p)
            self._share(1 << len(words))
        return True

    def _share(self, partner: int) -> None:
        step = apply(self.map[self.fixed :], partner)
        chosen = self._selected(step)
        for index in set_bits(chosen):
            self.map[index] ^= step
        self.stages.append((partner, chosen, 0))

    def _exchange(self, partner: int) -> None:
        unit = next(i for i in range(self.made) if self.map[i] >> self.p)
        own = self.fixed + (partner & -partner).bit_length() - 1
        chosen = self._selected(self.map[unit]) | 1 << own
        step = self.map[unit] ^ apply(self.map[self.fixed :], partner)
        for index in set_bits(chosen):
            self.map[index] ^= step
        self.stages.append((partner, chosen, 1 << unit))

    def _selected(self, step: int) -> int:
        """Return the coordinates, words left out, that have the lowest word bit."""
        bit = (step >> self.p & -(step >> self.p)) << self.p
        return sum(1 << i for i in range(self.fixed) if self.map[i] & bit)

    def _value(self, level: int, word: int) -> int:
        """Return the node of a word, ``level`` stages away from the outputs."""
        key = level, word
        if key not in self.memo:
            self.memo[key] = self._node(level, word)
        return self.memo[key]

    def _node(self, level: int, word: int) -> int:
        left = len(self.stages) - level
        partner, chosen, unit = self.stages[level] if left else (0, 0, 0)
        if left > 1:
            zero = self._value(level + 1, word)
            one = self._value(level + 1, word ^ partner)
        else:
            zero, one = self._renamed(word), self._renamed(word ^ partner)
        return self._pick(zero, one, word, (partner, chosen, unit), left <= 1)

    def _renamed(self, word: int) -> int:
        place = apply(self.map[self.fixed :], word) ^ self.map[self.fixed - 1]
        return self.file[place >> self.p]

    def _pick(
        self, zero: int, one: int, word: int, stage: tuple[int, int, int], last: bool
    ) -> int:
        """Make one operation: each part from one of two words, at some position."""
        partner, chosen, unit = stage
        p, own = self.p, (1 << self.p) - 1
        threads = (1 << self.t) - 1
        varies = chosen >> p & threads
        constant = parity(chosen & (1 << p + self.t | word << self.fixed))
        step = unit
        position = [1 << bit for bit in range(p)] + [0] * (self.t + 1)
        if last:
            words = self.map[self.fixed :]
            position = [column & own for column in self.map[: self.fixed]]
            position[-1] ^= apply(words, word) & own
            step = (apply(position, unit) if unit else 0) ^ apply(words, partner) & own
        pieces = []
        for part in range(1 << p):
            real = part & (1 << self.made) - 1
            which = constant ^ parity(chosen & real)
            pieces.append((which, apply(position, part) ^ position[-1] ^ step * which))
        turns = [
            position[p + bit] ^ step * (varies >> bit & 1) for bit in range(self.t)
        ]
        whole = all(
            which == pieces[0][0] and place == part
            for part, (which, place) in enumerate(pieces)
            if part < 1 << self.made
        )
        if whole and not any(turns):
            return self.graph.choose(zero, one, Functional(varies, pieces[0][0]))
        return self._permute(zero, one, pieces, turns, varies)

    def _permute(
        self,
        zero: int,
        one: int,
        pieces: Sequence[tuple[int, int]],
        turns: Sequence[int],
        varies: int,
    ) -> int:
        size = self.packing.part_bytes
        selector = 0
        for part, (which, place) in enumerate(pieces):
            for byte in range(size):
                source = which * WORD_BYTES + place * size + byte
                selector |= source << 4 * (part * size + byte)
        changes: dict[int, int] = {}
        for bit, turn in enumerate(turns):
            change = ((varies >> bit & 1) * WORD_BYTES + turn * size) * 0x1111
            if change:
                changes[change] = changes.get(change, 0) | 1 << bit
        varying = tuple((mask, change) for change, mask in changes.items())
        return self.graph.permute(zero, one, selector, varying)
