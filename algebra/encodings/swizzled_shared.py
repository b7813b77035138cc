"""Swizzled shared memory: rows whose vectors are permuted by an xor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import OFFSET
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .parameters import (
    allocated,
    check_release,
    integers,
    permutation,
    power,
    shape_bits,
)
from .tile import Tile


@dataclass(frozen=True, slots=True, kw_only=True)
class SwizzledShared:
    """Row r holds vector v at place ``v xor (r // per_phase % max_phase)``.

    The formula is linear because all three parameters are powers of two; theorem
    ``swizzle_is_linear``.

    Attributes:
        vec: Length of a vector [elements].
        per_phase: Rows in a row that share one permutation.
        max_phase: Number of permutations, after which they repeat.
        order: Tensor dims, the fastest (columns) first, then rows.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: an order that is no permutation, or is empty.
        NotPowerOfTwoError: ``vec``, ``per_phase`` or ``max_phase`` is not one.

    Example:
        >>> shared = SwizzledShared(vec=1, per_phase=1, max_phase=4, order=[1, 0])
        >>> shared.to_linear_layout([4, 4]).bases["offset"]
        ((0, 1), (0, 2), (1, 1), (2, 2))

    Source: Triton ``swizzledSharedToLinearLayout``.
    """

    kind: ClassVar[str] = "swizzled_shared"
    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    cga: Cga = ONE_CTA

    def __post_init__(self) -> None:
        order = check_swizzle(
            self.kind, self.vec, self.per_phase, self.max_phase, self.order
        )
        object.__setattr__(self, "order", order)
        check_cga(self.kind, self.cga, len(order))

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
        """Return the map from (offset, block); see ``Encoding``."""
        check_release(release)
        bits = shape_bits(self.kind, allocated(shape, alloc_shape), self.rank)
        tile = Tile(bits, self.cga, (OFFSET,))
        column_dim = self.order[0]
        tile.identity(OFFSET, column_dim, 1 << tile.limits[column_dim])
        if self.rank > 1:
            row_dim = self.order[1]
            phase_mask = self.max_phase - 1
            column_mask = (1 << tile.limits[column_dim]) - 1
            vector = [0] * self.rank
            for bit in range(tile.limits[row_dim]):
                phase = (1 << bit) // self.per_phase & phase_mask
                vector[row_dim] = 1 << bit
                vector[column_dim] = self.vec * phase & column_mask
                tile.vector(OFFSET, vector)
            tile.cover(row_dim, 1 << tile.limits[row_dim])
        return tile.finish(self.order)


def check_swizzle(
    kind: str, vec: int, per_phase: int, max_phase: int, order: Sequence[int]
) -> tuple[int, ...]:
    """Check the parameters of a swizzle; return the order as a tuple.

    Raises:
        EncodingError: an order that is no permutation, or is empty.
        NotPowerOfTwoError: ``vec``, ``per_phase`` or ``max_phase`` is not one.
    """
    power(kind, "vec", vec)
    power(kind, "per_phase", per_phase)
    power(kind, "max_phase", max_phase)
    order = integers(kind, "order", order)
    return permutation(kind, "order", order, max(len(order), 1))
