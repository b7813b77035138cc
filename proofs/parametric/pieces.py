"""Linear layouts with symbolic sizes: pieces of identity, laid one after the other.

A linear layout of an encoding is made of pieces: so many bits of a hardware dim move to
bits ``step``, ``2 * step``, ... of a tensor dim, and those beyond the tensor's size are
zero. A piece is the sum of its bases: theorem ``piece_is_the_sum_of_its_bases``. That
the pieces of an encoding are the bases that the algebra computes is tested on random
parameters (tests/proofs/parametric).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verify.terms import Formula, Size, Term, as_size, evaluate, less, lift

Extent = Size | int


@dataclass(frozen=True, slots=True)
class Piece:
    """An identity from bits of a hardware dim to bits of a tensor dim.

    Attributes:
        dim: Tensor dim; ``COPIES`` for bits that move nothing.
        size: How many values the bits have.
        step: Where the piece begins in the tensor dim [elements].
    """

    dim: int
    size: Extent
    step: Extent = 1


COPIES = -1
"""Tensor dim of a piece whose positions all hold the same elements."""


@dataclass(frozen=True, slots=True)
class PieceLayout:
    """A layout made of pieces.

    Attributes:
        shape: Sizes of the tensor dims.
        pieces: Hardware dim -> its pieces, from the lowest bit up.
    """

    shape: tuple[Extent, ...]
    pieces: Mapping[str, Sequence[Piece]]

    def sizes(self) -> dict[str, Size]:
        """Return the size of each hardware dim."""
        total = {}
        for name, pieces in self.pieces.items():
            size = Size(0)
            for piece in pieces:
                size = size * piece.size
            total[name] = size
        return total

    def apply(self, point: Mapping[str, Term]) -> list[Term]:
        """Return the coordinates of a hardware point."""
        coordinates = [lift(0) for _ in self.shape]
        for name, pieces in self.pieces.items():
            rest = point[name]
            for piece in pieces:
                digit = rest % piece.size
                rest = rest // piece.size
                if piece.dim != COPIES:
                    image = digit * piece.step % self.shape[piece.dim]
                    coordinates[piece.dim] = coordinates[piece.dim] ^ image
        return coordinates

    def within(self, point: Mapping[str, Term]) -> list[Formula]:
        """Return the domain: each index is below the size of its hardware dim."""
        return [less(point[name], size.value()) for name, size in self.sizes().items()]

    def moving(self, point: Mapping[str, Term]) -> dict[str, Term]:
        """Return a point without the bits that move nothing: its copies agree."""
        kept = {}
        for name, pieces in self.pieces.items():
            rest, total, place = point[name], lift(0), Size(0)
            for piece in pieces:
                digit = rest % piece.size
                rest = rest // piece.size
                if piece.dim != COPIES:
                    # the digit's low bits, as far as they stay within the tensor
                    reach = self._reach(piece)
                    total = total + digit % reach * place
                place = place * piece.size
            kept[name] = total
        return kept

    def preimage(self, coordinates: Sequence[Term]) -> dict[str, Term]:
        """Return a hardware point that holds the element at some coordinates."""
        found = {}
        for name, pieces in self.pieces.items():
            total, place = lift(0), Size(0)
            for piece in pieces:
                if piece.dim != COPIES:
                    digit = coordinates[piece.dim] // piece.step % self._reach(piece)
                    total = total + digit * place
                place = place * piece.size
            found[name] = total
        return found

    def _reach(self, piece: Piece) -> Size:
        """Return how many values of a piece lead to different elements."""
        from verify.legacy.arithmetic import ceil_div, smaller

        left = ceil_div(as_size(self.shape[piece.dim]), as_size(piece.step))
        reach = smaller(left, as_size(piece.size))
        assert isinstance(reach, Size)
        return reach

    def bases(
        self, exponents: Mapping[str, int]
    ) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Return the bases for given values of the symbolic exponents."""

        def value(size: Extent) -> int:
            return evaluate(as_size(size).exponent, exponents)

        found = {}
        for name, pieces in self.pieces.items():
            vectors = []
            for piece in pieces:
                for bit in range(value(piece.size)):
                    vector = [0] * len(self.shape)
                    if piece.dim != COPIES:
                        place = value(piece.step) + bit
                        inside = place < value(self.shape[piece.dim])
                        vector[piece.dim] = 1 << place if inside else 0
                    vectors.append(tuple(vector))
            found[name] = tuple(vectors)
        return found
