"""NVIDIA's shared memory for wgmma, tcgen05 and TMA: swizzled core matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import OFFSET
from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .parameters import (
    BEFORE_3_8,
    allocated,
    check_release,
    choice,
    flag,
    integer,
    shape_bits,
)
from .tile import Tile

ROWS = 8
"""Rows of a core matrix."""

BOX_BITS = 8
"""A box that the TMA moves has at most 2**8 elements along each dim."""

REAL, PADDED = 8, 16
"""With fp4 padding, 8 real elements are followed by 8 that are not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmmaShared:
    """Boxes of core matrices, each 8 rows of ``swizzle_byte_width`` bytes.

    Within a core matrix, 16-byte vectors are permuted by the row as in
    ``SwizzledShared`` with ``vec = 128 / bits``, ``per_phase = 128 / width`` and
    ``max_phase = width / 16``. All dims but the contiguous one are collapsed to rows.

    Attributes:
        swizzle_byte_width: 0 (none), 32, 64 or 128 [bytes].
        element_bit_width: 8, 16, 32 or 64 [bits].
        rank: Number of tensor dims.
        transposed: Whether dim 0 is contiguous instead of the last.
        fp4_padded: Whether each 8 bytes are followed by 8 unused ones.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: a width that does not exist, or padding without 8 bits and a
            swizzle of 128 bytes.

    Example:
        >>> shared = NvmmaShared(swizzle_byte_width=32, element_bit_width=16)
        >>> shared.to_linear_layout([8, 16]).bases["offset"]
        ((0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8))

    Source: Triton ``nvmmaSharedToLinearLayout``, ``getTMABlockShape``.
    """

    kind: ClassVar[str] = "nvmma_shared"
    swizzle_byte_width: int
    element_bit_width: int
    rank: int = 2
    transposed: bool = False
    fp4_padded: bool = False
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        kind, swizzle = self.kind, self.swizzle_byte_width
        choice(kind, "swizzle_byte_width", swizzle, (0, 32, 64, 128))
        choice(kind, "element_bit_width", self.element_bit_width, (8, 16, 32, 64))
        integer(kind, "rank", self.rank, 1 if swizzle == 0 else 2)
        flag(kind, "transposed", self.transposed)
        if flag(kind, "fp4_padded", self.fp4_padded):
            kind = f"{kind} with fp4_padded"
            choice(kind, "swizzle_byte_width", swizzle, (128,))
            choice(kind, "element_bit_width", self.element_bit_width, (8,))
        check_cga(kind, self.cga, self.rank)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (offset, block); see ``Encoding``.

        Raises:
            EncodingError: the part of one CTA is smaller than a core matrix.
        """
        check_release(release)
        bits = shape_bits(self.kind, allocated(shape, alloc_shape), self.rank)
        tile = Tile(bits, self.cga, (OFFSET,))
        box = [min(limit, BOX_BITS) for limit in tile.limits]
        if self.swizzle_byte_width:
            self._lay_swizzled(tile, box)
            return tile.finish(range(self.rank))
        self._lay_plain(tile, box, release)
        return tile.finish(reversed(range(self.rank)))

    def _lay_plain(self, tile: Tile, box: list[int], release: str) -> None:
        """Lay a box without swizzle, the contiguous dim first.

        From 3.8 on, a transposed box of rank 3 and more puts the sizes of the box on
        the wrong dims, so that its map need not be injective; this is modelled.
        """
        rank = self.rank
        sources = targets = list(range(rank))[::-1]
        if self.transposed and release not in BEFORE_3_8:
            sources = [0, *sources[:-1]]
            targets = [dim - 1 if dim else rank - 1 for dim in targets]
        for source, target in zip(sources, targets, strict=True):
            tile.identity(OFFSET, target, 1 << box[source])

    def _lay_swizzled(self, tile: Tile, box: list[int]) -> None:
        """Lay core matrices over a box, seen as rows of its contiguous dim.

        In a transposed box of rank 3 and more, upstream counts rows by the last dim
        alone, in bits that the middle dims shift; then come the rest.
        """
        columns = (8 * self.swizzle_byte_width // self.element_bit_width).bit_length()
        columns -= 1 + self.fp4_padded
        contiguous = 0 if self.transposed else self.rank - 1
        others = [dim for dim in reversed(range(self.rank)) if dim != contiguous]
        rows = box[-1] if self.transposed else sum(box[dim] for dim in others)
        if tile.limits[contiguous] < columns or 1 << rows < ROWS:
            per_cta = [1 << limit for limit in tile.limits]
            raise EncodingError(
                f"nvmma_shared needs at least {1 << columns} elements in dim "
                f"{contiguous} and {ROWS} rows in the others (transposed: in the last) "
                f"for each CTA, got {per_cta} for each CTA; take a smaller "
                "swizzle_byte_width or a larger tensor",
                per_cta=tuple(per_cta),
            )
        box[contiguous] = columns
        place: list[tuple[int, int]] = []
        for dim in others:
            place += [(dim, 1 << bit) for bit in range(box[dim])]
        if self.transposed:
            inner = sum(box[1:-1])
            place = place[inner:] + place[:inner]
        for column in self._columns():
            vector = [0] * self.rank
            vector[contiguous] = column
            tile.vector(OFFSET, vector)
        for (dim, step), column in zip(place, self._phases(len(place)), strict=True):
            vector = [0] * self.rank
            vector[dim] = step
            vector[contiguous] = column
            tile.vector(OFFSET, vector)
        for dim, size in enumerate(box):
            tile.cover(dim, 1 << size)

    def _columns(self) -> list[int]:
        """Return the columns that the offsets 1, 2, 4, ... of a row hold."""
        width = 8 * self.swizzle_byte_width // self.element_bit_width
        offsets = [1 << bit for bit in range(width.bit_length() - 1)]
        return [self._unpadded(offset) for offset in offsets]

    def _phases(self, count: int) -> list[int]:
        """Return the column that the first offset of rows 1, 2, 4, ... holds."""
        vec = 128 // self.element_bit_width
        per_phase = 128 // self.swizzle_byte_width
        max_phase = self.swizzle_byte_width // 16
        rows = [1 << bit for bit in range(count)]
        return [
            self._unpadded(vec * (row // per_phase % max_phase)) if row < ROWS else 0
            for row in rows
        ]

    def _unpadded(self, column: int) -> int:
        """Return the element that a padded column holds."""
        if self.fp4_padded:
            return column // PADDED * REAL + column % REAL
        return column
