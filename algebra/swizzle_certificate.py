"""What a memory layout costs, what it must cost, and how to check both again.

Lower bounds, for every memory layout of the tile:

* One wavefront of an access that spans ``2**span_rank`` elements touches at least
  ``2**span_rank * element_bits / 32`` words, and serves one word a bank.
* The low offset bits are nested: an access of ``2**k`` elements needs the elements of
  the first ``2**k`` offsets in the registers of every thread. So if pattern i moves
  ``2**k_i`` elements, the k-dimensional space of these elements lies in the registers
  of every pattern with k_i >= k, and k is at most the dimension of their meet. That
  bounds the instructions, hence the wavefronts, of all patterns together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from .bank_conflicts import (
    WORD_BITS,
    LaneTile,
    extra_wavefronts,
    shared_access,
    wavefront_columns,
)
from .bits import log2
from .contiguity import MAX_ACCESS_BITS, largest_vectorisation, vector_of
from .dims import LANE, REGISTER
from .gauss import intersection, rank
from .layout import LinearLayout
from .verdict import Proved, Refuted, Unknown, Verdict
from .wavefronts import simulate_wavefronts

ORDERED_PATTERNS = 5


@dataclass(frozen=True, slots=True)
class AccessFacts:
    """The cost of one pattern, for all registers of a warp.

    Attributes:
        pattern: Distributed layout.
        elements: Elements of one access of a lane.
        lane_tile: Lanes that one wavefront serves.
        instructions: Accesses that move all registers.
        lane_groups: Wavefronts of one access without conflicts.
        conflicts: Extra wavefronts of each of these.
        span_rank: Log2 of the distinct elements of a wavefront.
    """

    pattern: LinearLayout
    elements: int
    lane_tile: LaneTile
    instructions: int
    lane_groups: int
    conflicts: int
    span_rank: int

    @property
    def wavefronts(self) -> int:
        """Wavefronts that move all registers of a warp."""
        return self.instructions * self.lane_groups * (1 + self.conflicts)

    def least_conflicts(self, element_bits: int, banks: int) -> int:
        """Return the conflicts that any memory layout has with this vector."""
        words = (element_bits << self.span_rank) // (WORD_BITS * banks)
        return max(words, 1) - 1


@dataclass(frozen=True, slots=True)
class Certificate:
    """Costs of a memory layout and their lower bounds, checkable without the search.

    Attributes:
        memory: offset, block -> tensor.
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.
        accesses: One entry for each pattern.
        least_wavefronts: Lower bound of the sum of all patterns' wavefronts, for all
            memory layouts.
        exhausted: If not 0: a search of so many nodes has shown that with these
            vectors some pattern must have a conflict.
    """

    memory: LinearLayout
    element_bits: int
    banks: int
    accesses: tuple[AccessFacts, ...]
    least_wavefronts: int
    exhausted: int = 0

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all patterns together."""
        return sum(access.wavefronts for access in self.accesses)

    def check(self) -> Verdict:
        """Verify everything again, lane by lane and without ranks of words.

        Returns:
            ``Proved`` that no memory layout needs fewer wavefronts; ``Refuted`` with
            the first fact that is false; ``Unknown`` if the facts are true but the
            lower bound isn't reached.
        """
        for position, access in enumerate(self.accesses):
            false_fact = self._false_fact(access)
            if false_fact:
                return Refuted(f"pattern {position}: {false_fact}")
        least = least_total_wavefronts(
            [access.pattern for access in self.accesses], self.element_bits, self.banks
        )
        if least != self.least_wavefronts:
            return Refuted(f"the lower bound is {least}, not {self.least_wavefronts}")
        if self.wavefronts == least:
            return Proved("nested offsets and counted words", (("wavefronts", least),))
        if all(
            access.conflicts == access.least_conflicts(self.element_bits, self.banks)
            for access in self.accesses
        ):
            return Unknown(
                f"no access has a conflict more than it must, but {self.wavefronts} "
                f"wavefronts are above the lower bound {least}"
            )
        searched = (
            f"a search of {self.exhausted} nodes found none with these vectors"
            if self.exhausted
            else "the search for a better one was cut"
        )
        return Unknown(f"{self.wavefronts} wavefronts, lower bound {least}; {searched}")

    def _false_fact(self, access: AccessFacts) -> str:
        """Return the first wrong entry of one pattern in words, or nothing."""
        pattern, elements = access.pattern, access.elements
        if vector_of(shared_access(pattern, self.memory), elements) is None:
            return f"{elements} elements are not contiguous in every thread"
        conflicts = simulate_wavefronts(
            pattern,
            self.memory,
            self.element_bits,
            elements,
            self.banks,
            access.lane_tile,
        )
        if conflicts != access.conflicts:
            return f"{conflicts} conflicts are simulated, not {access.conflicts}"
        held = 1 << rank(pattern.in_columns(REGISTER))
        if access.instructions * elements != held:
            return f"{access.instructions} x {elements} elements, but {held} are held"
        groups = pattern.get_in_dim_size(LANE) >> len(access.lane_tile.lanes)
        if groups != access.lane_groups:
            return f"an access has {groups} lane groups, not {access.lane_groups}"
        return ""


