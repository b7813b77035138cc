"""AMD matrix cores of RDNA: results and operands of WMMA instructions (32 lanes)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from algebra.dims import LANE, REGISTER, WARP
from algebra.errors import EncodingError, UnsupportedLayoutError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .cta_layout import NO_CTA_LAYOUT, CtaLayout
from .matrix_order import matrix_order, operand_order
from .parameters import (
    BEFORE_3_8,
    check_no_view,
    check_release,
    choice,
    flag,
    integer,
    integers,
    known_keys,
    needed_keys,
    powers,
    shape_bits,
)
from .tile import Tile

LANES = 16
"""Lanes along the fast dim of a tile; the warp's other half goes along the slow one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdWmma:
    """The result of AMD's WMMA instructions in registers.

    Attributes:
        version: 1 RDNA3, 2 RDNA4, 3 gfx1250.
        is_transposed: Whether M and N change roles.
        cta_layout: Where the instructions of a CTA go; ``from_warps`` makes the one
            that older releases spell as two lists.
        instr_shape: M, N, K of the instruction.
        rank: Number of tensor dims.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: a version or an instruction that does not exist, or vectors of
            another length than ``rank``.

    Example:
        >>> wmma = AmdWmma.from_warps(
        ...     version=1, is_transposed=False, warps_per_cta=[1, 2]
        ... )
        >>> wmma.to_linear_layout([16, 32]).bases["warp"]
        ((0, 16),)

    Source: Triton ``AMDWmmaEncodingAttr::toLinearLayout``, ``wmmaDotToLinearLayout``.
    """

    kind: ClassVar[str] = "amd_wmma"
    version: int
    is_transposed: bool
    cta_layout: CtaLayout = NO_CTA_LAYOUT
    instr_shape: tuple[int, ...] = (16, 16, 16)
    rank: int = 2
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        choice(self.kind, "version", self.version, (1, 2, 3))
        flag(self.kind, "is_transposed", self.is_transposed)
        choice(self.kind, "rank", integer(self.kind, "rank", self.rank), (2, 3))
        instr = powers(self.kind, "instr_shape", self.instr_shape, 3)
        object.__setattr__(self, "instr_shape", instr)
        tiles = ((16, 16),) if self.version < 3 else ((16, 16), (32, 16))
        choice(f"{self.kind} version {self.version}", "M, N", instr[:2], tiles)
        for vector in self.cta_layout.register + self.cta_layout.warp:
            integers(self.kind, "cta_layout", vector, self.rank)
        check_cga(self.kind, self.cga, self.rank)

    @classmethod
    def from_warps(
        cls,
        *,
        version: int,
        is_transposed: bool,
        warps_per_cta: Sequence[int],
        tiles_per_warp: Sequence[int] = (),
        instr_shape: Sequence[int] = (16, 16, 16),
        cga: Cga = ONE_CTA,
    ) -> "AmdWmma":
        """Return the encoding that the lists of release 3.6 stand for.

        Args:
            version: See the class.
            is_transposed: See the class.
            warps_per_cta: Warps along each tensor dim.
            tiles_per_warp: Instructions of a warp along each dim; default 1 each.
            instr_shape: See the class.
            cga: See the class.

        Raises:
            EncodingError: lists of different lengths.
            NotPowerOfTwoError: an entry is not a power of two.
        """
        return cls(
            version=version,
            is_transposed=is_transposed,
            cta_layout=CtaLayout.from_warps(warps_per_cta, tiles_per_warp),
            instr_shape=tuple(instr_shape),
            rank=len(warps_per_cta),
            cga=cga,
        )

    @classmethod
    def from_golden(cls, given: Mapping[str, Any], cga: Cga) -> "AmdWmma":
        """Return the encoding of a golden object.

        Args:
            given: ``cta_layout``, or ``warps_per_cta`` and ``tiles_per_warp``; if both,
                the numbers of warps must agree.
            cga: The split, already read.

        Raises:
            EncodingError: unknown or contradicting parameters.
        """
        names = ("version", "is_transposed", "instr_shape", "rank")
        lists = ("warps_per_cta", "tiles_per_warp")
        known_keys(cls.kind, given, (*names, *lists, "cta_layout"))
        one_of = "cta_layout" if "cta_layout" in given else "warps_per_cta"
        needed_keys(cls.kind, given, ("version", "is_transposed", one_of))
        parameters = {name: given[name] for name in names if name in given}
        if "cta_layout" not in given:
            tiles = given.get("tiles_per_warp", ())
            cta_layout = CtaLayout.from_warps(given["warps_per_cta"], tiles)
            parameters["rank"] = len(given["warps_per_cta"])
        else:
            cta_layout = CtaLayout.from_dict(given["cta_layout"])
            warps = 1 << len(cta_layout.warp)
            if math.prod(given.get("warps_per_cta", [warps])) != warps:
                raise EncodingError(
                    "amd_wmma needs warps_per_cta and cta_layout with as many warps, "
                    f"got warps_per_cta={given['warps_per_cta']} and cta_layout with "
                    f"{warps} warps; leave warps_per_cta out",
                    warps_per_cta=given["warps_per_cta"],
                )
        return cls(**parameters, cta_layout=cta_layout, cga=cga)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        Raises:
            UnsupportedLayoutError: an instruction, or a tensor smaller than it, that
                came with release 3.8.
        """
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        self._check_known(release)
        rank = self.rank
        tile = Tile(shape_bits(self.kind, shape, rank), self.cga)
        self._check_size(shape, release)
        m_dim, n_dim = rank - 2, rank - 1
        long_side = self.instr_shape[0]
        fast, slow = (m_dim, n_dim) if self.is_transposed else (n_dim, m_dim)
        if self.version == 1:
            tile.identity(LANE, fast, LANES)
            tile.identity(LANE, slow, 2)
            tile.identity(REGISTER, slow, 8)
        else:
            tile.identity(REGISTER, slow, 8)
            tile.identity(LANE, fast, LANES)
            tile.identity(LANE, slow, 2)
            tile.identity(REGISTER, slow, long_side // 16)
        placed = self.placed(release)
        if release == "3.6":
            self._place_rows(tile, placed, shape[n_dim])
        else:
            self._place(tile, placed, None)
        return tile.finish(matrix_order(rank, True))

    def operand_layout(
        self, op_idx: int, k_width: int, shape: Sequence[int], release: str
    ) -> LinearLayout:
        """Return the map of an operand whose result has this encoding.

        From 3.8 on CTAs along K hold copies; before, they split K, and the repetition
        along K, over the whole tensor, comes before that of the instructions. In 3.6
        only where a warp has several instructions along the other dim.
        """
        self._check_known(release)
        rank = self.rank
        bits = shape_bits(f"dot_operand of {self.kind}", shape, rank)
        k_dim, other = operand_order(op_idx, rank)[:2]
        side = 1 - op_idx if self.is_transposed else op_idx
        old = release in BEFORE_3_8
        tile = Tile(bits, self.cga if old else self.cga.without(k_dim))
        tile.identity(REGISTER, k_dim, k_width)
        tile.identity(LANE, other, LANES)
        if self.version == 1:
            tile.zeros(LANE, 2)
        else:
            tile.identity(LANE, k_dim, 2)
        tile.identity(REGISTER, k_dim, max(self.instr_shape[2] // (2 * k_width), 1))
        placed = self.placed(release)
        side_by_side = any(basis[other] for basis in placed.register)
        if release == "3.7" or (release == "3.6" and side_by_side):
            covered = max(self.instr_shape[2], 2 * k_width)
            tile.identity(REGISTER, k_dim, max(shape[k_dim] // covered, 1))
        tile.identity(REGISTER, other, self.instr_shape[side] // LANES)
        self._place(tile, placed, k_dim)
        return tile.finish(operand_order(op_idx, rank))

    def placed(self, release: str) -> CtaLayout:
        """Return where the instructions of a CTA go in a release.

        3.6 reads two lists, and of ``tiles_per_warp`` only M and N.

        Raises:
            UnsupportedLayoutError: lists of release 3.6 cannot say it.

        Example:
            >>> AmdWmma.from_warps(
            ...     version=1,
            ...     is_transposed=False,
            ...     warps_per_cta=[1, 1, 1],
            ...     tiles_per_warp=[2, 2, 1],
            ... ).placed("3.6")
            CtaLayout(register=((0, 1, 0),), warp=())
        """
        if release != "3.6":
            return self.cta_layout
        warps, tiles = self.cta_layout.to_warps(self.rank)
        outer = self.rank - 2
        return CtaLayout.from_warps(warps, (1,) * outer + tiles[outer:])

    def _check_known(self, release: str) -> None:
        if release in BEFORE_3_8 and self.instr_shape[0] == 32:
            raise UnsupportedLayoutError(
                "amd_wmma of 32 x 16 exists from release 3.8 on, got "
                f"release={release}; take a later one",
                release=release,
            )

    def _check_size(self, shape: Sequence[int], release: str) -> None:
        small = any(1 < size < 16 for size in shape[-2:])
        if small and release in BEFORE_3_8:
            raise UnsupportedLayoutError(
                "amd_wmma before release 3.8 needs M and N of the tensor to be 1 or at "
                f"least 16, got shape={list(shape)}, release={release}; pad the tensor "
                "or take a later release",
                shape=tuple(shape),
                release=release,
            )

    def _place_rows(self, tile: Tile, placed: CtaLayout, columns: int) -> None:
        """Put instructions as 3.6 does: along N over the whole tensor, then along M."""
        n_dim = self.rank - 1
        for dim in reversed(range(self.rank)):
            for in_dim, bases in ((REGISTER, placed.register), (WARP, placed.warp)):
                tile.identity(in_dim, dim, 1 << sum(basis[dim] > 0 for basis in bases))
            if dim == n_dim:
                missing = columns.bit_length() - 1 - tile.filled[dim]
                tile.identity(REGISTER, dim, 1 << max(missing, 0))

    def _place(self, tile: Tile, placed: CtaLayout, gone: int | None) -> None:
        """Put instructions where ``placed`` says, without the dim ``gone``."""
        start = list(tile.filled)
        for in_dim, bases in ((REGISTER, placed.register), (WARP, placed.warp)):
            for basis in bases:
                vector = [
                    0 if dim == gone else component << start[dim]
                    for dim, component in enumerate(basis)
                ]
                if in_dim == WARP or any(vector):
                    tile.vector(in_dim, vector)
        for dim, size in enumerate(placed.sizes(self.rank)):
            if dim != gone:
                tile.cover(dim, size << start[dim])
