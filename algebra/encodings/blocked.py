"""Blocked: the classic tiling of a tensor by threads, warps and registers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import LANE, REGISTER, WARP
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .parameters import check_no_view, check_release, permutation, powers, shape_bits
from .tile import Tile


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Each thread holds a small block, threads tile a warp, warps tile a CTA.

    Attributes:
        size_per_thread: Elements of a thread's block along each tensor dim.
        threads_per_warp: Threads of a warp along each tensor dim.
        warps_per_cta: Warps of a CTA along each tensor dim.
        order: Tensor dims, the fastest first.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: lists of different lengths, or an order that is no permutation.
        NotPowerOfTwoError: an entry is not a power of two.

    Example:
        >>> blocked = Blocked(
        ...     size_per_thread=[1, 2],
        ...     threads_per_warp=[4, 8],
        ...     warps_per_cta=[1, 1],
        ...     order=[1, 0],
        ... )
        >>> blocked.to_linear_layout([4, 16]).bases["lane"]
        ((0, 2), (0, 4), (0, 8), (1, 0), (2, 0))

    Source: Triton ``BlockedEncodingAttr::toLinearLayout``.
    """

    kind: ClassVar[str] = "blocked"
    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        first = powers(self.kind, "size_per_thread", self.size_per_thread)
        object.__setattr__(self, "size_per_thread", first)
        for name in ("threads_per_warp", "warps_per_cta"):
            sizes = powers(self.kind, name, getattr(self, name), len(first))
            object.__setattr__(self, name, sizes)
        order = permutation(self.kind, "order", self.order, len(first))
        object.__setattr__(self, "order", order)
        check_cga(self.kind, self.cga, len(first))

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return len(self.order)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        Law: registers that a shape is too small for are dropped by release 3.9, and
        are zero bases (copies) before.
        """
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        tile = Tile(shape_bits(self.kind, shape, self.rank), self.cga)
        order = self.order
        tile.standard(REGISTER, self.size_per_thread, order)
        tile.standard(LANE, self.threads_per_warp, order)
        tile.standard(WARP, self.warps_per_cta, order)
        if release == "3.9":
            tile.drop_zeros(REGISTER)
        return tile.finish(order)

    def operand_layout(
        self, op_idx: int, k_width: int, shape: Sequence[int], release: str
    ) -> LinearLayout:
        """Return the map of a dot operand whose result has this encoding.

        A thread holds whole rows (or columns) along K, so lanes and warps along K
        hold copies. Neither ``k_width`` nor ``release`` matters.
        """
        bits = shape_bits(f"dot_operand of {self.kind}", shape, self.rank)
        k_dim = self.rank - 1 - op_idx
        tile = Tile(bits, self.cga.without(k_dim))
        sizes = list(self.size_per_thread)
        sizes[k_dim] = shape[k_dim]
        tile.standard(REGISTER, sizes, self.order)
        tile.standard(LANE, self.threads_per_warp, self.order, broadcast=k_dim)
        tile.standard(WARP, self.warps_per_cta, self.order, broadcast=k_dim)
        return tile.finish(self.order)
