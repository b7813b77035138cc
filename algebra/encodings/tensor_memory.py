"""Tensor memory of Blackwell: 128 rows by 512 columns of 32 bits beside the SM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.errors import EncodingError, UnsupportedLayoutError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .linear import clip
from .parameters import (
    BEFORE_3_8,
    allocated,
    check_release,
    choice,
    flag,
    integer,
    power,
    shape_bits,
)
from .tile import Tile

ROW = "row"
COL = "col"
"""Hardware dims: a row of the memory, and a place along it [elements]."""

WORD_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMemory:
    """Blocks of a matrix in tensor memory, side by side along the columns.

    Attributes:
        block_m: Rows of a block, 64 or 128.
        block_n: Columns of a block [elements].
        col_stride: Places from one column to the next; 1 is packed.
        two_ctas: Whether two CTAs work on one block.
        fp4_padded: Whether each 4-bit value takes a whole byte.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: a ``block_m`` that does not exist.
        NotPowerOfTwoError: ``block_n`` or ``col_stride`` is not one.

    Example:
        >>> memory = TensorMemory(block_m=128, block_n=2)
        >>> memory.to_linear_layout([128, 4]).bases["col"]
        ((0, 1), (0, 2))

    Source: Triton ``tensorMemoryToLinearLayout``; PTX ISA, tcgen05 data path layouts.
    """

    kind: ClassVar[str] = "tensor_memory"
    block_m: int
    block_n: int
    col_stride: int = 1
    two_ctas: bool = False
    fp4_padded: bool = False
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        choice(self.kind, "block_m", self.block_m, (64, 128))
        power(self.kind, "block_n", self.block_n)
        power(self.kind, "col_stride", self.col_stride)
        flag(self.kind, "two_ctas", self.two_ctas)
        if flag(self.kind, "fp4_padded", self.fp4_padded):
            kind = f"{self.kind} with fp4_padded"
            choice(kind, "col_stride", self.col_stride, (1,))
        check_cga(self.kind, self.cga, 2)

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return 2

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (row, col, block); see ``Encoding``.

        A zero basis is either a copy (rows 32 and 64) or a place without an element.
        The map of a view (``alloc_shape`` differs from ``shape``) is that of the
        allocation without the components outside the view, and without its last
        columns as far as they are zero and more than one 32-bit word.

        Raises:
            EncodingError: one CTA's part has fewer than ``block_m`` rows, a view
                without ``element_bits``, or one larger than the allocation.
        """
        check_release(release)
        whole = allocated(shape, alloc_shape)
        layout = self._layout(whole, release)
        shape_bits(self.kind, shape, 2)
        if tuple(whole) == tuple(shape):
            return layout
        return self._view(layout, shape, element_bits)

    def _layout(self, shape: Sequence[int], release: str) -> LinearLayout:
        """Return the map of an allocation."""
        bits = shape_bits(self.kind, shape, 2)
        if release in BEFORE_3_8:
            return self._layout_before_3_8(bits)
        tile = Tile(bits, self.cga, (ROW, COL))
        if self.two_ctas and self.cga.bases[:1] != ((1, 0),):
            raise EncodingError(
                "tensor_memory with two_ctas needs [1, 0] as the first basis of cga, "
                f"got cga={[list(basis) for basis in self.cga.bases]}; put the pair of "
                "CTAs along M first",
                cga=self.cga,
            )
        self._lay_block(tile, self.block_m)
        tile.repeat(COL, [0, 1])
        return tile.finish([0, 1])

    def _layout_before_3_8(self, bits: Sequence[int]) -> LinearLayout:
        """Return the map in which the parts of CTAs follow each other along columns."""
        limits, _ = self.cga.split(bits)
        pair = self.two_ctas and self.block_m == 64 and limits[0] < bits[0]
        tile = Tile(bits, ONE_CTA, (ROW, COL))
        tile.limits = [limits[0] + pair, limits[1]]
        self._lay_block(tile, 128 if pair else self.block_m)
        tile.repeat(COL, [0, 1])
        tile.limits[0] = bits[0]
        tile.repeat(COL, [0])
        if pair:
            place = (self._padding * self.block_n).bit_length() - 2
            if not 0 <= place < tile.width(COL):
                raise UnsupportedLayoutError(
                    "tensor_memory of a pair of CTAs before release 3.8 needs block_n "
                    f"within the tensor and at least 2, got block_n={self.block_n}; "
                    "take another block_n",
                    block_n=self.block_n,
                )
            tile.exchange(ROW, tile.width(ROW) - 1, COL, place)
        tile.limits[1] = bits[1]
        tile.repeat(COL, [1])
        return tile.finish([0, 1])

    @property
    def _padding(self) -> int:
        """Places that one column takes."""
        return self.col_stride * (2 if self.fp4_padded else 1)

    def _lay_block(self, tile: Tile, block_m: int) -> None:
        """Lay one block; half of it, if two CTAs have 64 rows each."""
        rows, columns = (1 << limit for limit in tile.limits)
        if rows < block_m:
            raise EncodingError(
                f"tensor_memory needs block_m={self.block_m} rows or more for each "
                f"CTA, got {rows}; take block_m=64 or a taller tensor",
                rows=rows,
                block_m=self.block_m,
            )
        block_n = min(self.block_n, columns)
        tile.zeros(COL, self._padding)
        tile.identity(COL, 1, block_n)
        if block_m == 128:
            tile.identity(ROW, 0, 128)
        elif not self.two_ctas or tile.limits[0] == tile.shape_bits[0]:
            self._lay_half(tile, block_n)
        elif tile.width(COL):
            tile.identity(ROW, 0, 64)
            tile.move(COL, ROW, tile.width(COL) - 1)
        else:
            raise EncodingError(
                "tensor_memory with two_ctas and block_m=64 needs 2 columns or more "
                "in a block, got 1; take block_n >= 2",
                block_n=block_n,
            )

    def _lay_half(self, tile: Tile, block_n: int) -> None:
        """Lay 64 rows: each warp reaches 16 of them, and 16 of a second block."""
        rows, columns = (1 << limit for limit in tile.limits)
        tile.identity(ROW, 0, 16)
        second = (64, 0) if rows > 64 else (0, block_n) if columns > block_n else (0, 0)
        for vector in (second, (16, 0), (32, 0)):
            tile.vector(ROW, vector)
        tile.cover(0, 128 if rows > 64 else 64)
        tile.cover(1, 2 * block_n if second[1] else block_n)

    def _view(
        self, layout: LinearLayout, shape: Sequence[int], element_bits: int | None
    ) -> LinearLayout:
        """Return the map of the part of ``layout`` that is below ``shape``."""
        bits = shape_bits(self.kind, shape, 2)
        integer(f"view of {self.kind}", "element_bits", element_bits, low=1)
        assert element_bits is not None
        if any(size > have for size, have in zip(bits, layout.out_bits, strict=True)):
            raise EncodingError(
                "view of tensor_memory needs a shape within the allocation, got "
                f"shape={list(shape)}, alloc_shape={list(layout.out_dims.values())}; "
                "give the larger one as alloc_shape",
                shape=tuple(shape),
            )
        bases = {
            name: [clip(vector, shape) for vector in vectors]
            for name, vectors in layout.bases.items()
        }
        least = max((WORD_BITS // element_bits).bit_length() - 1, 0)
        while len(bases[COL]) > least and not any(bases[COL][-1]):
            bases[COL].pop()
        out_dims = dict(zip(layout.out_names, shape, strict=True))
        return LinearLayout.from_bases(bases, out_dims, require_surjective=False)
