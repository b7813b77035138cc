"""The search for a ``VectorPlan``: a few choices, each made by linear algebra.

Some maps flip bits within vectors from one vector to the next (A has a row below v with
ones where the tile has none). Then the directions that do are added to the tile, so
that the bases of programs can be chosen aligned on both sides.

The width of step 2's accesses, u, is the widest that keeps a warp's stores long: a
thread that starts elsewhere in its access than its neighbours would have to store to
another line than they. Within a word that does not matter, since bytes of words are
picked by selectors that a thread computes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, get_args

from algebra.bank_map import BankMap, find_bank_map
from algebra.gauss import apply, inverse, kernel, solve

from .index_map import IndexMap
from .spans import Span
from .vector_plan import VECTOR_BYTES, WORD_BYTES, VectorPlan

_GROUP_BITS: Final = 3
"""Vectors of 16 bytes in a row of banks, log2."""


Order = Literal["target", "source", "both", "later"]
"""Programs walk along destination lines, source lines, both in turn, or destination
lines from a later bit on. Which one memory likes best is a matter of measurement."""

ORDERS: Final[tuple[Order, ...]] = get_args(Order)
_LATER: Final = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan and what it costs beyond its bytes.

    Attributes:
        run: Log2 of the vectors that a warp stores side by side, at most 3.
        conflicts: Log2 of the wavefronts of an access in step 2.
        plan: The plan.
    """

    run: int
    conflicts: int
    plan: VectorPlan


