"""The contents of one register, in all threads at once.

A word is a number that depends on the thread, a pointer (a number relative to a base
that is not known), or data: bytes that are known by where they came from. Numbers are
exact machine integers, one a thread.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .provenance import LAST_CONSTANT, Codes

Numbers: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]
_BYTES = np.arange(8, dtype=np.uint64) * np.uint64(8)


@dataclass(frozen=True, slots=True)
class Word:
    """A register's contents [threads].

    Attributes:
        bits: Width; 1 for a predicate [bits].
        numbers: Value in each thread, below ``2**bits``; 0 in bytes that are data.
        codes: Provenance of each byte, little end first [threads, bytes]; ``None``
            where the word is a number or a pointer.
        base: Name of what the pointer is relative to.
    """

    bits: int
    numbers: Numbers
    codes: Codes | None = None
    base: str | None = None

    @property
    def is_number(self) -> bool:
        """Whether the word is a plain number in every thread."""
        return self.codes is None and self.base is None

    @property
    def signed(self) -> npt.NDArray[np.int64]:
        """The numbers as two's complement."""
        shift = np.uint64(64 - self.bits)
        found: npt.NDArray[np.int64] = (self.numbers << shift).view(np.int64)
        return found >> np.int64(shift)


def number(bits: int, numbers: Numbers | npt.NDArray[np.int64]) -> Word:
    """Return a number, cut to its width.

    Example:
        >>> number(8, np.array([257], np.uint64)).numbers.tolist()
        [1]
    """
    values: Numbers = numbers.view(np.uint64)
    if bits < 64:
        values = values & np.uint64((1 << bits) - 1)
    return Word(bits, values)


def constant(bits: int, value: int, threads: int) -> Word:
    """Return the same number in each thread."""
    return Word(bits, np.full(threads, value & ((1 << bits) - 1), np.uint64))


def predicate(truth: Mask) -> Word:
    """Return a predicate."""
    return Word(1, truth.astype(np.uint64))


def codes_of(word: Word, size: int | None = None) -> Codes:
    """Return the code of each byte, also of a number [threads, bytes].

    Args:
        word: No pointer.
        size: So many low bytes; default all.
    """
    size = size or max(1, word.bits // 8)
    if word.codes is not None:
        return word.codes[:, :size]
    values = (word.numbers[:, None] >> _BYTES[:size]) & np.uint64(255)
    return ~values.astype(np.int32)


def from_codes(codes: Codes, bits: int | None = None) -> Word:
    """Return the word with these bytes; a plain number where all are constants.

    Example:
        >>> from_codes(np.array([[-2, -1]], np.int32)).numbers.tolist()
        [1]
        >>> from_codes(np.array([[7, 8]], np.int32)).is_number
        False
    """
    size = codes.shape[1]
    constant_bytes = (codes < 0) & (codes >= LAST_CONSTANT)
    values = np.where(constant_bytes, ~codes, 0).astype(np.uint64)
    numbers = (values << _BYTES[:size]).sum(axis=1, dtype=np.uint64)
    bits = bits or 8 * size
    if constant_bytes.all():
        return Word(bits, numbers)
    return Word(bits, numbers, codes)


def unknown(bits: int, code: int, threads: int) -> Word:
    """Return a word of which only the reason is known that it is not known."""
    codes = np.full((threads, max(1, bits // 8)), code, np.int32)
    return Word(bits, np.zeros(threads, np.uint64), codes)
