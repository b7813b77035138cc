"""NVIDIA tensor cores: results and register operands of mma (v2) and wgmma (v3).

Both are made of one tile: a thread holds ``k_width`` neighbours along the inner dim, 4
lanes follow along it, 8 lanes along the outer dim, and the rest of the instruction's
shape is in further registers, outer dim first. For m16n8 results that is

    register -> (0, 1), (8, 0)    lane -> (0, 2), (0, 4), (1, 0), (2, 0), (4, 0)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.bits import is_power_of_two
from algebra.dims import LANE, REGISTER, WARP
from algebra.errors import EncodingError, UnsupportedLayoutError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .matrix_order import matrix_order, operand_order
from .parameters import (
    BEFORE_3_8,
    check_no_view,
    check_release,
    integers,
    powers,
    shape_bits,
)
from .tile import Tile

RESULT_WIDTH = 2
"""Neighbours along N that one thread holds of a result [elements]."""

AMPERE_TILES = ((16, 8), (8, 8))
"""M, N of the v2 instructions; 8 x 8 is the one for 64-bit floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NvidiaMma:
    """The result of NVIDIA's matrix instructions in registers.

    Attributes:
        version: Major and minor; major 2 is mma (Turing, Ampere), 3 is wgmma (Hopper).
            Blackwell's tcgen05 (5) leaves its result in tensor memory.
        warps_per_cta: Warps along each tensor dim.
        instr_shape: v2: (16, 8), or (8, 8) for 64-bit floats, after as many ones as
            there are batch dims. v3: (16, N, K) with N a multiple of 8 up to 256.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: a version or an instruction that does not exist.
        NotPowerOfTwoError: an entry of ``warps_per_cta`` is not a power of two.

    Example:
        >>> mma = NvidiaMma(version=[2, 0], warps_per_cta=[1, 1], instr_shape=[16, 8])
        >>> mma.to_linear_layout([16, 8]).bases["register"]
        ((0, 1), (8, 0))

    Source: Triton ``NvidiaMmaEncodingAttr::toLinearLayout``, ``nvidiaMmaTile``;
        PTX ISA, mma.m16n8k16 and wgmma fragments.
    """

    kind: ClassVar[str] = "nvidia_mma"
    version: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        version = integers(self.kind, "version", self.version, 2)
        warps = powers(self.kind, "warps_per_cta", self.warps_per_cta)
        instr = integers(self.kind, "instr_shape", self.instr_shape, low=1)
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "warps_per_cta", warps)
        object.__setattr__(self, "instr_shape", instr)
        if version[0] == 2:
            self._check_ampere()
        elif version[0] == 3:
            self._check_hopper()
        else:
            raise EncodingError(
                "nvidia_mma needs version 2 (mma) or 3 (wgmma), got "
                f"version={list(version)}; tcgen05 results are in tensor memory, "
                "use TensorMemory",
                version=version,
            )
        check_cga(self.kind, self.cga, len(warps))

    def _check_ampere(self) -> None:
        rank = len(self.warps_per_cta)
        tiles = [(1,) * (rank - 2) + tile for tile in AMPERE_TILES]
        if rank < 2 or self.instr_shape not in tiles:
            raise EncodingError(
                f"nvidia_mma version 2 needs rank >= 2 and instr_shape 16 x 8 or 8 x 8 "
                f"after {max(rank - 2, 0)} ones, got "
                f"instr_shape={list(self.instr_shape)}, "
                f"warps_per_cta={list(self.warps_per_cta)}; give both one entry a dim",
                instr_shape=self.instr_shape,
            )

    def _check_hopper(self) -> None:
        instr = self.instr_shape
        good = len(instr) == 3 and instr[0] == 16 and instr[1] <= 256
        if len(self.warps_per_cta) != 2 or not good or instr[1] % 8:
            raise EncodingError(
                "nvidia_mma version 3 needs rank 2 and instr_shape [16, N, K] with N a "
                f"multiple of 8 up to 256, got instr_shape={list(instr)}, "
                f"warps_per_cta={list(self.warps_per_cta)}; take a wgmma shape",
                instr_shape=instr,
            )

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return len(self.warps_per_cta)

    @property
    def warp_order(self) -> tuple[int, ...]:
        """Tensor dims in the order of the warp's bits: N first for v2, M for v3."""
        return matrix_order(self.rank, self.version[0] == 2)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        Raises:
            UnsupportedLayoutError: N of the instruction is not a power of two.
        """
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        rank = self.rank
        m, n = self.instr_shape[:2] if self.version[0] == 3 else self.instr_shape[-2:]
        if not is_power_of_two(n):
            raise UnsupportedLayoutError(
                "nvidia_mma has a linear layout where N of the instruction is a power "
                f"of two, got instr_shape={list(self.instr_shape)}; "
                "split N into powers of two",
                instr_shape=self.instr_shape,
            )
        tile = Tile(shape_bits(self.kind, shape, rank), self.cga)
        _lay(tile, rank - 1, rank - 2, n, m, RESULT_WIDTH)
        tile.standard(WARP, self.warps_per_cta, self.warp_order)
        return tile.finish(matrix_order(rank, True))

    def operand_layout(
        self, op_idx: int, k_width: int, shape: Sequence[int], release: str
    ) -> LinearLayout:
        """Return the map of a register operand whose result has this encoding.

        The tile's inner dim is K; warps along K hold copies. Releases before 3.8 treat
        the 8 x 8 instruction like the 16 x 8 one.
        """
        rank = self.rank
        bits = shape_bits(f"dot_operand of {self.kind}", shape, rank)
        k_dim, other = operand_order(op_idx, rank)[:2]
        narrow = self.instr_shape[-2:] == (8, 8) and release not in BEFORE_3_8
        m = 8 if narrow and self.version[0] == 2 else 16
        k = k_width * (4 if m == 8 else 8)
        tile = Tile(bits, self.cga.without(k_dim))
        _lay(tile, k_dim, other, k, m if op_idx == 0 else 8, k_width)
        tile.standard(WARP, self.warps_per_cta, self.warp_order, broadcast=k_dim)
        return tile.finish(operand_order(op_idx, rank))


def _lay(
    tile: Tile, inner: int, outer: int, inner_size: int, outer_size: int, width: int
) -> None:
    """Lay the tile of one instruction; see the module."""
    tile.identity(REGISTER, inner, width)
    tile.identity(LANE, inner, 4)
    tile.identity(LANE, outer, 8)
    tile.identity(REGISTER, outer, outer_size // 8)
    tile.identity(REGISTER, inner, inner_size // (4 * width))
