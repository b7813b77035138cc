"""What every encoding can do."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from algebra.layout import LinearLayout

from .cga import Cga


class Encoding(Protocol):
    """A named family of layouts: parameters that become a map once a shape is given.

    Encodings are frozen, hashable, compare by value, and their ``repr`` evaluates.
    """

    kind: ClassVar[str]

    @property
    def rank(self) -> int:
        """Number of dims of the tensors that the encoding is for."""

    @property
    def cga(self) -> Cga:
        """How the CTAs of a cluster split the tensor."""

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from hardware to the elements of a tensor.

        Args:
            shape: Sizes of the tensor [elements], powers of two, one a dim.
            release: Triton release that is modelled: "3.6", "3.7", "3.8" or "3.9".
            alloc_shape: Sizes of the allocation [elements] that the tensor is a view
                of. Memory encodings return the map of the allocation, tensor memory
                that of the view; register encodings have no views.
            element_bits: Width of an element [bits]; tensor memory needs it for views.

        Returns:
            Layout from (register, lane, warp, block) or (offset, block) or
            (row, col, block) to (dim0, dim1, ...).

        Raises:
            EncodingError: the shape has another rank, or contradicts the parameters.
            NotPowerOfTwoError: a size is not a power of two.
        """
