"""Shared memory that a tensor passes through in pieces, from registers to registers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import BLOCK, OFFSET, dim_name
from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .cga import ONE_CTA, Cga
from .linear import check_exact
from .parameters import allocated, check_release, permutation, powers

ITERATION = "iteration"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmemRegToReg:
    """One piece of a tensor at a time: (offset, iteration) to the tensor.

    Attributes:
        tensor_shape: Sizes of the tensor [elements].
        rep_shape: Sizes of a piece [elements].
        order: Tensor dims, the fastest first; also the order of the out-dims.

    Raises:
        EncodingError: lists of different lengths, or a piece larger than the tensor.
        NotPowerOfTwoError: a size is not a power of two.

    Example:
        >>> shared = ShmemRegToReg(tensor_shape=[4], rep_shape=[2], order=[0])
        >>> shared.to_linear_layout([4]).bases
        {'offset': ((1,),), 'iteration': ((2,),), 'block': ()}

    Source: Triton ``chooseShemLayoutForRegToRegConversion``.
    """

    kind: ClassVar[str] = "shmem_reg_to_reg"
    tensor_shape: tuple[int, ...]
    rep_shape: tuple[int, ...]
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        tensor = powers(self.kind, "tensor_shape", self.tensor_shape)
        piece = powers(self.kind, "rep_shape", self.rep_shape, len(tensor))
        order = permutation(self.kind, "order", self.order, len(tensor))
        if any(part > size for part, size in zip(piece, tensor, strict=True)):
            raise EncodingError(
                "shmem_reg_to_reg needs rep_shape <= tensor_shape in each dim, got "
                f"rep_shape={list(piece)}, tensor_shape={list(tensor)}; "
                "take a smaller piece",
                rep_shape=piece,
                tensor_shape=tensor,
            )
        object.__setattr__(self, "tensor_shape", tensor)
        object.__setattr__(self, "rep_shape", piece)
        object.__setattr__(self, "order", order)

    @property
    def rank(self) -> int:
        """Number of tensor dims; zero is allowed."""
        return len(self.tensor_shape)

    @property
    def cga(self) -> Cga:
        """No cluster."""
        return ONE_CTA

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (offset, iteration, block); see ``Encoding``.

        Raises:
            EncodingError: ``shape`` is not ``tensor_shape``.
        """
        check_release(release)
        check_exact(self.kind, allocated(shape, alloc_shape), self.tensor_shape)
        offset: list[int] = []
        iteration: list[int] = []
        out_bits: dict[str, int] = {}
        place = 1
        for dim in self.order:
            size, piece = self.tensor_shape[dim], self.rep_shape[dim]
            out_bits[dim_name(dim)] = size.bit_length() - 1
            for step in range(size.bit_length() - 1):
                (offset if 1 << step < piece else iteration).append(place)
                place *= 2
        in_bits = {OFFSET: len(offset), ITERATION: len(iteration), BLOCK: 0}
        return LinearLayout.from_columns(in_bits, out_bits, offset + iteration)
