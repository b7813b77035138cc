"""An invertible F2-affine map of the bits of an element's index.

This is what a layout means once the names of its dims no longer matter: the columns
of a square matrix and a constant, packed in ints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from algebra import AffineLayout, LinearLayout
from algebra.errors import BasisError, NotInvertibleError, UnsupportedLayoutError
from algebra.gauss import apply, inverse, kernel


@dataclass(frozen=True, slots=True)
class IndexMap:
    """The bijection ``i -> columns * i ^ offset`` of ``range(2 ** bits)``.

    Attributes:
        columns: Image of each index bit, lowest first.
        offset: The image of index 0.

    Raises:
        BasisError: A column or the offset has more bits than there are columns.
        NotInvertibleError: The matrix is singular; ``kernel`` is a nonzero index that
            lands where index 0 lands.

    Example:
        >>> reversal = IndexMap((1, 2, 4), offset=7)
        >>> [reversal(i) for i in range(8)]
        [7, 6, 5, 4, 3, 2, 1, 0]
    """

    columns: tuple[int, ...]
    offset: int = 0

    def __post_init__(self) -> None:
        for name, vector in (
            *((f"columns[{i}]", column) for i, column in enumerate(self.columns)),
            ("offset", self.offset),
        ):
            if not 0 <= vector < 1 << self.bits:
                raise BasisError(
                    f"an index of {self.bits} bits lies in 0 <= i < {1 << self.bits}, "
                    f"got {name}={vector}; give one column for each index bit",
                    vector=vector,
                )
        null = kernel(self.columns)
        if null:
            raise NotInvertibleError(
                "a permutation needs an invertible map, got one with kernel vector "
                f"{null[0]} = {null[0]:#b}: index {null[0]} would land on index 0's "
                f"place, {self.offset}; change one of the columns of its set bits",
                kernel=null[0],
            )

    @staticmethod
    def from_layout(layout: object) -> "IndexMap":
        """Read a layout as a map of flat indices.

        Several in-dims or out-dims are flattened minor to major: the first dim takes
        the lowest bits.

        Args:
            layout: A ``LinearLayout`` or ``AffineLayout`` with as many out bits as in
                bits.

        Raises:
            UnsupportedLayoutError: ``layout`` is neither.
            NotInvertibleError: The map is not a bijection; shows a kernel vector.

        Example:
            >>> layout = LinearLayout.from_bases(
            ...     {"x": [[0, 1], [0, 2]], "y": [[1, 0]]}, {"y": 2, "x": 4})
            >>> IndexMap.from_layout(layout).columns
            (2, 4, 1)
        """
        if not isinstance(layout, LinearLayout | AffineLayout):
            raise UnsupportedLayoutError(
                "a LinearLayout or an AffineLayout was needed, got "
                f"layout={layout!r} of type {type(layout).__name__}; build one with "
                "LinearLayout.from_bases, or find one with algebra.why_not_linear"
            )
        return _flatten(layout)

    @property
    def bits(self) -> int:
        """Number of index bits."""
        return len(self.columns)

    def __call__(self, index: int) -> int:
        """Return where the element at ``index`` goes."""
        return apply(self.columns, index) ^ self.offset

    def apply_linear(self, vector: int) -> int:
        """Return the image of a difference of two indices."""
        return apply(self.columns, vector)

    def invert(self) -> "IndexMap":
        """Return the map that undoes this one.

        Law: ``f.invert()(f(i)) == i``.

        Example:
            >>> IndexMap((2, 4, 1), offset=3).invert()
            IndexMap(columns=(4, 1, 2), offset=5)
        """
        columns = inverse(self.columns)
        assert columns is not None
        return IndexMap(tuple(columns), apply(columns, self.offset))

    def coarsen(self) -> "IndexMap | None":
        """Return the map of pairs of neighbours, if neighbours move together.

        They do when bit 0 is fixed and no other bit touches it; then elements can be
        moved two by two, each pair as one element of twice the width.

        Example:
            >>> IndexMap((1, 4, 2)).coarsen()
            IndexMap(columns=(2, 1), offset=0)
            >>> IndexMap((2, 1)).coarsen() is None
            True
        """
        low = self.offset
        for column in self.columns[1:]:
            low |= column
        if not self.columns or self.columns[0] != 1 or low & 1:
            return None
        return IndexMap(tuple(c >> 1 for c in self.columns[1:]), self.offset >> 1)

    def refine(self) -> "IndexMap":
        """Return the same map on elements of half the width.

        Law: ``f.refine().coarsen() == f``.
        """
        return IndexMap((1, *(c << 1 for c in self.columns)), self.offset << 1)


@lru_cache(maxsize=1024)
def _flatten(layout: LinearLayout | AffineLayout) -> IndexMap:
    if isinstance(layout, AffineLayout):
        linear, offset = layout.linear, layout.packed_offset
    else:
        linear, offset = layout, 0
    in_bits, out_bits = sum(linear.in_bits), sum(linear.out_bits)
    if in_bits != out_bits:
        null = kernel(linear.columns)
        witness = f"; index {null[0]} lands on index 0's place" if null else ""
        raise NotInvertibleError(
            "a permutation needs as many out bits as in bits, got "
            f"in_bits={in_bits}, out_bits={out_bits}{witness}; resize the smaller "
            "side, or split the surplus off as a batch",
            kernel=null[0] if null else None,
        )
    return IndexMap(linear.columns, offset)


def table(vectors: Sequence[int], start: int = 0) -> list[int]:
    """Return ``start ^ vectors * x`` for every x, by doubling.

    Example:
        >>> table([1, 6], start=8)
        [8, 9, 14, 15]
    """
    values = [start]
    for vector in vectors:
        values += [value ^ vector for value in values]
    return values
