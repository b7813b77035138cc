"""Scale factors of AMD's block-scaled matrix products in registers.

A scale tensor is MN x K: its rows belong to rows of A, or to columns of B.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import LANE, REGISTER, WARP
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .cta_layout import NO_CTA_LAYOUT, CtaLayout
from .dot_scales import lay_warps
from .parameters import (
    BEFORE_3_8,
    check_no_view,
    check_release,
    choice,
    flag,
    integers,
    powers,
    shape_bits,
)
from .tile import Tile

LANES = 64
"""Lanes of a warp that runs MFMA."""

HALF_LANES = 16
"""Lanes of half a warp that runs WMMA."""

GROUP = 128
"""Elements along K whose scales one WMMA takes."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WmmaScale:
    """Scales of AMD's scaled WMMA (gfx1250).

    Half a warp is enough for the scales of a 16 x 16 instruction: the other half holds
    those of the next one, or copies. For a 32 x 16 instruction a warp holds the scales
    of the side of 32.

    Attributes:
        op_idx: 0 for the scales of A, 1 for those of B.
        cta_layout: Where the instructions of a CTA go, along M and N.
        instr_shape: M and N of the instruction, 16 x 16 or 32 x 16.
        is_transposed: Whether M and N change roles.
        scale_factor: Elements that share a scale, 16 or 32.
        cga: How the CTAs of a cluster split the scales.

    Raises:
        EncodingError: an instruction or an operand that does not exist.

    Example:
        >>> scales = WmmaScale(op_idx=0)
        >>> scales.to_linear_layout([16, 4]).bases["lane"]
        ((1, 0), (2, 0), (4, 0), (8, 0), (0, 0))

    Source: Triton ``chooseScaledWmmaScaleLayout``.
    """

    kind: ClassVar[str] = "wmma_scale"
    op_idx: int
    cta_layout: CtaLayout = NO_CTA_LAYOUT
    instr_shape: tuple[int, ...] = (16, 16)
    is_transposed: bool = False
    scale_factor: int = 32
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        choice(self.kind, "op_idx", self.op_idx, (0, 1))
        instr = powers(self.kind, "instr_shape", self.instr_shape, 2)
        choice(self.kind, "instr_shape", instr, ((16, 16), (32, 16)))
        object.__setattr__(self, "instr_shape", instr)
        flag(self.kind, "is_transposed", self.is_transposed)
        choice(self.kind, "scale_factor", self.scale_factor, (16, 32))
        for vector in self.cta_layout.register + self.cta_layout.warp:
            integers(self.kind, "cta_layout", vector, 2)
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
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        Raises:
            UnsupportedLayoutError: a shape or a factor that came with release 3.8.
        """
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        if release in BEFORE_3_8 and (32 in self.instr_shape or self.scale_factor < 32):
            raise UnsupportedLayoutError(
                "wmma_scale of 32 x 16 and scale_factor=16 exist from release 3.8 on, "
                f"got release={release}; take a later one",
                release=release,
            )
        tile = Tile(shape_bits(self.kind, shape, 2), self.cga)
        scales = GROUP // self.scale_factor
        tile.identity(REGISTER, 1, scales)
        tile.identity(LANE, 0, HALF_LANES)
        side = self.instr_shape[1 - self.op_idx if self.is_transposed else self.op_idx]
        tile.identity(REGISTER, 1, max(shape[1] // scales, 1))
        if side == 32:
            tile.identity(LANE, 0, 2)
        self._place(tile, side)
        tile.repeat(REGISTER, (1, 0))
        if self.instr_shape[0] == 16:
            tile.move(REGISTER, LANE, tile.filled[1])
        elif side == 16:
            tile.zeros(LANE, 2)
        return tile.finish((1, 0))

    def _place(self, tile: Tile, side: int) -> None:
        """Put instructions where ``cta_layout`` says along the rows of the scales."""
        for basis in self.cta_layout.register:
            if basis[self.op_idx]:
                tile.vector(REGISTER, (basis[self.op_idx] * side, 0))
        for basis in self.cta_layout.warp:
            tile.vector(WARP, (basis[self.op_idx] * side, 0))
        tile.cover(0, self.cta_layout.sizes(2)[self.op_idx] * side)
