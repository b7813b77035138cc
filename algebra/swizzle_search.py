"""The search behind ``swizzle``: vectors to try, and the memory that each gives.

The patterns of a tile are columns over its element indices; what selects the block is
taken out first, since every block has a memory of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, permutations

from .bank_conflicts import WORD_BITS, LaneTile
from .bank_map import BankMap, NoBankMap, find_bank_map
from .bits import log2
from .contiguity import MAX_ACCESS_BITS
from .dims import BLOCK, LANE, OFFSET, REGISTER
from .gauss import Echelon, apply, intersection, kernel, rank, solve
from .layout import LinearLayout
from .swizzle_certificate import ORDERED_PATTERNS, served_lanes


@dataclass(frozen=True, slots=True)
class Plan:
    """The lowest offset bits, all of them registers of one pattern.

    Attributes:
        low: Columns of the low offset bits.
        owner: Position of a pattern that moves all of them in one access.
        vector_bits: For each pattern, how many of them it moves in one access.
    """

    low: tuple[int, ...]
    owner: int
    vector_bits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory layout that a plan led to.

    Attributes:
        layout: offset, block -> tensor.
        rep_bits: Top offset bits that are registers of every pattern.
        exhausted: Nodes of a proof that the plan can't do without conflicts, or 0.
    """

    layout: LinearLayout
    rep_bits: int
    exhausted: int


