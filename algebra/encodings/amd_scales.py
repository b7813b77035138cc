"""Scale factors of AMD's block-scaled matrix products in registers.

A scale tensor is MN x K: its rows belong to rows of A, or to columns of B.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import LANE, REGISTER
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga
from .dot_scales import lay_warps
from .parameters import check_no_view, check_release, choice, powers, shape_bits
from .tile import Tile

LANES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class MfmaScale:
    """Scales of AMD's scaled MFMA (gfx950).

    Attributes:
        op_idx: 0 for the scales of A, 1 for those of B.
        mfma_m: M of the instruction, 16 or 32.
        tiles_per_warp: Instructions that a warp does side by side, along M and N.
        warps_per_cta: Warps along M and N.

    Raises:
        EncodingError: an instruction or an operand that does not exist.
        NotPowerOfTwoError: an entry is not a power of two.

    Example:
        >>> scales = MfmaScale(op_idx=0, mfma_m=32, warps_per_cta=[1, 1])
        >>> scales.to_linear_layout([32, 2]).bases["lane"]
        ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (0, 1))

    Source: Triton ``chooseScaledMfmaScaleLayout``.
    """

    kind: ClassVar[str] = "mfma_scale"
    op_idx: int
    mfma_m: int
    warps_per_cta: tuple[int, ...]
    tiles_per_warp: tuple[int, ...] = (1, 1)

    def __post_init__(self) -> None:
        choice(self.kind, "op_idx", self.op_idx, (0, 1))
        choice(self.kind, "mfma_m", self.mfma_m, (16, 32))
        for name in ("warps_per_cta", "tiles_per_warp"):
            sizes = powers(self.kind, name, getattr(self, name), 2)
            object.__setattr__(self, name, sizes)

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return 2

    @property
    def cga(self) -> Cga:
        """No cluster."""
        return ONE_CTA

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``."""
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        tile = Tile(shape_bits(self.kind, shape, 2), ONE_CTA)
        tile.identity(LANE, 0, self.mfma_m)
        tile.identity(LANE, 1, LANES // self.mfma_m)
        tile.repeat(REGISTER, [1])
        tile.identity(REGISTER, 0, self.tiles_per_warp[self.op_idx])
        lay_warps(tile, self.op_idx, self.warps_per_cta)
        return tile.finish((1, 0))
