"""Partitioned shared memory: pieces of a tensor in several physical memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import BLOCK, OFFSET
from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .amd_rotating_shared import AmdRotatingShared
from .cga import Cga
from .linear import SharedLinear
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .parameters import allocated, integer, power, shape_bits
from .swizzled_shared import SwizzledShared

PARTITION = "partition"

Inner = SwizzledShared | AmdRotatingShared | NvmmaShared | PaddedShared | SharedLinear


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedShared:
    """The tensor is cut along one dim, and the pieces are dealt out to partitions.

    Attributes:
        num_partitions: Physical memories.
        num_groups: Pieces in each of them.
        partition_dim: Tensor dim that is cut into ``num_partitions * num_groups``.
        partition_layout: Encoding of one piece.

    Raises:
        EncodingError: the dim does not exist, or the inner encoding is not one of
            shared memory.
        NotPowerOfTwoError: a number is not a power of two.

    Example:
        >>> piece = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=[0])
        >>> shared = PartitionedShared(
        ...     num_partitions=2, num_groups=2, partition_dim=0, partition_layout=piece
        ... )
        >>> layout = shared.to_linear_layout([8])
        >>> layout.bases["offset"], layout.bases["partition"]
        (((1,), (4,)), ((2,),))

    Source: Triton ``PartitionedSharedEncodingAttr``.
    """

    kind: ClassVar[str] = "partitioned_shared"
    num_partitions: int
    num_groups: int
    partition_dim: int
    partition_layout: Inner

    def __post_init__(self) -> None:
        power(self.kind, "num_partitions", self.num_partitions)
        integer(self.kind, "num_partitions", self.num_partitions, low=2)
        power(self.kind, "num_groups", self.num_groups)
        integer(self.kind, "partition_dim", self.partition_dim)
        inner = self.partition_layout
        if not isinstance(inner, Inner) or self.partition_dim >= inner.rank:
            raise EncodingError(
                "partitioned_shared needs a partition_layout in shared memory and a "
                "partition_dim below its rank, got "
                f"partition_layout={type(inner).__name__}, "
                f"partition_dim={self.partition_dim}; choose one of its dims",
                partition_dim=self.partition_dim,
            )

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return self.partition_layout.rank

    @property
    def cga(self) -> Cga:
        """The split of one piece over the CTAs."""
        return self.partition_layout.cga

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (offset, partition, block); see ``Encoding``.

        Raises:
            EncodingError: the dim has fewer elements than there are pieces.
        """
        allocation = allocated(shape, alloc_shape)
        shape_bits(self.kind, allocation, self.rank)
        whole = list(allocation)
        dim = self.partition_dim
        pieces = self.num_partitions * self.num_groups
        if whole[dim] < pieces:
            raise EncodingError(
                f"partitioned_shared needs {pieces} elements or more in dim {dim}, got "
                f"shape={whole}; take fewer partitions or groups",
                shape=tuple(whole),
            )
        whole[dim] //= pieces
        inner = self.partition_layout.to_linear_layout(whole, release)
        name = inner.out_names[dim]
        partitions = LinearLayout.identity_1d(self.num_partitions, PARTITION, name)
        groups = LinearLayout.identity_1d(self.num_groups, OFFSET, name)
        layout = inner * partitions * groups
        return layout.transpose_ins([OFFSET, PARTITION, BLOCK])
