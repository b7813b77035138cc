"""Shared-memory layouts that serve several access patterns without bank conflicts.

A tile is written in one layout and read in others (a conversion; B and its transpose).
Each access pattern spans a subspace A of element indices: the registers of its vector
and the lanes of one wavefront. A memory layout matters only through two subspaces:
the elements W of word 0, and the elements K of bank 0, W inside K. By the rank law an
access has ``2**dim(A & K) / 2**dim(A & W) - 1`` extra wavefronts, so it has none when
A meets K only in W.

The memory is chosen from the lowest offset bits up:

1. *vector*: registers that all patterns share, up to 128 bits. More registers of one
   pattern may follow, which makes its accesses wider; below one word this is the only
   way to save wavefronts, and by the nesting of the low offsets no layout can give it
   to two patterns that share no register.
2. *bank* and *segment*: a bank map that is injective on every A / W
   (``find_bank_map``). For two patterns it always exists, so the conversion has no
   conflicts at all; segments (the rest) are its kernel.

Triton chooses segments from single bits and sums of two; in the cases where no
register is shared and a word holds several elements it may leave a conflict that isn't
necessary. The result carries a ``Certificate`` that proves it optimal, or says what
isn't proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .arguments import expect_layout
from .bank_conflicts import LaneTile
from .dims import LANE, REGISTER
from .errors import DimMismatchError, OutOfRangeError, UnsupportedLayoutError
from .layout import LinearLayout
from .swizzle_certificate import Certificate, certify
from .swizzle_search import Tile


@dataclass(frozen=True, slots=True)
class Swizzling:
    """A memory layout for a tile, and the proof of how good it is.

    Attributes:
        memory: offset, block -> tensor, invertible but for broadcast blocks.
        vector_bits: Low offset bits that every pattern moves in one access.
        rep_bits: Top offset bits that are registers of every pattern: a tile of
            ``2**-rep_bits`` of the memory suffices if it is stored and loaded in turns.
        certificate: Conflicts and wavefronts of each pattern, and their lower bounds.
    """

    memory: LinearLayout
    vector_bits: int
    rep_bits: int
    certificate: Certificate

    @property
    def conflicts(self) -> tuple[int, ...]:
        """Extra wavefronts of one access of each pattern."""
        return tuple(facts.conflicts for facts in self.certificate.accesses)


def optimal_swizzle(
    src: LinearLayout,
    dst: LinearLayout,
    element_bits: int,
    banks: int = 32,
    lane_tiles: Sequence[LaneTile | None] = (),
    *,
    even: bool = False,
) -> Swizzling:
    """Return the memory layout through which ``src`` is best converted to ``dst``.

    Law: both conflict counts are 0, and the certificate's total of wavefronts is the
    least that any memory layout has, for warps whose lanes hold distinct elements.

    Args:
        src: Layout that stores: register, lane, warp, block -> tensor.
        dst: Layout that loads, with the same out-dims.
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.
        lane_tiles: As in ``swizzle_for``.
        even: As in ``swizzle_for``.

    Raises:
        DimMismatchError: a dim is missing, or the tensors differ.
        NotPowerOfTwoError: ``element_bits`` or ``banks`` isn't a power of two.
        UnsupportedLayoutError: a lane tile is one of a matrix instruction.

    Example:
        >>> rows = LinearLayout.from_bases(
        ...     {"register": [[0, 1 << i] for i in range(5)],
        ...      "lane": [[1 << i, 0] for i in range(5)]}, ["dim0", "dim1"])
        >>> columns = LinearLayout.from_bases(
        ...     {"register": [[1 << i, 0] for i in range(5)],
        ...      "lane": [[0, 1 << i] for i in range(5)]}, ["dim0", "dim1"])
        >>> optimal_swizzle(rows, columns, 32).conflicts
        (0, 0)

    Source: Triton ``optimalSwizzling``; theorem
    ``two_subspaces_have_a_common_complement``.
    """
    expect_layout("src", src)
    expect_layout("dst", dst)
    return swizzle_for([src, dst], element_bits, banks, lane_tiles, even=even)


def swizzle_for(
    patterns: Sequence[LinearLayout],
    element_bits: int,
    banks: int = 32,
    lane_tiles: Sequence[LaneTile | None] = (),
    *,
    even: bool = False,
) -> Swizzling:
    """Return one memory layout for any number of access patterns of a tile.

    Read B transposed by passing its layout with the two out-dims exchanged.

    Law: ``certificate.check()`` is never ``Refuted``; it is ``Proved`` where the total
    of wavefronts meets its lower bound.

    Args:
        patterns: Distributed layouts over the same tensor; one at least.
        element_bits: Size of an element [bits].
        banks: Number of 32-bit banks.
        lane_tiles: For each pattern the lanes of a wavefront of its widest access, or
            None; default: the lowest lanes that fill one row of banks, for all.
        even: Whether the vector is only of registers that all patterns share, so that
            none has wider accesses than another: more of them, but the first word of
            each comes earlier.

    Raises:
        DimMismatchError: there is no pattern, a dim is missing, the tensors differ, or
            ``lane_tiles`` doesn't fit.
        NotPowerOfTwoError: ``element_bits`` or ``banks`` isn't a power of two.
        UnsupportedLayoutError: a lane tile is one of a matrix instruction; pass
            ``row_access`` of the pattern instead.
    """
    _check_patterns(patterns)
    _check_tiles(patterns, lane_tiles)
    lane_tiles = lane_tiles or [None] * len(patterns)
    tile = Tile(patterns, element_bits, banks, lane_tiles, even=even)
    best: Swizzling | None = None
    for plan in sorted(tile.plans(), key=tile.estimate):
        if best is not None and _cost(best) <= tile.estimate(plan):
            break
        memory = tile.build(plan)
        swizzling = Swizzling(
            memory.layout,
            min(plan.vector_bits),
            memory.rep_bits,
            certify(
                patterns,
                memory.layout,
                element_bits,
                banks,
                lane_tiles,
                exhausted=memory.exhausted,
            ),
        )
        if best is None or _cost(swizzling) < _cost(best):
            best = swizzling
    assert best is not None, "the plan without an extension always exists"
    return best


def _check_patterns(patterns: Sequence[LinearLayout]) -> None:
    """Refuse patterns that aren't distributed layouts over one tensor."""
    if not patterns:
        raise DimMismatchError("a swizzle needs one access pattern at least, got []")
    for position, pattern in enumerate(patterns):
        if not {REGISTER, LANE} <= set(pattern.in_names):
            raise DimMismatchError(
                "an access pattern needs the in-dims ['register', 'lane'], got "
                f"in_dims={list(pattern.in_names)} at position {position}",
                position=position,
                in_dims=pattern.in_names,
            )
        if pattern.out_dims != patterns[0].out_dims:
            raise DimMismatchError(
                f"access patterns must have one tensor: out_dims={patterns[0].out_dims}"
                f" at position 0, {pattern.out_dims} at position {position}",
                position=position,
            )


