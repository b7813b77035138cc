"""AffineLayout: a linear layout followed by the xor of a constant.

Reversal ``x -> size - 1 - x``, rotation by half and a flipped axis are not linear
(zero does not go to zero) but affine.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from . import bases as basis_vectors
from .arguments import expect_layout, expect_sizes
from .errors import BasisError, DimMismatchError
from .layout import LinearLayout


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AffineLayout:
    """The map ``x -> linear(x) xor offset``, xor dim by dim.

    Law: ``A(x) xor A(y) xor A(z) == A(x xor y xor z)``. Theorem
    ``affine_layouts_compose``.

    Attributes:
        linear: The linear part.
        offset: The image of zero: out-dim -> coordinate [elements].

    Example:
        >>> reverse = AffineLayout(LinearLayout.identity_1d(8, "x", "y"), {"y": 7})
        >>> reverse.apply({"x": 2})
        {'y': 5}
    """

    linear: LinearLayout
    packed_offset: int

    def __init__(
        self, linear: LinearLayout, offset: Mapping[str, int] | None = None
    ) -> None:
        """Make an affine layout.

        Args:
            linear: The linear part.
            offset: Out-dim -> coordinate; dims left out have 0.

        Raises:
            DimMismatchError: a name is not an out-dim of ``linear``.
            BasisError: a coordinate is not an int in ``[0, size)``.
        """
        expect_layout("linear", linear)
        packed = shift = 0
        given = dict(expect_sizes("offset", offset or {}))
        for name, bits in zip(linear.out_names, linear.out_bits, strict=True):
            value = given.pop(name, 0)
            if not isinstance(value, int) or value < 0 or value >> bits:
                raise BasisError(
                    f"offset of {name} must be an int in [0, {1 << bits}), got "
                    f"offset[{name!r}]={value!r}",
                    dim=name,
                    value=value,
                )
            packed |= value << shift
            shift += bits
        if given:
            raise DimMismatchError(
                f"offset must name out-dims of {list(linear.out_names)}, got "
                f"{sorted(given)}",
                needed=linear.out_names,
                got=tuple(given),
            )
        object.__setattr__(self, "linear", linear)
        object.__setattr__(self, "packed_offset", packed)

    @property
    def offset(self) -> dict[str, int]:
        """The image of zero: out-dim -> coordinate [elements]."""
        vector = basis_vectors.unpack((self.packed_offset,), self.linear.out_bits)[0]
        return dict(zip(self.linear.out_names, vector, strict=True))

    @property
    def in_dims(self) -> dict[str, int]:
        """In-dim -> size [elements]."""
        return self.linear.in_dims

    @property
    def out_dims(self) -> dict[str, int]:
        """Out-dim -> size [elements]."""
        return self.linear.out_dims

    @property
    def is_invertible(self) -> bool:
        """Whether the map is a bijection: whether its linear part is."""
        return self.linear.is_invertible

    def apply(self, point: Mapping[str, int]) -> dict[str, int]:
        """Evaluate; arguments and errors as ``LinearLayout.apply``."""
        image = self.linear.apply(point)
        offset = self.offset
        return {name: value ^ offset[name] for name, value in image.items()}

    __call__ = apply

    def apply_index(self, index: int) -> int:
        """Evaluate on a packed index; see ``LinearLayout.apply_index``."""
        return self.linear.apply_index(index) ^ self.packed_offset

    def compose(self, outer: "LinearLayout | AffineLayout") -> "AffineLayout":
        """Run this layout, then ``outer``.

        Law: ``self.compose(outer).apply(x) == outer.apply(self.apply(x))``.

        Raises:
            DimMismatchError: as ``LinearLayout.compose``.
        """
        if isinstance(outer, AffineLayout):
            linear = outer.linear
        else:
            expect_layout("outer", outer)
            linear = outer
        composed = self.linear.compose(linear)
        return AffineLayout(composed, outer.apply(self.offset))

    def invert(self) -> "AffineLayout":
        """Return the inverse: ``y -> inverse(y) xor inverse(offset)``.

        Raises:
            NotInvertibleError: as ``LinearLayout.invert``.
        """
        inverse = self.linear.invert()
        return AffineLayout(inverse, inverse.apply(self.offset))

    def __repr__(self) -> str:
        return f"AffineLayout({self.linear!r}, {self.offset!r})"

    def __str__(self) -> str:
        vector = ", ".join(map(str, self.offset.values()))
        return f"{self.linear}\nxor ({vector})"
