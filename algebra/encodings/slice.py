"""Slice: what is left of an encoding when one tensor dim is reduced away."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.arguments import expect_encoding
from algebra.dims import REGISTER, dim_name
from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .cga import Cga
from .encoding import Encoding
from .parameters import check_no_view, integer, shape_bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The parent's layout with one tensor dim projected away.

    Attributes:
        dim: Position of the missing dim among the parent's dims.
        parent: Encoding, in registers, of the tensor that still has the dim.

    Raises:
        EncodingError: ``dim`` is not a dim of the parent, or the only one.

    Example:
        >>> from algebra.encodings import Blocked
        >>> parent = Blocked(
        ...     size_per_thread=[1, 2],
        ...     threads_per_warp=[4, 8],
        ...     warps_per_cta=[1, 1],
        ...     order=[1, 0],
        ... )
        >>> Slice(dim=1, parent=parent).to_linear_layout([4]).bases["lane"]
        ((0,), (0,), (0,), (1,), (2,))

    Source: Triton ``SliceEncodingAttr::toLinearLayout``.
    """

    kind: ClassVar[str] = "slice"
    dim: int
    parent: Encoding

    def __post_init__(self) -> None:
        integer(self.kind, "dim", self.dim)
        expect_encoding("parent", self.parent)
        if self.parent.rank < 2 or self.dim >= self.parent.rank:
            raise EncodingError(
                f"slice needs a parent of rank >= 2 and dim below its rank, got "
                f"dim={self.dim}, parent={self.parent.kind} of rank "
                f"{self.parent.rank}; choose one of the parent's dims",
                dim=self.dim,
                rank=self.parent.rank,
            )

    @property
    def rank(self) -> int:
        """Number of tensor dims: one less than the parent."""
        return self.parent.rank - 1

    @property
    def cga(self) -> Cga:
        """The parent's split, without the missing dim."""
        return self.parent.cga.drop(self.dim)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        Law: the parent's map of the shape with size 1 at ``dim``, without that dim and
        without register bits that are zero. Lanes and warps keep their zeros: they
        hold copies.
        """
        check_no_view(self.kind, shape, alloc_shape)
        bits = shape_bits(self.kind, shape, self.rank)
        full = [*shape[: self.dim], 1, *shape[self.dim :]]
        layout = self.parent.to_linear_layout(full, release)
        in_bits = dict(zip(layout.in_names, layout.in_bits, strict=True))
        registers = in_bits[REGISTER]
        kept = [column for column in layout.columns[:registers] if column]
        in_bits[REGISTER] = len(kept)
        return LinearLayout.from_columns(
            in_bits,
            {dim_name(dim): size for dim, size in enumerate(bits)},
            kept + list(layout.columns[registers:]),
        )
