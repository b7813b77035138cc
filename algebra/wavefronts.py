"""A lane-by-lane simulation of shared memory: the rank law's independent judge.

Nothing here knows that layouts are linear. Every hardware point is evaluated, its
element is looked up in a table of all memory offsets, and the distinct words that the
lanes of a wavefront want are counted bank by bank. Slow, and meant to be.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

from .arguments import expect_layout
from .bank_conflicts import WORD_BITS, LaneTile
from .dims import LANE, OFFSET
from .errors import UnsupportedLayoutError
from .layout import LinearLayout


def simulate_wavefronts(
    distributed: LinearLayout,
    shared: LinearLayout,
    element_bits: int,
    vector: int = 1,
    banks: int = 32,
    lane_tile: LaneTile | None = None,
) -> int:
    """Count the extra wavefronts of the worst access by enumerating all lanes.

    Args:
        distributed: register, lane, warp, block -> tensor.
        shared: offset, block -> tensor.
        element_bits: Size of an element [bits].
        vector: Elements that a lane moves in one access.
        banks: Number of 32-bit banks.
        lane_tile: Lanes that are served together; default: as many of the lowest ones
            as fill one row of banks. Only tiles of addresses (no ``lane_contig``).

    Returns:
        The largest number of words that one bank must serve in a wavefront, less 1.

    Raises:
        UnsupportedLayoutError: ``lane_tile`` has lanes that share a row.

    Example:
        >>> shared = LinearLayout.identity_1d(64, "offset", "dim0")
        >>> odd_even = LinearLayout.from_bases(
        ...     {"register": [[1]], "lane": [[2], [4], [8], [16], [32]]}, ["dim0"])
        >>> simulate_wavefronts(odd_even, shared, 32)
        1
        >>> simulate_wavefronts(odd_even, shared, 32, vector=2)
        0
    """
    expect_layout("distributed", distributed)
    expect_layout("shared", shared)
    if lane_tile is not None and lane_tile.lane_contig:
        raise UnsupportedLayoutError(
            "the simulation serves lanes with an address each, "
            f"got lane_contig={lane_tile.lane_contig}",
            lane_contig=lane_tile.lane_contig,
        )
    offset_of: dict[tuple[int, ...], int] = {}
    for place in _points(shared):
        element = _element(shared, place, distributed.get_out_dim_names())
        offset_of.setdefault(element, place[OFFSET])
    lanes = distributed.get_in_dim_size(LANE)
    groups = _lane_groups(lanes, max(vector * element_bits // WORD_BITS, 1), banks)
    if lane_tile is not None and lane_tile.lane_addr:
        groups = _tile_groups(lanes, lane_tile.lane_addr)
    worst = 0
    for point in _points(distributed):
        if point[LANE]:
            continue
        for group in groups:
            words: set[int] = set()
            for lane in group:
                element = _element(
                    distributed,
                    point | {LANE: lane},
                    distributed.get_out_dim_names(),
                )
                start = offset_of[element] // vector * vector
                first = start * element_bits // WORD_BITS
                last = ((start + vector) * element_bits - 1) // WORD_BITS
                words.update(range(first, last + 1))
            worst = max(worst, *Counter(word % banks for word in words).values())
    return worst - 1


def _points(layout: LinearLayout) -> Iterator[dict[str, int]]:
    """Enumerate all inputs, the first in-dim fastest."""
    names = layout.get_in_dim_names()
    ranges = [range(layout.get_in_dim_size(name)) for name in reversed(names)]
    for values in product(*ranges):
        yield dict(zip(reversed(names), values, strict=True))


def _element(
    layout: LinearLayout, point: dict[str, int], names: Sequence[str]
) -> tuple[int, ...]:
    """Return the coordinates of a point in a fixed order of the out-dims."""
    coordinates = layout.apply(point)
    return tuple(coordinates[name] for name in names)


def _lane_groups(lanes: int, words: int, banks: int) -> list[list[int]]:
    """Cut the lanes to runs that want at most one row of banks."""
    run = max(banks // words, 1)
    return [
        list(range(start, min(start + run, lanes))) for start in range(0, lanes, run)
    ]


def _tile_groups(lanes: int, tile: Sequence[int]) -> list[list[int]]:
    """Group the lanes that differ in the bits of the tile only."""
    mask = sum(1 << bit for bit in tile)
    groups: dict[int, list[int]] = {}
    for lane in range(lanes):
        groups.setdefault(lane & ~mask, []).append(lane)
    return list(groups.values())
