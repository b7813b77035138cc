"""A tile of 16-byte vectors on both sides, for any map, through shared memory.

Let v be the bits of a vector, p those of a line, V = L_v and W = A^-1 L_v the vectors
of either side and T = L_p + A^-1 L_p the tile. A program

1. loads T by source vectors (cosets of V) and puts them into shared memory as they are;
2. lets each thread load the block B = L_u + W of its own, by accesses L_u, u <= v,
   of at least a word;
3. permutes the block in the thread's registers, and stores destination vectors.

Both orders of elements are at hand in B, so nothing narrower than a word is moved
through memory, whatever the matrix shears. Run backwards, the plan of the inverse map
permutes too: then stores follow whole lines, and loads the blocks.

In shared memory the slot of a vector is a linear map, whose lowest three bits choose
the banks. With the place of a word in its vector they must be injective on the lanes
of step 1 and on those of step 2: two subspaces, and two subspaces always have a common
complement, which is the kernel of the map sought.

Source: theorem ``two_subspaces_have_a_common_complement``; the tile as in the package.
"""

from dataclasses import dataclass
from typing import Final

from algebra.gauss import Echelon, apply, inverse

from .index_map import IndexMap

VECTOR_BYTES: Final = 16
WORD_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """How programs of one permutation load, keep, permute and store a tile.

    Vectors are differences of source indices. With A the map's matrix and c its
    offset, program k has the bases ``s = programs * k`` and ``A s ^ c``.

    Law: ``rows``, the line's bits and ``programs`` are a basis of the index space, and
    so are ``threads``, ``stores``, the destination vector and ``programs``.

    Attributes:
        map: The permutation of elements.
        element_bytes: 1, 2 or 4 [bytes].
        line_bits: Log2 of the source line [elements].
        rows: The tile's source lines relative to the base; their low bits are zero.
        threads: The tile's blocks, one a thread, fastest first; destination vectors
            start there. A source access may start elsewhere in a word: ``flips``.
        loads: A block's accesses to shared memory, aligned to ``access_bits``.
        stores: A block's destination vectors.
        access_bits: Log2 of an access in step 2 [elements].
        slots: Slot of each bit of (vector of the line, row): an invertible matrix.
        programs: Basis of the programs; vectors of both sides start there.
    """

    map: IndexMap
    element_bytes: int
    line_bits: int
    rows: tuple[int, ...]
    threads: tuple[int, ...]
    loads: tuple[int, ...]
    stores: tuple[int, ...]
    access_bits: int
    slots: tuple[int, ...]
    programs: tuple[int, ...]

    @property
    def vector_bits(self) -> int:
        """Log2 of a vector [elements]."""
        return (VECTOR_BYTES // self.element_bytes).bit_length() - 1

    @property
    def word_bits(self) -> int:
        """Log2 of a word [elements]."""
        return (WORD_BYTES // self.element_bytes).bit_length() - 1

    @property
    def tile_bits(self) -> int:
        """Log2 of the tile [elements]."""
        return self.line_bits + len(self.rows)

    @property
    def block_bits(self) -> int:
        """Log2 of a thread's block [elements]."""
        return self.access_bits + len(self.loads)

    def coordinates(self, vector: int) -> int:
        """Return (place in the line, row) of a vector of the tile, row in high bits."""
        line = (1 << self.line_bits) - 1
        remainder, row = Echelon(self.rows).reduce(vector & ~line)
        assert not remainder, "only vectors of the tile are asked for"
        return row << self.line_bits | vector & line

    def offset(self, vector: int) -> int:
        """Return the place in shared memory of a vector of the tile [elements]."""
        place = self.coordinates(vector)
        low = place & (1 << self.vector_bits) - 1
        return apply(self.slots, place >> self.vector_bits) << self.vector_bits | low

    def line_view(self, unit_bits: int) -> list[list[int]]:
        """Return (row, place in the line) of each bit of an offset, for step 1.

        Args:
            unit_bits: Log2 of what offsets count [elements].
        """
        slots = inverse(self.slots)
        assert slots is not None
        shift, line = self.vector_bits - unit_bits, self.line_bits - unit_bits
        units = [1 << i for i in range(shift)] + [slot << shift for slot in slots]
        return [[unit >> line, unit & (1 << line) - 1] for unit in units]

    def block_view(self) -> list[list[int]]:
        """Return (thread, word of the block) of each bit of an offset in words."""
        block = self.block_bits - self.word_bits
        places = inverse([*self.block_offsets(), *self.thread_offsets()])
        assert places is not None, "the tile's coordinates are independent"
        return [[place >> block, place & (1 << block) - 1] for place in places]

    def block_offsets(self) -> list[int]:
        """Return the offset of each bit of a word's number in the block [words]."""
        access = [1 << i for i in range(self.access_bits - self.word_bits)]
        return access + [self.offset(v) >> self.word_bits for v in self.loads]

    def thread_offsets(self) -> list[int]:
        """Return the offset of each bit of a thread's number [words]."""
        return [self.offset(v) >> self.word_bits for v in self.threads]

    def flips(self) -> list[int]:
        """Return the place in a word at which each bit of ``threads`` starts."""
        low = (1 << self.word_bits) - 1
        return [vector & low for vector in self.threads]

    def in_thread(self) -> tuple[list[int], int]:
        """Return the block's permutation: columns and offset, destination to source.

        Destination bits are (place in the vector, ``stores``), source bits (place in
        the access, ``loads``). The element at destination x of thread t comes from
        source ``columns * x ^ offset ^ flips * t``.
        """
        back = inverse(self.map.columns)
        assert back is not None
        basis = Echelon([*(1 << i for i in range(self.access_bits)), *self.loads])
        columns = []
        for vector in (*back[: self.vector_bits], *self.stores):
            remainder, place = basis.reduce(vector)
            assert not remainder, "stores and destination vectors lie in the block"
            columns.append(place)
        low = (1 << self.vector_bits) - 1
        return columns, apply(columns, self.map.offset & low)

    def images(self, vectors: tuple[int, ...]) -> list[int]:
        """Return the destinations of differences of indices."""
        return [self.map.apply_linear(vector) for vector in vectors]
