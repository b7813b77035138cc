"""A lower bound of the shared-memory unit's cycles for a conversion by any plan.

What a thread wants and does not hold comes by shuffles or loads, a word of each lane in
a cycle: so a warp takes as many cycles as its neediest lane wants words. What a warp
holds alone and another one wants is stored before, 32 words in a cycle.

A place's element is held by its own thread if it lies in the thread's coset of the
span of the source's register columns. Modulo that span, what a thread is away from its
own elements is an affine function of the place, so counting is a matter of ranks.
"""

import math
from collections.abc import Sequence

from algebra.affine import AffineLayout
from algebra.gauss import Echelon, rank

from .copies import without_copies
from .hardware import Layout, check_same_tensor, distributed, hardware_of

WORD_BITS = 32


def least_cycles(src: Layout, dst: Layout, element_bits: int) -> float:
    """Return the least cycles of the memory unit, for one warp in the mean [cycles].

    Args:
        src: Source layout, of one block.
        dst: Destination layout of the same tensor on the same threads.
        element_bits: Size of an element [bits].

    Raises:
        DimMismatchError: the tensors, or the numbers of threads, differ.
        UnsupportedLayoutError: a layout isn't distributed.

    Example:
        >>> from algebra import LinearLayout
        >>> src, dst = (LinearLayout.from_bases(
        ...     {"register": [[a]], "lane": [[b], [4], [8], [16], [32]]}, ["dim0"])
        ...     for a, b in ((1, 2), (2, 1)))
        >>> least_cycles(src, dst, 32), least_cycles(src, src, 32)
        (1.0, 0.0)
    """
    whole = distributed(src, "src")
    near = without_copies(whole)[1]
    far = without_copies(check_same_tensor(whole, distributed(dst, "dst")))[1]
    return _fetched(near, far, element_bits) + _stored(near, far, element_bits)


def _fetched(src: AffineLayout, dst: AffineLayout, element_bits: int) -> float:
    """Return the cycles that bring a warp what its threads lack."""
    here = hardware_of(dst)
    held = Echelon(src.linear.columns[: hardware_of(src).registers])
    registers, lanes, outer, start = _away(dst, src, held)
    words = (element_bits << here.registers) / WORD_BITS
    own = rank(registers)
    if rank([*registers, *lanes]) > own:
        return math.ceil(words)  # some lane of each warp holds nothing that it wants
    return _mean(words, registers, outer, start)


def _stored(src: AffineLayout, dst: AffineLayout, element_bits: int) -> float:
    """Return the cycles that store what other warps want."""
    here, there = hardware_of(src), hardware_of(dst)
    words = (element_bits << here.registers + here.lanes) / WORD_BITS**2
    if src.linear.is_injective:
        # what a warp holds and does not want itself, another one wants
        wanted = Echelon(dst.linear.columns[: there.registers + there.lanes])
        registers, lanes, outer, start = _away(src, dst, wanted)
        return _mean(words, [*registers, *lanes], outer, start)
    held = Echelon(src.linear.columns[: here.registers + here.lanes])
    registers, lanes, outer, start = _away(dst, src, held)
    every = [*registers, *lanes, *outer]
    stays = 0.0 if lies_outside(every, start) else 2.0 ** -rank(every)
    total = (element_bits << rank(src.linear.columns)) / WORD_BITS**2
    return total * (1 - stays) / (1 << here.warps)


def _away(
    side: AffineLayout, other: AffineLayout, held: Echelon
) -> tuple[list[int], list[int], list[int], int]:
    """Return how far a side's places are from the other's of the same thread.

    Returns:
        Columns of registers, lanes and the rest, and where place zero is.
    """
    here, there = hardware_of(side), hardware_of(other)
    columns = list(side.linear.columns)
    for bit in range(here.threads):
        columns[here.registers + bit] ^= other.linear.columns[there.registers + bit]
    less = [held.reduce(column)[0] for column in columns]
    start = held.reduce(side.packed_offset ^ other.packed_offset)[0]
    first, last = here.registers, here.registers + here.lanes
    return less[:first], less[first:last], less[last:], start


def lies_outside(columns: Sequence[int], start: int) -> bool:
    """Return whether no place is at home: the start lies outside of the span.

    Example:
        >>> lies_outside([1, 2], 3), lies_outside([1, 2], 4)
        (False, True)
    """
    return rank([*columns, start]) > rank(columns)


def _mean(
    words: float, inner: Sequence[int], outer: Sequence[int], start: int
) -> float:
    """Return the mean over warps of the words that are not at home, rounded up in each.

    Where a warp has some at home, it is the same share in all such warps.
    """
    every = [*inner, *outer]
    if lies_outside(every, start):
        return math.ceil(words)
    share = 2.0 ** (rank(inner) - rank(every))
    partly = math.ceil(words * (1 - 2.0 ** -rank(inner)))
    return share * partly + (1 - share) * math.ceil(words)
