"""What products of matrices cost: by instruction, and as calls of a library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.ir.node import Tiling

from .device import Constant

MULTIPLY_ADDS: Mapping[str, Constant] = {
    "wgmma": Constant(2048.0, "assumed"),
    "mma": Constant(1280.0, "assumed"),
}
"""Instruction -> multiply-adds of 16-bit numbers in a cycle of a multiprocessor."""


def product_cost(
    shape: tuple[int, int, int], element_bits: int, instruction: str, warps: int
) -> float:
    """Return the cycles of a multiprocessor for one warp's share of a product.

    Args:
        shape: M, N, K [elements].
        element_bits: Of the factors [bits].
        instruction: A key of ``MULTIPLY_ADDS``.
        warps: Warps that share it.

    Example:
        >>> product_cost((64, 64, 64), 16, "wgmma", 4)
        32.0
    """
    m, n, k = shape
    rate = MULTIPLY_ADDS[instruction].cycles * 16 / element_bits
    return m * n * k / rate / warps


@dataclass(frozen=True, slots=True)
class Library:
    """How fast a library multiplies half-precision matrices, by how they are aligned.

    What counts is the steps between rows, and the extents of columns and of sums where
    their elements are adjacent in one of the matrices. An odd number of rows that are
    adjacent in the left factor counts less.

    Attributes:
        rates: Bytes that all of those are multiples of -> rate of large products
            [operations/s].
        odd_rows: Rate where all are multiples of 16 bytes but the number of adjacent
            rows is not [operations/s].
        origin: Of the rates, as in :class:`~compiler.cost.device.Constant`.
        bandwidth: Of a copy, read and written [bytes/s].
        launch: Products shorter than this are left alone, and a further call takes
            this beside its work [s].
    """

    rates: Mapping[int, float]
    odd_rows: float
    origin: str
    bandwidth: float
    launch: float

    def seconds(self, operations: int, alignment: int, odd_rows: bool = False) -> float:
        """Return how long a product takes [s].

        Args:
            operations: Multiplications and additions [operations].
            alignment: A key of ``rates`` [bytes].
            odd_rows: Whether the rows, adjacent in the left factor, are no multiple of
                16 bytes.

        Example:
            >>> LIBRARY.seconds(2 * 8192 * 768 * 50257, 2) > 0.0045
            True
        """
        rate = self.rates[alignment]
        return operations / (min(rate, self.odd_rows) if odd_rows else rate)

    def narrow(self, batch: int, rows: int, columns: int, inner: int) -> float:
        """Return how long a product with a small extent takes at most [s].

        A multiprocessor does whole tiles, in rounds, at the slowest rate.

        Args:
            batch: Number of products.
            rows: Of the result [elements].
            columns: Of the result [elements].
            inner: Terms of each sum [elements].

        Example:
            >>> one = LIBRARY.narrow(1, 8192, 1, 768)
            >>> one == LIBRARY.narrow(1, 8192, 7, 768) > LIBRARY.launch
            True
        """
        tiles = batch * -(-rows // _TILE) * -(-columns // _TILE)
        rounds = -(-tiles // _MULTIPROCESSORS)
        terms = -(-inner // _TERMS) * _TERMS
        work = 2 * _TILE * _TILE * terms * rounds * _MULTIPROCESSORS
        return self.launch + work / min(self.rates.values())

    def copying(self, moved: int) -> float:
        """Return how long a copy takes that moves some bytes [s]."""
        return moved / self.bandwidth


# of the kernel that a profile of gpt2 on an H200 names for products of odd extents
_TILE, _TERMS, _MULTIPROCESSORS = 128, 32, 132

# The rates are medians over large products of all that the result file has of that
# alignment, to two digits. Bandwidth and launch are assumed: a plain copy moves
# 4.2e12 bytes/s there (permute_speed_gpu.json), rows of odd lengths are slower.
LIBRARY = Library(
    {2: 1.2e14, 4: 2.3e14, 8: 2.5e14, 16: 7.3e14},
    odd_rows=4.2e14,
    origin="product_alignment_gpu.json",
    bandwidth=3.3e12,
    launch=5e-6,
)
"""cuBLAS on an H200."""


class ShapeClass(NamedTuple):
    """Products that are alike: what is measured of one counts for all.

    Attributes:
        tiles: Floor of log2 of the number of elements of the result over 128 * 128.
        terms: Floor of log2 of the terms of a sum.
        turned: Which factors have their terms adjacent in memory.
        costly: Whether the epilogue has an exponential or the like.
        read: Whether another kernel reads the epilogue's result: it could have done
            the epilogue on the way.
        stays: Whether the epilogue's result is needed in memory besides: a call, the
            caller or another product reads it.
        kept: Whether the product itself is stored as well.
    """

    tiles: int
    terms: int
    turned: tuple[bool, bool]
    costly: bool
    read: bool
    stays: bool
    kept: bool

    @classmethod
    def of(
        cls,
        shape: tuple[int, int, int],
        turned: tuple[bool, bool],
        costly: bool,
        read: bool = False,
        stays: bool = True,
        kept: bool = False,
    ) -> "ShapeClass":
        """Return the class of a product.

        Args:
            shape: Rows, columns and terms [elements].
            turned: Which factors have their terms adjacent.
            costly: Whether the epilogue has an exponential or the like.
            read: Whether another kernel reads the epilogue's result.
            stays: Whether its result is needed in memory besides.
            kept: Whether the product itself is stored as well.

        Example:
            >>> ShapeClass.of((8192, 3072, 768), (True, True), True).tiles
            10
        """
        rows, columns, terms = shape
        tiles = max(rows * columns // (_TILE * _TILE), 1)
        logs = tiles.bit_length() - 1, terms.bit_length() - 1
        return cls(*logs, turned, costly, read, stays, kept)


@dataclass(frozen=True, slots=True)
class Template:
    """How fast our kernel of a product with an epilogue is.

    Attributes:
        rates: Tiling -> rate of large products [operations/s].
        origin: Of the rates, as in :class:`~compiler.cost.device.Constant`.
        capability: Compute capability of the GPU on which both were measured.
        faster: Class -> the tiling with which a product and its epilogue took less
            than the library's product and a second kernel, by measurement.
        most_waste: The largest waste of a product of which ``faster`` tells: where
            more of the tiles is outside the result, the class says nothing.
    """

    rates: Mapping[Tiling, float]
    origin: str
    capability: tuple[int, int]
    faster: Mapping[ShapeClass, Tiling] = field(default_factory=dict)
    most_waste: float = 1.0

    def seconds(self, shape: tuple[int, int, int], tiling: Tiling) -> float:
        """Return how long a product takes without its epilogue [s].

        A multiprocessor does whole tiles, in rounds.

        Args:
            shape: Rows, columns and terms [elements].
            tiling: A key of ``rates``.
        """
        rows, columns, terms = shape
        tiles = -(-rows // tiling.rows) * -(-columns // tiling.columns)
        rounds = -(-tiles // _MULTIPROCESSORS)
        padded = -(-terms // tiling.terms) * tiling.terms
        work = 2 * tiling.rows * tiling.columns * padded * rounds * _MULTIPROCESSORS
        return work / self.rates[tiling]

    def waste(self, shape: tuple[int, int, int], tiling: Tiling) -> float:
        """Return the elements of all tiles over those of the result.

        Of the product or of the product of the transposes, whichever is more.

        Args:
            shape: Rows, columns and terms [elements].
            tiling: Of the result.

        Example:
            >>> TEMPLATE.waste((64, 1024, 768), Tiling(128, 128, 64, 4, 4))
            2.0
        """
        rows, columns, _ = shape
        found = 0.0
        for m, n in ((rows, columns), (columns, rows)):
            tiles = -(-m // tiling.rows) * -(-n // tiling.columns)
            found = max(found, tiles * tiling.rows * tiling.columns / (m * n))
        return found

    def best(self, shape: tuple[int, int, int]) -> Tiling:
        """Return the tiling that should be the fastest for a product.

        Args:
            shape: Rows, columns and terms [elements].

        Example:
            >>> TEMPLATE.best((8192, 3072, 768)).columns
            256
        """
        return min(self.rates, key=lambda tiling: self.seconds(shape, tiling))


# wgmma does 64 rows for each of four warps; the larger a tile, the fewer bytes a
# multiply-add needs from memory: 128 x 256 is what the library's own kernels have.
TEMPLATE = Template(
    {
        Tiling(128, 256, 64, 8, 3): 6.0e14,
        Tiling(128, 128, 64, 4, 4): 5.4e14,
        Tiling(64, 128, 64, 4, 4): 4.2e14,
        Tiling(64, 64, 64, 4, 4): 3.0e14,
    },
    origin="assumed",
    capability=(9, 0),
    faster={
        ShapeClass(10, 9, (True, True), True, False, True, False): Tiling(
            256, 128, 64, 8, 3, 132, True
        ),
        ShapeClass(10, 10, (True, True), True, False, True, False): Tiling(
            128, 128, 64, 4, 3, 0, False
        ),
        ShapeClass(11, 9, (True, True), True, False, True, False): Tiling(
            128, 256, 64, 8, 3, 132, True
        ),
        ShapeClass(14, 9, (True, True), False, False, True, False): Tiling(
            128, 256, 64, 8, 3, 132, True
        ),
        ShapeClass(9, 8, (True, True), False, True, True, False): Tiling(
            128, 256, 64, 8, 3, 132, False
        ),
    },
    most_waste=1.31,
)
"""On an H200: ``benchmarks/results/product_epilogue_gpu.json`` has what is faster."""