def least_total_wavefronts(
    patterns: Sequence[LinearLayout], element_bits: int, banks: int
) -> int:
    """Return a lower bound of the wavefronts of all patterns, for any memory layout.

    The patterns are ordered by their vectors in the best of all possible ways; more
    than five patterns are bounded one by one.

    Law: at most ``swizzle_for(patterns, element_bits, banks).certificate.wavefronts``.

    Args:
        patterns: Distributed layouts over one tensor.
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.

    Source: theorem ``low_offsets_are_nested``.
    """
    cap = max(0, log2(MAX_ACCESS_BITS) - log2(element_bits))
    registers = [
        [column for column in pattern.in_columns(REGISTER) if column]
        for pattern in patterns
    ]

    def cost(position: int, vector_bits: int) -> int:
        vector_bits = min(vector_bits, cap)
        words = max(0, vector_bits + log2(element_bits) - log2(WORD_BITS))
        groups = _lane_groups(patterns[position], vector_bits, element_bits, banks)
        accesses = 1 << max(0, rank(registers[position]) - vector_bits)
        return accesses * groups << max(0, words - log2(banks))

    everyone = range(len(patterns))
    if len(patterns) > ORDERED_PATTERNS:
        return sum(cost(i, rank(registers[i])) for i in everyone)
    totals = []
    for order in permutations(everyone):
        total = 0
        for start, position in enumerate(order):
            meet = registers[position]
            for wider in order[start + 1 :]:
                meet = intersection(meet, registers[wider])
            total += cost(position, rank(meet))
        totals.append(total)
    return min(totals)


def certify(
    patterns: Sequence[LinearLayout],
    memory: LinearLayout,
    element_bits: int,
    banks: int,
    lane_tiles: Sequence[LaneTile | None],
    *,
    exhausted: int = 0,
) -> Certificate:
    """State what the accesses to any memory cost, by ranks, and what they must cost.

    Law: ``certify(...).check()`` is never ``Refuted``.

    Args:
        patterns: Distributed layouts over one tensor.
        memory: offset, block -> tensor.
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.
        lane_tiles: For each pattern the lanes of its widest access, or None.
        exhausted: Nodes of a proof that these vectors must conflict, or 0.
    """
    facts = []
    for pattern, tile in zip(patterns, lane_tiles, strict=True):
        access = shared_access(pattern, memory)
        vector = largest_vectorisation(access, element_bits)
        vector_bits = len(vector.registers)
        lanes = pattern.get_in_dim_size_log2(LANE)
        served = served_lanes(lanes, vector_bits, element_bits, banks, tile)
        columns = wavefront_columns(
            access, element_bits, vector.elements, banks, served
        )
        facts.append(
            AccessFacts(
                pattern,
                vector.elements,
                served,
                instructions=1 << rank(pattern.in_columns(REGISTER)) - vector_bits,
                lane_groups=1 << lanes - len(served.lanes),
                conflicts=extra_wavefronts(columns, element_bits, banks),
                span_rank=rank(columns),
            )
        )
    least = least_total_wavefronts(patterns, element_bits, banks)
    return Certificate(memory, element_bits, banks, tuple(facts), least, exhausted)


def served_lanes(
    lanes: int,
    vector_bits: int,
    element_bits: int,
    banks: int,
    tile: LaneTile | None = None,
) -> LaneTile:
    """Return the lanes of one wavefront: as many as fill a row of banks.

    Args:
        lanes: Lane bits of the pattern.
        vector_bits: Log2 of the elements of an access.
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.
        tile: Other lanes than the lowest ones, used where their number fits.

    Example:
        >>> served_lanes(5, 3, 16, 32).lane_addr
        (0, 1, 2)
    """
    words = max(0, vector_bits + log2(element_bits) - log2(WORD_BITS))
    count = max(0, log2(banks) - words)
    if tile is not None and len(tile.lane_addr) == count:
        return tile
    return LaneTile((), tuple(range(min(lanes, count))))


def _lane_groups(
    pattern: LinearLayout, vector_bits: int, element_bits: int, banks: int
) -> int:
    """Return the wavefronts of one access without conflicts."""
    lanes = pattern.get_in_dim_size_log2(LANE)
    served = served_lanes(lanes, vector_bits, element_bits, banks)
    return 1 << lanes - len(served.lanes)
