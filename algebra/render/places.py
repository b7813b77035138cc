"""Who holds an element: all preimages under a layout, the smallest one first.

A layout maps hardware to tensor; a picture wants the other direction, which is a
relation. The preimages of an element are one solution plus the kernel, so that the
first few are known without listing the others, however many there are.
"""

from collections.abc import Mapping

from algebra.gauss import Echelon
from algebra.layout import LinearLayout

Point = dict[str, int]


class Places:
    """The preimages of elements under one layout.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[1]], "lane": [[0], [2]]}, ["dim0"]
        ... )
        >>> Places(layout).of({"dim0": 3}, limit=4)
        [{'register': 1, 'lane': 2}, {'register': 1, 'lane': 3}]
    """

    def __init__(self, layout: LinearLayout) -> None:
        """Eliminate once; each question is then one reduction."""
        self.layout = layout
        self._echelon = Echelon(layout.columns)

    @property
    def copies(self) -> int:
        """How many places hold each element that is held at all."""
        return 1 << len(self._echelon.kernel)

    def of(self, element: Mapping[str, int], limit: int) -> list[Point]:
        """Return at most ``limit`` places of ``element``, none if it is not held.

        Args:
            element: Coordinate in each out-dim [elements].
            limit: Most places returned, at least 1.
        """
        packed = shift = 0
        for name, bits in zip(self.layout.out_names, self.layout.out_bits, strict=True):
            packed |= element[name] << shift
            shift += bits
        rest, first = self._echelon.reduce(packed)
        if rest:
            return []
        places = [first]
        for vector in self._echelon.kernel:
            if len(places) >= limit:
                break
            places += [place ^ vector for place in places]
        return [self._unpack(place) for place in places[:limit]]

    def _unpack(self, packed: int) -> Point:
        point = {}
        for name, bits in zip(self.layout.in_names, self.layout.in_bits, strict=True):
            point[name] = packed & (1 << bits) - 1
            packed >>= bits
        return point
