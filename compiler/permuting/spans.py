"""Spans over F2 that grow vector by vector, in the order of their coming."""

from collections.abc import Callable, Iterable

from algebra.gauss import apply, solve


class Span:
    """Independent vectors and what they span.

    Attributes:
        vectors: The basis, in the order of its coming.

    Example:
        >>> span = Span([1, 2, 3])
        >>> span.vectors, 3 in span, span.add(4), span.add(7)
        ([1, 2, 4], True, True, False)
    """

    __slots__ = ("_reduced", "vectors")

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        """Span ``vectors``; dependent ones are left out."""
        self.vectors: list[int] = []
        self._reduced: list[int] = []
        for vector in vectors:
            self.add(vector)

    def __contains__(self, vector: int) -> bool:
        return not self._reduce(vector)

    def __len__(self) -> int:
        return len(self.vectors)

    def add(self, vector: int) -> bool:
        """Append ``vector`` unless the span has it; say whether it was new."""
        rest = self._reduce(vector)
        if rest:
            self._reduced.append(rest)
            self.vectors.append(vector)
        return bool(rest)

    def cover(self, candidates: Iterable[int], bits: Callable[[int], int]) -> None:
        """Add candidates until a linear map takes its values among them here too."""
        seen = Span(map(bits, self.vectors))
        for vector in candidates:
            if seen.add(bits(vector)):
                self.add(vector)

    def aligned(self, vector: int, bits: Callable[[int], int]) -> int:
        """Return a vector of the same coset of the span where a linear map is zero.

        The span must reach the value that the map has at ``vector`` (``cover``).
        """
        found = solve([bits(v) for v in self.vectors], [bits(vector)])
        assert found is not None, "the span covers the values of the map"
        return vector ^ apply(self.vectors, found[0])

    def _reduce(self, vector: int) -> int:
        for row in self._reduced:
            vector = min(vector, vector ^ row)
        return vector
