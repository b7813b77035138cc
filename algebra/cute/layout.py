"""CuTe's layout: a nested shape with strides, and an optional swizzle after it."""

from dataclasses import dataclass
from math import prod

from algebra.errors import EncodingError, OutOfRangeError

from .int_tuple import IntTuple, congruent, int_tuple, leaves, spell
from .swizzle import Swizzle


@dataclass(frozen=True, slots=True)
class CuteLayout:
    """The function index -> sum of coordinate * stride, then the swizzle.

    The index runs through the coordinates with the leftmost extent fastest.

    Attributes:
        shape: Nested tuple of extents [elements].
        stride: Nested tuple of the same nesting [elements].
        swizzle: Applied to the sum, or None.

    Raises:
        EncodingError: the nestings differ, or an extent is below 1.

    Example:
        >>> layout = CuteLayout((2, 4), (4, 1))
        >>> [layout(index) for index in range(8)]
        [0, 4, 1, 5, 2, 6, 3, 7]
        >>> print(CuteLayout((8, 64), (64, 1), Swizzle(3, 3, 3)))
        Sw<3,3,3> o 0 o (8,64):(64,1)
    """

    shape: IntTuple
    stride: IntTuple
    swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        for name in ("shape", "stride"):
            object.__setattr__(self, name, int_tuple(name, getattr(self, name)))
        if not congruent(self.shape, self.stride):
            raise EncodingError(
                "shape and stride must have the same nesting, got "
                f"shape={spell(self.shape)}, stride={spell(self.stride)}",
                shape=self.shape,
                stride=self.stride,
            )
        if any(extent < 1 for extent in leaves(self.shape)):
            raise EncodingError(
                f"every extent must be at least 1, got shape={spell(self.shape)}",
                shape=self.shape,
            )

    @property
    def size(self) -> int:
        """Number of indices: product of the extents [elements]."""
        return prod(leaves(self.shape))

    @property
    def modes(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """(extent, stride) pairs of each top-level mode."""
        shapes = self.shape if isinstance(self.shape, tuple) else (self.shape,)
        strides = self.stride if isinstance(self.stride, tuple) else (self.stride,)
        return tuple(
            tuple(zip(leaves(shape), leaves(stride), strict=True))
            for shape, stride in zip(shapes, strides, strict=True)
        )

    def __call__(self, index: int) -> int:
        """Evaluate.

        Raises:
            OutOfRangeError: ``index`` isn't in ``[0, size)``.
        """
        if not isinstance(index, int) or not 0 <= index < self.size:
            raise OutOfRangeError(
                f"an index of {self} lies in [0, {self.size}), got index={index!r}",
                index=index,
                size=self.size,
            )
        offset = 0
        for mode in self.modes:
            for extent, stride in mode:
                index, coordinate = divmod(index, extent)
                offset += coordinate * stride
        return offset if self.swizzle is None else self.swizzle(offset)

    def __str__(self) -> str:
        plain = f"{spell(self.shape)}:{spell(self.stride)}"
        return plain if self.swizzle is None else f"{self.swizzle} o 0 o {plain}"
