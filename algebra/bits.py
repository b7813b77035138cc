"""Bits of non-negative Python integers: the vectors over F2 of this project.

An ``int`` is a vector whose component ``i`` is bit ``i``; ``^`` is addition. There is
no limit on the number of bits.
"""

from collections.abc import Iterator

from .errors import NotPowerOfTwoError


def is_power_of_two(size: int) -> bool:
    """Say whether ``size`` is 1, 2, 4, ...

    Example:
        >>> [size for size in range(9) if is_power_of_two(size)]
        [1, 2, 4, 8]
    """
    return size > 0 and size & (size - 1) == 0


def log2(size: int, *, what: str = "size") -> int:
    """Return the exponent of a power of two.

    Args:
        size: A power of two [elements].
        what: How the error message names the size.

    Raises:
        NotPowerOfTwoError: ``size`` is not a power of two; has ``size``.

    Example:
        >>> log2(32)
        5
    """
    if isinstance(size, int) and size > 0 and size & (size - 1) == 0:
        return size.bit_length() - 1
    raise NotPowerOfTwoError(
        f"{what} must be a power of two, got {what}={size!r}; "
        "pad it to the next power of two and mask the rest",
        size=size,
    )


def parity(vector: int) -> int:
    """Return the sum over F2 of the components of ``vector``.

    Example:
        >>> parity(0b1011)
        1
    """
    return vector.bit_count() & 1


def set_bits(vector: int) -> Iterator[int]:
    """Yield the positions of the ones of ``vector``, lowest first.

    Example:
        >>> list(set_bits(0b1010))
        [1, 3]
    """
    while vector:
        low = vector & -vector
        yield low.bit_length() - 1
        vector ^= low
