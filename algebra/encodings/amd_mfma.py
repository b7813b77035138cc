"""AMD matrix cores of CDNA: results and operands of MFMA instructions (64 lanes)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import LANE, REGISTER, WARP
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .matrix_order import matrix_order, operand_order
from .parameters import (
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
TILES = ((32, 32), (16, 16), (64, 4), (4, 64))
"""M, N of the instructions."""

NARROW_REPEATS = 16
"""The 64 x 64 operand of a 64 x 4 instruction is 16 tiles along K."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdMfma:
    """The result of AMD's MFMA instructions in registers.

    Attributes:
        version: 1 gfx908, 2 gfx90a, 3 gfx942, 4 gfx950.
        warps_per_cta: Warps along each tensor dim (batch, M, N).
        instr_shape: M, N, K of the instruction.
        is_transposed: Whether a thread's neighbours run along N instead of M.
        tiles_per_warp: Instructions that a warp does side by side, along each dim;
            default 1 each.
        element_bit_width: Width of a result [bits], 32 or 64.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: a version or an instruction that does not exist, or lists of
            different lengths.
        NotPowerOfTwoError: an entry is not a power of two.

    Example:
        >>> mfma = AmdMfma(
        ...     version=3,
        ...     warps_per_cta=[1, 1],
        ...     instr_shape=[16, 16, 16],
        ...     is_transposed=False,
        ... )
        >>> mfma.to_linear_layout([16, 16]).bases["register"]
        ((1, 0), (2, 0))

    Source: Triton ``AMDMfmaEncodingAttr::toLinearLayout``, ``mfmaDotToLinearLayout``.
    """

    kind: ClassVar[str] = "amd_mfma"
    version: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    is_transposed: bool
    tiles_per_warp: tuple[int, ...] = ()
    element_bit_width: int = 32
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        choice(self.kind, "version", self.version, (1, 2, 3, 4))
        flag(self.kind, "is_transposed", self.is_transposed)
        choice(self.kind, "element_bit_width", self.element_bit_width, (32, 64))
        warps = powers(self.kind, "warps_per_cta", self.warps_per_cta)
        choice(self.kind, "rank", len(warps), (2, 3))
        instr = integers(self.kind, "instr_shape", self.instr_shape, 3, low=1)
        choice(self.kind, "M, N of instr_shape", instr[:2], TILES)
        if instr[:2] == (64, 4):
            choice(f"{self.kind} 64 x 4", "is_transposed", self.is_transposed, (True,))
        tiles = self.tiles_per_warp or (1,) * len(warps)
        tiles = powers(self.kind, "tiles_per_warp", tiles, len(warps))
        object.__setattr__(self, "warps_per_cta", warps)
        object.__setattr__(self, "instr_shape", instr)
        object.__setattr__(self, "tiles_per_warp", tiles)
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
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        The repetition along N comes before that along M, so a warp's tiles are
        neighbours along N across the whole tensor.
        """
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        rank = self.rank
        tile = Tile(shape_bits(self.kind, shape, rank), self.cga)
        m_dim, n_dim = rank - 2, rank - 1
        m, n = self.instr_shape[:2]
        height = 1 if self.element_bit_width == 64 else 4
        fast, slow, fast_size = (
            (m_dim, n_dim, m) if self.is_transposed else (n_dim, m_dim, n)
        )
        tile.identity(REGISTER, slow, height)
        tile.identity(LANE, fast, fast_size)
        tile.identity(LANE, slow, LANES // fast_size)
        tile.identity(REGISTER, slow, m * n // (LANES * height))
        tiles, warps = self.tiles_per_warp, self.warps_per_cta
        tile.identity(REGISTER, n_dim, tiles[n_dim])
        tile.identity(WARP, n_dim, warps[n_dim])
        covered = tiles[n_dim] * warps[n_dim] * n
        tile.identity(REGISTER, n_dim, max(shape[n_dim] // covered, 1))
        tile.identity(REGISTER, m_dim, tiles[m_dim])
        tile.identity(WARP, m_dim, warps[m_dim])
        if rank == 3:
            tile.identity(WARP, 0, warps[0])
        return tile.finish(matrix_order(rank, True))

    def operand_layout(
        self, op_idx: int, k_width: int, shape: Sequence[int], release: str
    ) -> LinearLayout:
        """Return the map of an operand whose result has this encoding.

        Warps along K lie outside the operand: they hold copies.
        """
        rank = self.rank
        bits = shape_bits(f"dot_operand of {self.kind}", shape, rank)
        k_dim, other = operand_order(op_idx, rank)[:2]
        tile = Tile(bits, self.cga)
        lanes = self.instr_shape[op_idx]
        tile.identity(REGISTER, k_dim, k_width)
        tile.identity(LANE, other, lanes)
        tile.identity(LANE, k_dim, LANES // lanes)
        if lanes == LANES:
            tile.identity(REGISTER, k_dim, NARROW_REPEATS)
        missing = bits[k_dim] - tile.filled[k_dim]
        tile.identity(REGISTER, k_dim, 1 << max(missing, 0))
        tile.identity(REGISTER, other, self.tiles_per_warp[other])
        tile.standard(WARP, self.warps_per_cta, matrix_order(rank, True))
        return tile.finish(matrix_order(rank, True))
