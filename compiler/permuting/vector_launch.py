"""The choice of direction, tile and warps for a ``VectorPlan``, and its constants."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from algebra.gauss import apply, inverse

from .index_map import IndexMap
from .vector_plan import VectorPlan
from .vector_search import Choice, Order, plan_vectors

_LINE_BYTES: Final = (256, 128)
"""Lines, best first: ``benchmarks/permute_tuning.py`` [bytes]."""

_TILE_BYTES: Final = 1 << 14
"""Smaller tiles grow to this, if the map is that large [bytes]."""

_LARGEST_TILE_BYTES: Final = 1 << 16
"""Three of these fit into a multiprocessor's shared memory [bytes]."""

_LARGEST_BLOCK_BITS: Final = 8
_FUSED_BLOCK_BITS: Final = 6
"""What comes in as float32 takes more registers, log2 [elements]."""

_MIRRORED: Final[dict[Order, Order]] = {
    "target": "source",
    "source": "target",
    "both": "both",
    "later": "later",
}
_MAX_WARPS: Final = 16
_LANES: Final = 5
_BANK_BITS: Final = 3
"""Lowest bits of a slot, which choose the banks."""

_LONG_RUN: Final = 3
"""Log2 of the vectors side by side from which stores are whole lines."""


@dataclass(frozen=True, slots=True)
class VectorLaunch:
    """A plan with its direction and warps.

    Attributes:
        plan: The plan; of the inverse map if backward.
        backward: Whether the plan runs from its last step to its first.
        num_warps: Warps of a program.
    """

    plan: VectorPlan
    backward: bool
    num_warps: int

    @property
    def map_bits(self) -> int:
        """Log2 of the map's size [words]."""
        return self.plan.map.bits - self.plan.word_bits

    @property
    def program_bits(self) -> int:
        """Log2 of the programs of one map."""
        return len(self.plan.programs)

    def constants(self) -> dict[str, Any]:
        """Return the value of each constant of the kernel but the layouts."""
        plan = self.plan
        columns, offset = plan.in_thread()
        if self.backward:
            inverted = inverse(columns)
            assert inverted is not None
            columns, offset = inverted, apply(inverted, offset)
        flips = [place * plan.element_bytes for place in plan.flips()]
        low = (1 << plan.vector_bits) - 1

        def words(vectors: "list[int] | tuple[int, ...]") -> tuple[int, ...]:
            return tuple(vector >> plan.word_bits for vector in vectors)

        return {
            "BACKWARD": self.backward,
            "WIDE": self.map_bits > 31,
            "MAP_BITS": self.map_bits,
            "OFFSET": (plan.map.offset & ~low) >> plan.word_bits,
            "LINE_PROGRAMS": words(plan.programs),
            "BLOCK_PROGRAMS": words(plan.images(plan.programs)),
            "ROWS": words(plan.rows),
            "LINE": 1 << plan.line_bits - plan.word_bits,
            "THREADS": words(plan.images(plan.threads)),
            "STORES": words(plan.images(plan.stores)),
            "FLIPS": tuple(flips) if any(flips) else (),
            "COLUMNS": tuple(columns),
            "IN_THREAD_OFFSET": offset,
        }


@lru_cache(maxsize=256)
def plan_vector_launch(
    map: IndexMap, element_bytes: int, order: Order = "target", *, fused: bool = False
) -> VectorLaunch | None:
    """Plan a permutation of elements of 1, 2 or 4 bytes, or None for a small one.

    Args:
        map: The permutation.
        element_bytes: 1, 2 or 4 [bytes].
        order: Which lines programs that run at the same time have in common, on the
            side of the destination: the source's are the target's of the inverse map.
        fused: Forwards, with small blocks. Else the plan runs backwards where the
            inverse map's has longer stretches of lines on its block side.

    Example:
        >>> launch = plan_vector_launch(
        ...     IndexMap(tuple(1 << i for i in reversed(range(20)))), 2)
        >>> launch.backward, launch.num_warps, launch.program_bits
        (False, 8, 6)
        >>> plan_vector_launch(IndexMap((2, 1)), 4) is None
        True
    """
    largest = _FUSED_BLOCK_BITS if fused else _LARGEST_BLOCK_BITS
    choice, backward = _widest(map, element_bytes, order, largest), False
    if not fused and (choice is None or choice.run < _LONG_RUN):
        other = _widest(map.invert(), element_bytes, _MIRRORED[order], largest)
        if other is not None and (choice is None or other.run > choice.run):
            choice, backward = other, True
    if choice is None:
        return None
    plan = choice.plan
    vectors = plan.tile_bits - plan.vector_bits
    warps = min(len(plan.threads), vectors) - _LANES
    if warps < 0:
        return None
    num_warps = min(1 << warps, _MAX_WARPS)
    clear = without_overlap(plan, num_warps)
    return None if clear is None else VectorLaunch(clear, backward, num_warps)


