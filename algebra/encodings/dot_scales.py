"""Scale factors of block-scaled matrix products in registers, one maker a module part.

A scale tensor is MN x K: its rows belong to rows of A, or to columns of B.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import LANE, REGISTER, WARP
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .matrix_order import matrix_order
from .parameters import (
    check_no_view,
    check_release,
    choice,
    integer,
    powers,
    shape_bits,
)
from .tile import Tile


@dataclass(frozen=True, slots=True, kw_only=True)
class Sm120DotScaledScale:
    """Scales of NVIDIA's mma with block scaling (sm_120).

    Attributes:
        op_idx: 0 for the scales of A, 1 for those of B.
        warps_per_cta: Warps along each dim of the result.
        cga: How the CTAs of a cluster split the scales.

    Raises:
        EncodingError: ``op_idx`` is neither 0 nor 1, or the rank is below 2.
        NotPowerOfTwoError: an entry is not a power of two.

    Example:
        >>> scales = Sm120DotScaledScale(op_idx=0, warps_per_cta=[1, 1])
        >>> scales.to_linear_layout([16, 2]).bases["lane"]
        ((8, 0), (0, 0), (1, 0), (2, 0), (4, 0))

    Source: Triton ``getSM120DotScaledScaleLayout``; PTX ISA, mma with block scaling.
    """

    kind: ClassVar[str] = "sm120_dot_scaled_scale"
    op_idx: int
    warps_per_cta: tuple[int, ...]
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        choice(self.kind, "op_idx", self.op_idx, (0, 1))
        warps = powers(self.kind, "warps_per_cta", self.warps_per_cta)
        integer(self.kind, "rank", len(warps), low=2)
        object.__setattr__(self, "warps_per_cta", warps)
        check_cga(self.kind, self.cga, len(warps))

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return len(self.warps_per_cta)

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
        rank = self.rank
        tile = Tile(shape_bits(self.kind, shape, rank), self.cga)
        mn_dim, k_dim = rank - 2, rank - 1
        tile.identity(REGISTER, k_dim, shape[k_dim])
        vector = [0] * rank
        for step in (0 if self.op_idx else 8, 0, 1, 2, 4):
            vector[mn_dim] = step
            tile.vector(LANE, vector)
        tile.cover(mn_dim, 8 if self.op_idx else 16)
        lay_warps(tile, self.op_idx, self.warps_per_cta)
        return tile.finish(matrix_order(rank, True))


def lay_warps(tile: Tile, op_idx: int, warps_per_cta: Sequence[int]) -> None:
    """Lay the warps of a result over the rows of its scales; others hold copies."""
    rank = len(warps_per_cta)
    for dim in matrix_order(rank, True):
        if dim == rank - 1 - op_idx:
            tile.zeros(WARP, warps_per_cta[dim])
        else:
            target = min(dim, rank - 2)
            tile.identity(WARP, target, warps_per_cta[dim])
