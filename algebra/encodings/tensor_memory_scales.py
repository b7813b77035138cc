"""Scale factors of block-scaled matrix products in Blackwell's memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import OFFSET
from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .parameters import allocated, check_release, choice, shape_bits
from .tensor_memory import COL, ROW
from .tile import Tile

REP_ORDERS = {"mn_then_k": (0, 1), "k_then_mn": (1, 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMemoryScales:
    """Scales (MN x K) in tensor memory, 32 rows that each of the 4 warps sees.

    Attributes:
        block_rep_order: Whether blocks repeat along MN or along K first.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: an order that does not exist.

    Example:
        >>> scales = TensorMemoryScales()
        >>> scales.to_linear_layout([128, 4]).bases["col"]
        ((0, 1), (0, 2), (32, 0), (64, 0))

    Source: Triton ``tensorMemoryScalesToLinearLayout``; PTX ISA, tcgen05 scale factors.
    """

    kind: ClassVar[str] = "tensor_memory_scales"
    block_rep_order: str = "mn_then_k"
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        order = self.block_rep_order
        choice(self.kind, "block_rep_order", order, tuple(REP_ORDERS))
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
        """Return the map from (row, col, block); see ``Encoding``."""
        check_release(release)
        bits = shape_bits(self.kind, allocated(shape, alloc_shape), 2)
        tile = Tile(bits, self.cga, (ROW, COL))
        tile.identity(ROW, 0, 32)
        tile.zeros(ROW, 4)
        tile.identity(COL, 1, 4)
        tile.identity(COL, 0, 2)
        if tile.limits[0] > 6:
            tile.identity(COL, 0, 2)
        order = REP_ORDERS[self.block_rep_order]
        tile.repeat(COL, order)
        return tile.finish(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSmemForTmemCopy:
    """Scales in shared memory as ``tcgen05.cp`` copies them into tensor memory.

    Attributes:
        cga: How the CTAs of a cluster split the tensor.

    Example:
        >>> layout = ScaleSmemForTmemCopy().to_linear_layout([128, 4])
        >>> layout.bases["offset"][:4]
        ((0, 1), (0, 2), (32, 0), (64, 0))

    Source: Triton test ``CanonicalScaleSmemLayout``; PTX ISA, tcgen05.cp.
    """

    kind: ClassVar[str] = "scale_smem_for_tmem_copy"
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
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
        """Return the map from (offset, block); see ``Encoding``.

        Raises:
            EncodingError: one CTA's part is smaller than 128 x 4.
        """
        check_release(release)
        bits = shape_bits(self.kind, allocated(shape, alloc_shape), 2)
        tile = Tile(bits, self.cga, (OFFSET,))
        rows, columns = (1 << limit for limit in tile.limits)
        if rows < 128 or columns < 4:
            raise EncodingError(
                "scale_smem_for_tmem_copy needs 128 x 4 scales or more for each CTA, "
                f"got {rows} x {columns} for each CTA; pad the scales",
                per_cta=(rows, columns),
            )
        tile.identity(OFFSET, 1, 4)
        for step in (32, 64, 1, 2, 4, 8, 16):
            tile.vector(OFFSET, (step, 0))
        tile.cover(0, 128)
        return tile.finish((1, 0))