@lru_cache(maxsize=256)
def plan_vectors(
    map: IndexMap,
    element_bytes: int,
    *,
    line_bits: int,
    tile_bits: int = 0,
    largest_block: int = 8,
    order: Order = "target",
) -> Choice | None:
    """Plan a permutation by vectors, or return None where the map is too small.

    Args:
        map: The permutation.
        element_bytes: 1, 2 or 4 [bytes].
        line_bits: Log2 of the line, at least eight vectors [elements].
        tile_bits: Smaller tiles grow along destination lines [bits].
        largest_block: Log2 of what a thread holds at most [elements].
        order: Which lines programs that run at the same time have in common.

    Example:
        >>> reversal = IndexMap(tuple(1 << i for i in reversed(range(20))))
        >>> choice = plan_vectors(reversal, 4, line_bits=5)
        >>> choice.run, choice.conflicts, choice.plan.tile_bits, choice.plan.block_bits
        (3, 0, 10, 4)
        >>> plan_vectors(IndexMap((2, 1)), 4, line_bits=5) is None
        True
    """
    if map.bits < max(line_bits + _GROUP_BITS, tile_bits):
        return None
    sides = _Sides.of(map, element_bytes)
    low = (1 << line_bits) - 1
    line = [1 << i for i in range(line_bits)]
    further = [*sides.back[line_bits:], *(1 << i for i in range(line_bits, map.bits))]
    tile = Span([*line, *sides.back[:line_bits]])
    tile.cover(further, sides.starts((1 << sides.vector_bits) - 1))
    for vector in further:
        if len(tile) < tile_bits:
            tile.add(vector)
    rows = Span(vector & ~low for vector in tile.vectors).vectors
    programs = tuple(_programs(tile, _ordered(order, sides, len(line)), sides))
    choices = []
    for access_bits in range(sides.vector_bits, sides.word_bits - 1, -1):
        block = sides.block(tile, access_bits)
        lanes = sides.lanes(block, line_bits)
        starts = (1 << access_bits) - (1 << sides.word_bits)
        largest = min(2 * sides.vector_bits, largest_block, len(tile))
        if len(block) > largest or any(vector & starts for vector in lanes):
            continue
        along = sides.back[sides.vector_bits : line_bits][:_GROUP_BITS]
        plan = VectorPlan(
            map=map,
            element_bytes=element_bytes,
            line_bits=line_bits,
            rows=tuple(rows),
            threads=tuple(_threads(block, [*lanes, *rows, *line], sides, access_bits)),
            loads=tuple(Span(v & -(1 << access_bits) for v in block.vectors).vectors),
            stores=tuple(Span(sides.vector_start(v) for v in block.vectors).vectors),
            access_bits=access_bits,
            slots=(),
            programs=programs,
        )
        run = next((i for i, v in enumerate(along) if v in block), len(along))
        choices.append(_with_slots(plan, run))
    return min(choices, key=lambda c: (-c.run, c.conflicts), default=None)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The map seen from both sides.

    Attributes:
        map: The permutation.
        back: Columns of the inverse matrix.
        vector_bits: Log2 of a vector [elements].
        word_bits: Log2 of a word [elements].
    """

    map: IndexMap
    back: tuple[int, ...]
    vector_bits: int
    word_bits: int

    @classmethod
    def of(cls, map: IndexMap, element_bytes: int) -> "_Sides":
        back = inverse(map.columns)
        assert back is not None
        vector_bits = (VECTOR_BYTES // element_bytes).bit_length() - 1
        word_bits = (WORD_BYTES // element_bytes).bit_length() - 1
        return cls(map, tuple(back), vector_bits, word_bits)

    def starts(self, source_mask: int) -> Callable[[int], int]:
        """Return the map to the bits that are zero where both sides are aligned."""
        target_mask = (1 << self.vector_bits) - 1

        def bits(vector: int) -> int:
            target = self.map.apply_linear(vector) & target_mask
            return (vector & source_mask) << self.vector_bits | target

        return bits

    def access_starts(self, access_bits: int) -> Callable[[int], int]:
        """Return the same for accesses to shared memory: words only."""
        return self.starts((1 << access_bits) - (1 << self.word_bits))

    def block(self, tile: Span, access_bits: int) -> Span:
        units = (1 << i for i in range(access_bits))
        block = Span([*self.back[: self.vector_bits], *units])
        block.cover(tile.vectors, self.access_starts(access_bits))
        return block

    def lanes(self, block: Span, line_bits: int) -> list[int]:
        """Return the vectors of a destination line that are not in one block."""
        return [v for v in self.back[self.vector_bits : line_bits] if v not in block]

    def vector_start(self, vector: int) -> int:
        """Return ``vector`` moved to the start of its destination vector."""
        low = self.map.apply_linear(vector) & (1 << self.vector_bits) - 1
        return vector ^ apply(self.back, low)


def _ordered(order: Order, sides: _Sides, line_bits: int) -> list[int]:
    """Return vectors that complete a tile, in the order that programs take them."""
    source = [1 << i for i in range(line_bits, sides.map.bits)]
    target = list(sides.back[line_bits:])
    if order == "source":
        return [*source, *target]
    if order == "both":
        return [v for pair in zip(source, target, strict=True) for v in pair]
    if order == "later":
        target = target[_LATER:] + target[:_LATER]
    return [*target, *source]


def _programs(tile: Span, further: Sequence[int], sides: _Sides) -> Iterator[int]:
    starts = sides.starts((1 << sides.vector_bits) - 1)
    covered = Span(tile.vectors)
    for vector in further:
        if covered.add(vector):
            yield tile.aligned(vector, starts)


def _threads(
    block: Span, candidates: Sequence[int], sides: _Sides, access_bits: int
) -> list[int]:
    """Return a basis of the blocks: first along destination lines, as banks allow.

    The first three bits stay. Accesses narrower than a vector serve more lanes at a
    time, which must differ within source vectors to reach all banks.
    """
    starts = sides.access_starts(access_bits)
    covered = Span(block.vectors)
    threads = [block.aligned(v, starts) for v in candidates if covered.add(v)]
    mask = (1 << sides.vector_bits) - (1 << access_bits)
    first, rest = threads[:_GROUP_BITS], threads[_GROUP_BITS:]
    reached = Span(vector & mask for vector in first)
    raising = [vector for vector in rest if reached.add(vector & mask)]
    others = [vector for vector in rest if vector not in raising]
    free = max(sides.vector_bits - access_bits - len(raising), 0)
    return [*first, *others[:free], *raising, *others[free:]]


def _with_slots(plan: VectorPlan, run: int) -> Choice:
    """Return the plan with slots, and what remains of bank conflicts."""
    size = plan.tile_bits - plan.vector_bits
    lanes = plan.threads[: _GROUP_BITS + plan.vector_bits - plan.access_bits]
    mask = (1 << plan.vector_bits) - (1 << plan.access_bits)
    reading = [
        plan.coordinates(apply(lanes, lane)) >> plan.vector_bits
        for lane in kernel([lane & mask for lane in lanes])
    ]
    writing = [1 << i for i in range(_GROUP_BITS)]
    banks = find_bank_map([writing, reading[:_GROUP_BITS]], size, _GROUP_BITS)
    assert isinstance(banks, BankMap), "two subspaces have a common complement"
    within = kernel(banks.columns)
    units = solve([*writing, *within], [1 << i for i in range(size)])
    assert units is not None, "the lanes of step 1 have banks of their own"
    places = [
        *(apply(banks.columns, vector) for vector in writing),
        *(1 << (_GROUP_BITS + i) for i in range(len(within))),
    ]
    slots = tuple(apply(places, unit) for unit in units)
    return Choice(
        run=run,
        conflicts=max(len(reading) - _GROUP_BITS, 0),
        plan=replace(plan, slots=slots),
    )
