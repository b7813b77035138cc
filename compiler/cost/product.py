"""What products of matrices cost: by instruction, and as calls of a library."""

from collections.abc import Mapping
from dataclasses import dataclass

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
