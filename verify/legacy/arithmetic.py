"""The few operations of index code, on ints, numpy arrays and terms alike.

A formula uses ``+ * // % ^`` and these functions. Sizes are powers of two: ints, or
``Size`` where a theorem keeps them symbolic.
"""

from collections.abc import Sequence
from typing import Any

from verify.terms import Size, as_size, choose, less, monus

Index = Any
"""An int, a numpy array of ints, or a ``Term``."""

Extent = Any
"""A power of two: an int or a ``Size``."""


def ceil_div(size: Extent, part: Extent) -> Extent:
    """Return the number of parts that cover a size, at least one.

    Example:
        >>> ceil_div(64, 16), ceil_div(16, 64)
        (4, 1)
    """
    if isinstance(size, int) and isinstance(part, int):
        return max(1, size // part)
    return Size(monus(as_size(size).exponent, as_size(part).exponent))


def smaller(left: Extent, right: Extent) -> Extent:
    """Return the smaller of two sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    a, b = as_size(left).exponent, as_size(right).exponent
    return Size(choose(less(a, b), a, b))


def product(sizes: Sequence[Extent]) -> Extent:
    """Return the product of sizes.

    Example:
        >>> product([2, 4, 8])
        64
    """
    total: Extent = 1
    for size in sizes:
        total = size * total
    return total


def delinearize(
    index: Index, sizes: Sequence[Extent], order: Sequence[int]
) -> list[Index]:
    """Split an index into one coordinate a dim, the dim ``order[0]`` fastest.

    The slowest coordinate takes what is left and is not reduced.

    Example:
        >>> delinearize(13, [4, 8], [1, 0])
        [1, 5]

    Source: Triton ``mlir::LLVM::delinearize`` and ``getMultiDimIndex``.
    """
    coordinates: list[Index] = [0] * len(sizes)
    for dim in order[:-1]:
        coordinates[dim] = index % sizes[dim]
        index = index // sizes[dim]
    if order:
        coordinates[order[-1]] = index
    return coordinates
