"""Parts of a tile that go through shared memory one after the other.

A repetition is a functional of the elements: 0 for those that are in memory first. All
threads must take part in each, so it vanishes on what lanes and warps select on both
sides, and is decided by a thread's registers alone. It also vanishes on the elements of
16 bytes of memory, so that accesses stay whole. One offset bit above the banks is
replaced by it, which leaves all other offset bits of every element as they were: the
same vectors, the same banks, the same number of wavefronts.
"""

from collections.abc import Sequence

from algebra.bits import log2, set_bits
from algebra.dims import BLOCK, OFFSET, REGISTER
from algebra.gauss import Echelon, kernel
from algebra.layout import LinearLayout

WORD_BITS = 32
WIDEST_ACCESS = 128


def with_repetitions(
    memory: LinearLayout,
    sides: Sequence[LinearLayout],
    wanted: int,
    element_bits: int,
    banks: int,
) -> tuple[LinearLayout, int]:
    """Return a memory whose top offset bits are repetitions, and how many there are.

    Law: the offset bits below the repetitions are those of ``memory``, less some bits
    above the banks; repetitions of a side's place depend on its register only.

    Args:
        memory: offset, block -> tensor.
        sides: Layouts that store and load: register, lane, warp, block -> tensor.
        wanted: Log2 of the repetitions, if that many can be had [bits].
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.
    """
    if not wanted:
        return memory, 0
    bits = memory.get_in_dim_size_log2(OFFSET)
    echelon = Echelon(memory.columns)
    fixed = [
        echelon.reduce(column)[1] & (1 << bits) - 1
        for side in sides
        for name in side.in_names
        if name not in (REGISTER, BLOCK)
        for column in side.in_columns(name)
    ]
    low = log2(WIDEST_ACCESS) - log2(element_bits)
    segment = log2(banks * WORD_BITS) - log2(element_bits)
    # bit i of the offset, as the constraints that it takes part in
    rows = [
        sum((column >> bit & 1) << place for place, column in enumerate(fixed))
        for bit in range(low, bits)
    ]
    found = [functional << low for functional in kernel(rows)]
    chosen = _reduced(sorted(found, reverse=True), segment)[:wanted]
    pivots = [pivot for pivot, _ in chosen]
    columns = list(memory.columns)
    made = []
    for bit in range(bits):
        if bit not in pivots:
            column = columns[bit]
            for pivot, functional in chosen:
                column ^= columns[pivot] if functional >> bit & 1 else 0
            made.append(column)
    made += [columns[pivot] for pivot in pivots] + columns[bits:]
    layout = LinearLayout.from_columns(
        dict(zip(memory.in_names, memory.in_bits, strict=True)),
        dict(zip(memory.out_names, memory.out_bits, strict=True)),
        made,
    )
    return layout, len(chosen)


def _reduced(functionals: Sequence[int], segment: int) -> list[tuple[int, int]]:
    """Return (pivot, functional): each has its pivot, above the banks, alone."""
    found: list[tuple[int, int]] = []
    for functional in functionals:
        for pivot, other in found:
            functional ^= other if functional >> pivot & 1 else 0
        if not functional >> segment:
            continue
        own = max(set_bits(functional))
        found = [
            (pivot, other ^ (functional if other >> own & 1 else 0))
            for pivot, other in found
        ]
        found.append((own, functional))
    return found
