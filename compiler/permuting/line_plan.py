"""The tile of a CPU core: source lines in, a reorder, destination lines out.

With A, L and T = L + A^-1 L as in the package: a program copies the lines of its coset
of T into a buffer that stays in the first cache, then writes each destination line
from front to back. Each line of memory is touched once, so neither the number of
cache ways nor the stride between lines matters.

In the buffer an element of T has the coordinates kappa = (line, place in line). For a
destination line d and a place q in it,

    buffer index = at_tile ^ at_line[d] ^ at_place[q],

where at_place[q] = kappa(A^-1 q), at_line[d] = kappa(A^-1 line_d) and at_tile is the
same table as at_place, taken at the low bits of the program's destination base.
"""

from dataclasses import dataclass
from functools import lru_cache

from algebra.gauss import Echelon, inverse, matmul

from .index_map import IndexMap, table
from .spans import Span


@dataclass(frozen=True, slots=True)
class LinePlan:
    """How programs move lines, and the tables that say so.

    Law: with ``low = (1 << line_bits) - 1``, program k and its bases
    ``s = source_bases * k``, ``d = target_bases * k ^ map.offset``: source lines are
    ``s ^ source_lines * r``, destination lines ``(d & ~low) ^ target_lines * t``.

    Attributes:
        map: The permutation.
        line_bits: Log2 of the line [elements].
        source_lines: Basis of the tile's source lines; their low bits are zero.
        target_lines: Basis of the tile's destination lines; their low bits are zero.
        at_line: Buffer index of each of ``target_lines``.
        at_place: Buffer index of each place bit within a destination line.
        source_bases: Basis of the programs; their low bits are zero.
    """

    map: IndexMap
    line_bits: int
    source_lines: tuple[int, ...]
    target_lines: tuple[int, ...]
    at_line: tuple[int, ...]
    at_place: tuple[int, ...]
    source_bases: tuple[int, ...]

    @property
    def target_bases(self) -> tuple[int, ...]:
        """Images of the programs' basis."""
        return tuple(map(self.map.apply_linear, self.source_bases))

    def tables(self) -> tuple[list[int], list[int], int]:
        """Return address tables, buffer tables and log2 of the low base table.

        Addresses, in order: source lines, destination lines, then bases of source and
        destination for the low program bits, then for the high ones; the low
        destination bases contain the map's offset. Buffer indices: lines, places.
        """
        low = (len(self.source_bases) + 1) // 2
        addresses = [
            *table(self.source_lines),
            *table(self.target_lines),
            *table(self.source_bases[:low]),
            *table(self.target_bases[:low], self.map.offset),
            *table(self.source_bases[low:]),
            *table(self.target_bases[low:]),
        ]
        return addresses, [*table(self.at_line), *table(self.at_place)], low


@lru_cache(maxsize=1024)
def plan_lines(map: IndexMap, *, line_bits: int) -> LinePlan:
    """Plan a permutation for cores with caches.

    Args:
        map: The permutation.
        line_bits: Log2 of the line [elements]; fewer where the map is smaller.

    Example:
        >>> plan = plan_lines(IndexMap((8, 16, 32, 1, 2, 4)), line_bits=2)
        >>> plan.source_lines, plan.target_lines, plan.source_bases
        ((8, 16), (8, 16), (4, 32))
        >>> plan.at_place, plan.at_line
        ((4, 8), (1, 2))
    """
    line_bits = min(line_bits, map.bits)
    low = (1 << line_bits) - 1
    columns = inverse(map.columns)
    assert columns is not None
    source_lines = _beyond([v & ~low for v in columns[:line_bits]])
    target_lines = _beyond([v & ~low for v in map.columns[:line_bits]])
    tile = [*(1 << i for i in range(line_bits)), *source_lines]
    coordinates = Echelon(tile)

    def locate(target: int) -> int:
        remainder, place = coordinates.reduce(matmul(columns, [target])[0])
        assert not remainder, "the tile maps onto whole destination lines"
        return place

    return LinePlan(
        map=map,
        line_bits=line_bits,
        source_lines=tuple(source_lines),
        target_lines=tuple(target_lines),
        at_line=tuple(locate(v) for v in target_lines),
        at_place=tuple(locate(1 << i) for i in range(line_bits)),
        source_bases=tuple(_bases(tile, columns, line_bits)),
    )


def _bases(tile: list[int], columns: list[int], line_bits: int) -> list[int]:
    """Return a basis of the programs that walks along the tiles of longer lines.

    Programs in a row then stay within few pages of memory on both sides, and use up
    each page before they leave it.
    """
    low = (1 << line_bits) - 1
    covered = Span(tile)
    bases = []
    for i in range(line_bits, len(columns)):
        for vector in (1 << i, columns[i] & ~low):
            if covered.add(vector):
                bases.append(vector)
    return bases


def _beyond(vectors: list[int]) -> list[int]:
    """Return the independent ones of ``vectors``."""
    echelon = Echelon(vectors)
    return [vectors[i] for i in echelon.pivots]
