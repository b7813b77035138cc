"""Padded shared memory: holes between elements, which no linear map can say.

The element at offset i lives at ``i + sum_k (i // interval_k) * padding_k``. The sum
carries, so it is kept apart from the linear component, which says what element has
offset i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import BLOCK, OFFSET, dim_name
from algebra.errors import EncodingError, OutOfRangeError
from algebra.layout import LinearLayout

from .cga import Cga
from .linear import Vectors, block_split, check_bases, check_exact
from .parameters import allocated, check_release, powers, shape_bits


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedShared:
    """A linear layout whose offsets are stretched by padding.

    Attributes:
        intervals: After so many elements padding is inserted; distinct.
        paddings: The padding for each interval [elements].
        offset: Linear component: one vector over the tensor dims for each offset bit.
        block: The same for each bit of the CTA's number.
        shape: Sizes that the bases reach [elements]; default: what they reach.

    Raises:
        EncodingError: no interval, a repeated one, lists of different lengths.
        NotPowerOfTwoError: an interval or a padding is not a power of two.
        BasisError: a basis lies outside of the shape.
        NotSurjectiveError: the bases do not reach the whole shape.

    Example:
        >>> padded = PaddedShared(
        ...     intervals=[2, 4], paddings=[1, 2], offset=[[1], [2], [4]]
        ... )
        >>> [padded.address(offset) for offset in range(8)]
        [0, 1, 3, 4, 8, 9, 11, 12]

    Source: Triton ``PaddedSharedEncodingAttr``, ``paddedLinearLayout``.
    """

    kind: ClassVar[str] = "padded_shared"
    intervals: tuple[int, ...]
    paddings: tuple[int, ...]
    offset: Vectors
    block: Vectors = ()
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        intervals = powers(self.kind, "intervals", self.intervals)
        paddings = powers(self.kind, "paddings", self.paddings, len(intervals))
        if not intervals or len(set(intervals)) < len(intervals):
            raise EncodingError(
                "padded_shared needs one interval or more, each once, got "
                f"intervals={list(intervals)}; add the paddings of equal intervals, or "
                "take SharedLinear where there is none",
                intervals=intervals,
            )
        bases = {OFFSET: self.offset, BLOCK: self.block}
        checked, shape = check_bases(self.kind, bases, self.shape)
        object.__setattr__(self, "intervals", intervals)
        object.__setattr__(self, "paddings", paddings)
        object.__setattr__(self, "shape", shape)
        for name, basis in checked.items():
            object.__setattr__(self, name, basis)

    @classmethod
    def with_identity(
        cls,
        *,
        intervals: Sequence[int],
        paddings: Sequence[int],
        shape: Sequence[int],
        order: Sequence[int],
    ) -> "PaddedShared":
        """Return the padding of elements in the usual order.

        Args:
            intervals: See the class.
            paddings: See the class.
            shape: Sizes [elements].
            order: Tensor dims, the fastest first.
        """
        offset = []
        for dim, bits in zip(
            order,
            [shape_bits(cls.kind, shape, len(order))[dim] for dim in order],
            strict=True,
        ):
            for bit in range(bits):
                vector = [0] * len(order)
                vector[dim] = 1 << bit
                offset.append(tuple(vector))
        return cls(
            intervals=tuple(intervals),
            paddings=tuple(paddings),
            offset=tuple(offset),
            shape=tuple(shape),
        )

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return len(self.shape)

    @property
    def cga(self) -> Cga:
        """The split over CTAs, in parts of one CTA; zero where it cannot be told."""
        return block_split(self.block, self.offset, self.rank)

    @property
    def padded_linear_layout(self) -> LinearLayout:
        """The linear component: (offset before padding, block) to the tensor."""
        return LinearLayout.from_bases(
            {OFFSET: self.offset, BLOCK: self.block},
            {dim_name(dim): size for dim, size in enumerate(self.shape)},
        )

    def address(self, offset: int) -> int:
        """Return where the element at ``offset`` lives.

        Law: strictly increasing, so no two offsets share an address.

        Args:
            offset: Offset before padding [elements].

        Returns:
            Offset after padding [elements].

        Raises:
            OutOfRangeError: ``offset`` is negative or beyond the tensor.
        """
        if not 0 <= offset < 1 << len(self.offset):
            raise OutOfRangeError(
                f"padded_shared has offsets 0 <= offset < {1 << len(self.offset)}, got "
                f"offset={offset}; take one of them",
                offset=offset,
            )
        return offset + sum(
            offset // interval * padding
            for interval, padding in zip(self.intervals, self.paddings, strict=True)
        )

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the linear component; see ``Encoding`` and ``address``.

        Raises:
            EncodingError: the bases reach another shape.
        """
        check_release(release)
        whole = allocated(shape, alloc_shape)
        check_exact(self.kind, whole, self.shape)
        return self.padded_linear_layout