class Tile:
    """The patterns of a tile as columns over its element indices, blocks taken out."""

    def __init__(
        self,
        patterns: Sequence[LinearLayout],
        element_bits: int,
        banks: int,
        lane_tiles: Sequence[LaneTile | None],
        *,
        even: bool = False,
    ) -> None:
        self.even = even
        self.patterns = patterns
        self.lane_tiles = lane_tiles
        self.element_bits = element_bits
        self.banks = banks
        self.bank_bits = log2(banks, what="banks")
        self.word_bits = max(0, log2(WORD_BITS) - log2(element_bits))
        self.element_words = max(0, log2(element_bits) - log2(WORD_BITS))
        self.cap = max(0, log2(MAX_ACCESS_BITS) - log2(element_bits))
        first = patterns[0]
        self.block_columns = first.in_columns(BLOCK) if BLOCK in first.in_names else ()
        self.blocks = Echelon(self.block_columns)
        self.size_bits = sum(first.out_bits)
        self.units = [
            unit
            for unit in (1 << i for i in range(self.size_bits))
            if self.blocks.reduce(unit)[0] == unit
        ]
        self.columns = [self._inside_block(pattern) for pattern in patterns]
        self.registers = [
            list(dict.fromkeys(filter(None, columns[REGISTER])))
            for columns in self.columns
        ]
        self.held_bits = list(map(rank, self.registers))

    def _inside_block(self, pattern: LinearLayout) -> dict[str, list[int]]:
        return {
            name: [self.blocks.reduce(c)[0] for c in pattern.in_columns(name)]
            for name in pattern.in_names
        }

    def others(self, position: int, chosen: Sequence[int]) -> list[int]:
        """Return the columns of a pattern that aren't among the chosen registers."""
        columns = self.columns[position]
        free = list(columns[REGISTER])
        for register in chosen:
            if register in free:
                free.remove(register)
        rest = (columns[name] for name in columns if name != REGISTER)
        return [column for column in chain(free, *rest) if column]

    def plans(self) -> Iterator[Plan]:
        """Yield the vectors worth a try: registers that ever fewer patterns share.

        The patterns drop out one after the other, in every order; registers that are
        lanes of other patterns come first, since these lanes then fill the banks.
        """
        everyone = range(len(self.patterns))
        usable = [
            [r for r in self.registers[i] if r not in Echelon(self.others(i, [r]))]
            for i in everyone
        ]
        lanes = [lane for columns in self.columns for lane in columns[LANE]]
        seen = set()
        for order in _orders(len(self.patterns)):
            low: list[int] = []
            for start in everyone[:1] if self.even else everyone:
                shared = [
                    register
                    for register in usable[order[-1]]
                    if all(register in usable[i] for i in order[start:])
                    and register not in low
                ]
                shared.sort(key=lambda register: register not in lanes)
                low += shared
            for count in range(min(len(low), self.cap) + 1):
                prefix = tuple(low[:count])
                if prefix not in seen:
                    seen.add(prefix)
                    yield Plan(
                        prefix,
                        order[-1],
                        tuple(_prefix_length(prefix, usable[i]) for i in everyone),
                    )

    def served(self, position: int, vector_bits: int) -> LaneTile:
        """Return the lanes that one wavefront of such an access serves."""
        return served_lanes(
            len(self.columns[position][LANE]),
            vector_bits,
            self.element_bits,
            self.banks,
            self.lane_tiles[position],
        )

    def estimate(self, plan: Plan) -> tuple[int, int]:
        """Return (wavefronts, instructions) of all patterns if nothing conflicts."""
        wavefronts = instructions = 0
        for position in range(len(self.patterns)):
            vector_bits = plan.vector_bits[position]
            served = len(self.served(position, vector_bits).lanes)
            lanes = len(self.columns[position][LANE])
            count = 1 << self.held_bits[position] - vector_bits
            instructions += count
            wavefronts += count << lanes - served
        return wavefronts, instructions

    def build(self, plan: Plan) -> Memory:
        """Choose banks and segments for the vector of a plan."""
        low = list(plan.low)
        fill = self._fill(low)
        word = [*low, *fill][: self.word_bits]
        free = self._free_space(plan, low)
        bits_above = self.word_bits + self.bank_bits - self.element_words - len(low)
        bank_bits = max(0, min(len(free), bits_above))
        spans = [
            self._span(position, plan.vector_bits[position], low) + word
            for position in range(len(self.patterns))
        ]
        banks, exhausted = self._banks(spans, free, bank_bits)
        segment = [apply(free, tag) for tag in kernel(banks)]
        segment.sort(key=self._is_repeated)
        used = Echelon([*low, *fill, *segment], self.size_bits)
        bank = [v for i, v in enumerate(free) if used.add(v, i % self.size_bits)]
        offsets = [*low, *fill, *bank, *segment]
        first = self.patterns[0]
        layout = LinearLayout.from_columns(
            {OFFSET: len(offsets), BLOCK: len(self.block_columns)},
            dict(zip(first.out_names, first.out_bits, strict=True)),
            [*offsets, *self.block_columns],
        )
        return Memory(layout, sum(map(self._is_repeated, segment)), exhausted)

    def _fill(self, low: Sequence[int]) -> list[int]:
        """Complete a word with elements that no thread holds together, warps first."""
        missing = self.word_bits - len(low)
        lanes = [lane for columns in self.columns for lane in columns[LANE]]
        candidates = sorted(self._all_columns(low), key=lanes.__contains__)
        span = Echelon(low, self.size_bits)
        fill: list[int] = []
        for i, vector in enumerate(candidates):
            if len(fill) < missing and span.add(vector, i % self.size_bits):
                fill.append(vector)
        return fill

    def _all_columns(self, low: Sequence[int]) -> list[int]:
        """Columns of all patterns but the low ones, then unit vectors."""
        columns = [
            column
            for position in range(len(self.patterns))
            for column in self.others(position, low)
        ]
        return list(dict.fromkeys([*columns, *self.units]))

    def _free_space(self, plan: Plan, low: Sequence[int]) -> list[int]:
        """Return a complement of the vector that keeps all accesses aligned.

        It holds the owner's other columns, and with the extension all the others' ones.
        """
        span = Echelon(low, self.size_bits)
        candidates = self.others(plan.owner, low) + self._all_columns(low)
        return [v for i, v in enumerate(candidates) if span.add(v, i % self.size_bits)]

    def _span(self, position: int, vector_bits: int, low: Sequence[int]) -> list[int]:
        """Return the vectors of one wavefront."""
        lanes = self.columns[position][LANE]
        served = self.served(position, vector_bits).lanes
        return [*low[:vector_bits], *(lanes[i] for i in served)]

    def _banks(
        self, spans: Sequence[Sequence[int]], free: Sequence[int], bank_bits: int
    ) -> tuple[Sequence[int], int]:
        """Return a bank of each free vector, and the nodes of a proof of conflict.

        A pattern that has more words than there are banks is cut to as many; if the
        patterns together allow no bank map, one after the other gives up a bit.
        """
        spaces = []
        for span in spans:
            inside = intersection(span, free)
            coordinates = solve(free, inside)
            assert coordinates is not None, "the meet lies in both"
            spaces.append(coordinates[:bank_bits])
        answer = find_bank_map(spaces, len(free), bank_bits)
        exhausted = answer.nodes if isinstance(answer, NoBankMap) else 0
        for relaxed in _relaxations(spaces):
            if isinstance(answer, BankMap):
                break
            answer = find_bank_map(relaxed, len(free), bank_bits)
        assert isinstance(answer, BankMap), "two subspaces always have a bank map"
        return answer.columns, exhausted

    def _is_repeated(self, vector: int) -> bool:
        """Say whether a vector is a register of every pattern."""
        return all(vector in registers for registers in self.registers)


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """Yield all orders of the patterns, or only the rotations if they are many."""
    if count <= ORDERED_PATTERNS:
        yield from permutations(range(count))
        return
    for start in range(count):
        yield tuple((start + i) % count for i in range(count))


def _prefix_length(vectors: Sequence[int], allowed: Sequence[int]) -> int:
    """Return how many of the first ``vectors`` are allowed."""
    for length, vector in enumerate(vectors):
        if vector not in allowed:
            return length
    return len(vectors)


def _relaxations(spaces: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Yield weaker demands: one vector less of one space, then fewer whole spaces."""
    for position, space in enumerate(spaces):
        for missing in range(len(space)):
            weaker = list(spaces)
            weaker[position] = space[:missing] + space[missing + 1 :]
            yield weaker
    for count in range(len(spaces) - 1, 1, -1):
        yield list(spaces[:count])