def _widest(
    map: IndexMap, element_bytes: int, order: Order, largest_block: int
) -> Choice | None:
    for line_bytes in _LINE_BYTES:
        choice = plan_vectors(
            map,
            element_bytes,
            line_bits=(line_bytes // element_bytes).bit_length() - 1,
            tile_bits=(_TILE_BYTES // element_bytes).bit_length() - 1,
            largest_block=largest_block,
            order=order,
        )
        if (
            choice is not None
            and element_bytes << choice.plan.tile_bits <= _LARGEST_TILE_BYTES
        ):
            return choice
    return None


def without_overlap(plan: VectorPlan, num_warps: int) -> VectorPlan | None:
    """Return the plan with offsets that Triton's addresses are right for.

    Triton adds register bits of an offset to the address where no thread bit reaches
    theirs, and xors the others. Where register bits of both kinds overlap, release 3.6
    carries. Then each bit of a slot that no thread bit reaches gets a bit of the bank
    added: banks stay as they are, and all register bits are xored. Bits of a word
    within its vector cannot change like that; there an added load takes up another
    one's bits.

    Returns:
        A plan of the same blocks, or None in the rare case that there is none.
    """
    if _overlaps(plan, num_warps):
        plan = _mixed_slots(plan, num_warps)
    if _overlaps(plan, num_warps):
        plan = _mixed_loads(plan, num_warps)
    return None if _overlaps(plan, num_warps) else plan


def _mixed_slots(plan: VectorPlan, num_warps: int) -> VectorPlan:
    for bit in range(_BANK_BITS, len(plan.slots)):
        place = bit + plan.vector_bits - plan.word_bits
        for bank in (None, *range(_BANK_BITS)):
            slots = plan.slots
            if bank is not None:
                slots = tuple(s ^ (s >> bank & 1) << bit for s in slots)
            mixed = replace(plan, slots=slots)
            if all(_reached(mixed, num_warps, step) >> place & 1 for step in (0, 1)):
                plan = mixed
                break
    return plan


def _mixed_loads(plan: VectorPlan, num_warps: int) -> VectorPlan:
    reached = _reached(plan, num_warps, 1)
    offsets = plan.block_offsets()[-len(plan.loads) :] if plan.loads else []
    xored = [v for v, o in zip(plan.loads, offsets, strict=True) if o & reached]
    if not xored:
        return plan
    loads = tuple(
        v if o & reached else v ^ xored[0]
        for v, o in zip(plan.loads, offsets, strict=True)
    )
    return replace(plan, loads=loads)


def _overlaps(plan: VectorPlan, num_warps: int) -> bool:
    for step in (0, 1):
        _, registers = _offsets(plan, num_warps, step)
        reached = _reached(plan, num_warps, step)
        added = [offset for offset in registers if not offset & reached]
        for i, one in enumerate(registers):
            for other in registers[:i]:
                if one & other and (one in added or other in added):
                    return True
    return False


def _reached(plan: VectorPlan, num_warps: int, step: int) -> int:
    """Return the bits of an offset that threads reach."""
    bits = 0
    for offset in _offsets(plan, num_warps, step)[0]:
        bits |= offset
    return bits


def _offsets(
    plan: VectorPlan, num_warps: int, step: int
) -> tuple[list[int], list[int]]:
    """Return the offsets of thread bits and register bits of a step [words]."""
    shift = plan.vector_bits - plan.word_bits
    if step == 0:
        vectors = [slot << shift for slot in plan.slots]
        within = [1 << i for i in range(shift)]
    else:
        vectors, within = plan.thread_offsets(), plan.block_offsets()
    threads = _LANES + num_warps.bit_length() - 1
    return vectors[:threads], [*within, *vectors[threads:]]
