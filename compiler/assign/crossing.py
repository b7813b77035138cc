"""Layouts that suit two accesses at once whose lines lie across each other.

Where one array is transposed, a layout with long lines of one access cuts those of the
other into pieces. A thread that holds a small square instead, a vector along each line,
reads vectors of both; lanes are shared between the two lines. Nothing has to move
between threads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from algebra.gauss import apply, inverse
from algebra.layout import LinearLayout
from compiler.ir.tile import Tile

from .access import Access
from .laws import bits_of, layout_of, with_columns


@dataclass(frozen=True, slots=True)
class Crossing:
    """An access, and another one whose elements the same tile holds.

    Attributes:
        access: Of the tile.
        other: Of another tile.
        there: Element of the tile, packed -> element of the other, packed: an image
            for each bit.
    """

    access: Access
    other: Access
    there: tuple[int, ...]

    def line(self) -> list[int]:
        """Return the bits along the other's line, as elements of the tile."""
        back = inverse(self.there)
        assert back is not None, "one element for each"
        return [apply(back, 1 << bit) for bit in self.other.line()]

    def is_across(self) -> bool:
        """Return whether the other's line leaves that of the access at once."""
        mine = sum(1 << bit for bit in self.access.line())
        other = self.line()
        single = all(column & column - 1 == 0 for column in other)
        return bool(mine and other and single) and not any(c & mine for c in other)

    def cost(self, layout: LinearLayout) -> float:
        """Return what both accesses take with a layout of the tile [cycles]."""
        columns = [apply(self.there, column) for column in layout.columns]
        moved = with_columns(layout, self.other.shape, columns)
        return self.access.cost(layout) + self.other.cost(moved)


def crossing(
    left: Access, source: LinearLayout, right: Access, target: LinearLayout
) -> Crossing | None:
    """Return how two accesses lie across each other, None if they do not.

    Args:
        left: An access.
        source: Layout of its tile that holds each element once.
        right: Another access.
        target: Layout of the other's tile with the same elements at the same places.
    """
    if source.in_bits != target.in_bits or len(source.columns) != len(target.columns):
        return None
    back = inverse(source.columns)
    if back is None or inverse(target.columns) is None:
        return None
    there = tuple(apply(target.columns, column) for column in back)
    found = Crossing(left, right, there)
    return found if found.is_across() else None


def suiting(
    accesses: Sequence[tuple[Tile, Access, LinearLayout]],
    reached: Callable[[Tile, LinearLayout], Mapping[Tile, LinearLayout]],
    warp_bits: int,
    lane_bits: int,
) -> list[tuple[Tile, LinearLayout]]:
    """Return layouts of tiles that suit a later access as well as their own.

    Args:
        accesses: The tile, how it is loaded or stored, and the best layout for that.
        reached: Tile, layout of it -> the layouts that other tiles have if nothing
            moves between threads.
        warp_bits: Log2 of the warps of a block [bits].
        lane_bits: Log2 of the lanes of a warp [bits].
    """
    found: list[tuple[Tile, LinearLayout]] = []
    for at, (tile, access, layout) in enumerate(accesses):
        led = reached(tile, layout)
        for before, other, _ in accesses[:at]:
            if before not in led:
                continue
            pair = crossing(other, led[before], access, layout)
            if pair is not None:
                for one in woven(pair, warp_bits, lane_bits):
                    found.append((before, one))
    return found


def woven(
    given: Crossing, warp_bits: int, lane_bits: int, most: int = 3
) -> list[LinearLayout]:
    """Return layouts with vectors along both lines, the cheapest for both first.

    There are none where a thread has too few elements for the widest vectors of both.

    Law: each of them is bijective, and each place bit selects one index bit.

    Args:
        given: Two accesses.
        warp_bits: Log2 of the warps of a block [bits].
        lane_bits: Log2 of the lanes of a warp [bits].
        most: How many are wanted at most.
    """
    found: dict[tuple[int, ...], LinearLayout] = {}
    for register, lane, warp in _squares(given, warp_bits, lane_bits):
        layout = layout_of(given.access.shape, register, lane, warp)
        found.setdefault(layout.columns, layout)
    return sorted(found.values(), key=given.cost)[:most]


def _squares(
    given: Crossing, warp_bits: int, lane_bits: int
) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Yield register, lane and warp columns."""
    total = sum(bits_of(given.access.shape))
    free = total - warp_bits - lane_bits
    mine = [1 << bit for bit in given.access.line()]
    other = given.line()
    rest = [
        1 << bit
        for bit in range(total)
        if 1 << bit not in mine and 1 << bit not in other
    ]
    one, two = (
        min(access.aligned.bit_length() - 1, len(line))
        for access, line in ((given.access, mine), (given.other, other))
    )
    if one + two > free:
        return
    for along in range(lane_bits + 1):
        lanes = mine[one:][:along] + other[two:][: lane_bits - along]
        if len(lanes) < lane_bits:
            continue
        beyond, across = mine[one + along :], other[two + lane_bits - along :]
        for pool in ([*beyond, *across, *rest], [*across, *beyond, *rest]):
            warps, kept = pool[:warp_bits], pool[warp_bits:]
            yield [*mine[:one], *other[:two], *kept], lanes, warps
