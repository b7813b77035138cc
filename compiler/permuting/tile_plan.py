"""The tile of a GPU program: a basis of index bits that serves both sides.

Let A be the map, L the span of the low p bits, M = A^-1 L, and T = L + M the tile. A
basis of T that contains a basis of L and one of M makes the in-tile reorder a
permutation of tile bits: read in source order (L's vectors lowest), written in
destination order (M's vectors lowest). That is a transpose, which a layout conversion
of the target's compiler does well. Addresses are ``base ^ row[r] ^ column[c]`` with a
base for the program and tables for rows and columns.

Vectors: v low bits of an address are contiguous within a thread if the basis contains
e_0..e_v-1 and no other basis vector, nor a base, touches those bits. The widest such
pair of source and destination vectors is taken; a general matrix has none, and then
accesses are whole lines element by element.

Source: one-pass form of bit-matrix permutations, T. H. Cormen et al. for memory
hierarchies; the span L + A^-1 L in place of coordinate tiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from algebra.gauss import intersection, inverse

from .index_map import IndexMap, table


@dataclass(frozen=True, slots=True)
class TilePlan:
    """How programs of one permutation divide, read and write the index space.

    Law: ``source + programs`` is a basis of the index space, so each element is read
    once; destinations are images of it, so each is written once, and in its place.

    Attributes:
        map: The permutation.
        source: Basis of the tile in the order of reading, fastest first.
        order: Tile bit ``order[j]`` of the reading order is bit j of the writing order.
        programs: Basis of the programs: completes ``source``.
        source_columns: Leading tile bits that walk along a source line [bits].
        target_columns: The same of the writing order and a destination line [bits].
        source_vector: Contiguous and aligned source elements, log2.
        target_vector: Contiguous and aligned destination elements, log2.
    """

    map: IndexMap
    source: tuple[int, ...]
    order: tuple[int, ...]
    programs: tuple[int, ...]
    source_columns: int
    target_columns: int
    source_vector: int
    target_vector: int

    @property
    def target(self) -> tuple[int, ...]:
        """Images of the tile's basis, in the order of writing."""
        return tuple(self.map.apply_linear(self.source[bit]) for bit in self.order)

    @property
    def transpose(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and axes, major first, of the in-tile reorder.

        Law: ``tile.reshape(shape).transpose(axes).ravel()`` brings a tile from reading
        to writing order. Bits that stay neighbours share an axis.
        """
        bits = len(self.order)
        runs: list[list[int]] = []
        for bit in self.order:
            if runs and runs[-1][-1] + 1 == bit:
                runs[-1].append(bit)
            else:
                runs.append([bit])
        starts = sorted(run[0] for run in runs)
        sizes = {run[0]: 1 << len(run) for run in runs}
        axis = {start: len(runs) - 1 - i for i, start in enumerate(starts)}
        shape = tuple(sizes[start] for start in reversed(starts))
        axes = tuple(axis[run[0]] for run in reversed(runs))
        return (shape, axes) if bits else ((1,), (0,))

    def tables(self) -> tuple[list[int], int]:
        """Return bases and address tables in one list, and log2 of the low table.

        In order: the tile's basis in reading order, its images in writing order; then
        addresses of source and destination for the low program bits, then for the
        high ones. The destination's low addresses contain the map's offset.
        """
        images = [self.map.apply_linear(vector) for vector in self.programs]
        low = (len(self.programs) + 1) // 2
        values = [
            *self.source,
            *self.target,
            *table(self.programs[:low]),
            *table(images[:low], self.map.offset),
            *table(self.programs[low:]),
            *table(images[low:]),
        ]
        return values, low


@lru_cache(maxsize=1024)
def plan_tile(
    map: IndexMap, *, line_bits: int, vector_bits: int, tile_bits: int
) -> TilePlan:
    """Plan a permutation for programs that hold one tile each.

    Args:
        map: The permutation.
        line_bits: Log2 of the line [elements].
        vector_bits: Log2 of the widest access of one thread [elements].
        tile_bits: Tiles smaller than this grow by whole lines [bits].

    Example:
        >>> transpose = IndexMap((8, 16, 32, 1, 2, 4))
        >>> plan = plan_tile(transpose, line_bits=2, vector_bits=1, tile_bits=0)
        >>> plan.source, plan.target, plan.programs
        ((1, 2, 8, 16), (1, 2, 8, 16), (4, 32))
        >>> plan.order, plan.transpose
        ((2, 3, 0, 1), ((4, 4), (1, 0)))
    """
    line_bits = min(line_bits, map.bits)
    columns = inverse(map.columns)
    assert columns is not None
    line = [1 << i for i in range(line_bits)]
    preimage = columns[:line_bits]
    vectors = _Vectors.widest(map, columns, line_bits, vector_bits)
    head = vectors.units
    basis = _Basis(head)
    common = intersection(line, preimage)
    units = [unit for unit in line if unit in preimage]
    for candidate in (*units, *common, *line, *preimage):
        basis.add(vectors.project(candidate))
    for i in range(map.bits):
        if len(basis.vectors) >= tile_bits:
            break
        basis.add(vectors.project(1 << i))
    tile = list(basis.vectors)
    for i in range(map.bits):
        basis.add(vectors.project(1 << i))
    programs = basis.vectors[len(tile) :]

    line_mask = (1 << line_bits) - 1
    source_head = line[: vectors.source]
    source_lines = [v for v in tile if v <= line_mask and v not in source_head]
    rest = [v for v in tile if v > line_mask]
    source = [*source_head, *sorted(source_lines), *rest]
    images = {v: map.apply_linear(v) for v in tile}
    target_head = columns[: vectors.target]
    target_lines = [v for v in tile if images[v] <= line_mask and v not in target_head]
    target_rest = [v for v in source if images[v] > line_mask]
    target = [*target_head, *sorted(target_lines, key=images.__getitem__), *target_rest]
    return TilePlan(
        map=map,
        source=tuple(source),
        order=tuple(source.index(v) for v in target),
        programs=tuple(programs),
        source_columns=len(source) - len(rest),
        target_columns=len(target) - len(target_rest),
        source_vector=vectors.source,
        target_vector=vectors.target,
    )


class _Basis:
    """Independent vectors in the order of their coming."""

    __slots__ = ("_reduced", "vectors")

    def __init__(self, vectors: Sequence[int]) -> None:
        self.vectors: list[int] = []
        self._reduced: list[int] = []
        for vector in vectors:
            self.add(vector)

    def add(self, vector: int) -> None:
        """Append ``vector`` unless the span has it."""
        rest = vector
        for row in self._reduced:
            rest = min(rest, rest ^ row)
        if rest:
            self._reduced.append(rest)
            self.vectors.append(vector)


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Bits that stay within a thread's vector, on either side.

    Attributes:
        source: Log2 of the source vector.
        target: Log2 of the destination vector.
        units: The basis vectors of both, each once.
        map: The permutation.
        masks: For each unit, the bit of the index, or of its image, that selects it.
    """

    source: int
    target: int
    units: tuple[int, ...]
    map: IndexMap
    masks: tuple[tuple[int, int], ...]

    @classmethod
    def widest(
        cls, map: IndexMap, inverse_columns: Sequence[int], line_bits: int, bits: int
    ) -> "_Vectors":
        """Return the widest pair that leaves every line vector alone."""
        widths = range(min(bits, line_bits), -1, -1)
        pairs = sorted(product(widths, widths), key=lambda p: (-p[0] - p[1], -min(p)))
        for source, target in pairs:
            low_source, low_target = (1 << source) - 1, (1 << target) - 1
            heads = inverse_columns[:target]
            ok = (
                not map.offset & low_target
                and all(
                    1 << i in heads or not map.columns[i] & low_target
                    for i in range(line_bits)
                )
                and all(
                    (v & low_source == v and v.bit_count() == 1) or not v & low_source
                    for v in inverse_columns[:line_bits]
                )
                and all(
                    head >> source or sum(c >> j & 1 for c in map.columns) == 1
                    for j, head in enumerate(heads)
                )
            )
            if ok:
                units = [1 << i for i in range(source)]
                masks = [(1 << i, 0) for i in range(source)]
                for j, head in enumerate(heads):
                    if head not in units:
                        units.append(head)
                        masks.append((0, 1 << j))
                return cls(source, target, tuple(units), map, tuple(masks))
        raise AssertionError("scalar access is always possible")

    def project(self, vector: int) -> int:
        """Return ``vector`` (unless a unit) without its parts in vector bits."""
        if vector in self.units:
            return vector
        image = self.map.apply_linear(vector)
        for unit, (source, target) in zip(self.units, self.masks, strict=True):
            if vector & source or image & target:
                vector ^= unit
                image ^= self.map.apply_linear(unit)
        return vector
