"""AMD rotating shared memory: a swizzle that shifts from block to block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import OFFSET
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga, check_cga
from .parameters import allocated, check_release, shape_bits
from .swizzled_shared import check_swizzle
from .tile import Tile


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdRotatingShared:
    """Like ``SwizzledShared``, but each block of rows starts with another phase.

    With p = r // per_phase, row r holds vector v at place
    ``v xor (p % max_phase) xor (p // max_phase % max_phase)``.

    Attributes:
        vec: Length of a vector [elements].
        per_phase: Rows in a row that share one permutation.
        max_phase: Number of permutations; so many rows times ``per_phase`` are a block.
        order: Tensor dims, the fastest (columns) first, then rows.
        cga: How the CTAs of a cluster split the tensor.

    Raises:
        EncodingError: an order that is no permutation, or is empty.
        NotPowerOfTwoError: ``vec``, ``per_phase`` or ``max_phase`` is not one.

    Example:
        >>> shared = AmdRotatingShared(vec=1, per_phase=1, max_phase=2, order=[1, 0])
        >>> shared.to_linear_layout([4, 2]).bases["offset"]
        ((0, 1), (1, 1), (2, 1))

    Source: Triton ``sharedToLinearLayoutAMDRotating``.
    """

    kind: ClassVar[str] = "amd_rotating_shared"
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
        """Return the map from (offset, block); see ``Encoding``.

        As upstream, the swizzle runs over the rows and columns of the whole tensor,
        also where CTAs split it: the offsets beyond the part of one CTA remain.
        """
        check_release(release)
        bits = shape_bits(self.kind, allocated(shape, alloc_shape), self.rank)
        tile = Tile(bits, self.cga, (OFFSET,))
        column_dim = self.order[0]
        tile.identity(OFFSET, column_dim, 1 << bits[column_dim])
        if self.rank > 1:
            row_dim = self.order[1]
            mask = self.max_phase - 1
            column_mask = (1 << bits[column_dim]) - 1
            vector = [0] * self.rank
            for bit in range(bits[row_dim]):
                turn = (1 << bit) // self.per_phase
                phase = (turn ^ turn // self.max_phase) & mask
                vector[row_dim] = 1 << bit
                vector[column_dim] = self.vec * phase & column_mask
                tile.vector(OFFSET, vector)
            tile.cover(row_dim, 1 << bits[row_dim])
            for dim in self.order[2:]:
                tile.identity(OFFSET, dim, 1 << bits[dim])
        return tile.finish(self.order)