def _check_tiles(
    patterns: Sequence[LinearLayout], lane_tiles: Sequence[LaneTile | None]
) -> None:
    """Refuse lane tiles that don't fit the patterns."""
    if lane_tiles and len(lane_tiles) != len(patterns):
        raise DimMismatchError(
            f"lane_tiles needs one entry for each of the {len(patterns)} patterns, "
            f"got {len(lane_tiles)}",
            needed=len(patterns),
            got=len(lane_tiles),
        )
    for pattern, tile in zip(patterns, lane_tiles, strict=False):
        if tile is None:
            continue
        if tile.lane_contig:
            raise UnsupportedLayoutError(
                "a lane tile lists the lanes of a wavefront that address words, got "
                f"lane_contig={tile.lane_contig}; pass row_access(pattern) instead",
                lane_contig=tile.lane_contig,
            )
        if any(lane >= pattern.get_in_dim_size_log2(LANE) for lane in tile.lane_addr):
            raise OutOfRangeError(
                f"the pattern has {pattern.get_in_dim_size_log2(LANE)} lane bits, got "
                f"lane_addr={tile.lane_addr}",
                lane_addr=tile.lane_addr,
            )


def _cost(swizzling: Swizzling) -> tuple[int, int]:
    """Return (wavefronts, instructions) of all patterns."""
    facts = swizzling.certificate.accesses
    return (
        sum(access.wavefronts for access in facts),
        sum(access.instructions for access in facts),
    )
