"""Rows of matrices in memory: how they are aligned, and what is wider rows' layout."""

from dataclasses import dataclass, replace

from compiler.ir.index import constant_value
from compiler.ir.node import Buffer

from .work import BYTES

ALIGNMENT = 16
"""What the library's fast products want of addresses, steps and extents [bytes]."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an array's elements are in its storage.

    Attributes:
        shape: Extents [elements].
        strides: Steps [elements].
        offset: Position of the first [elements].
        size: Of an element [bytes].
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    size: int

    @property
    def steps(self) -> list[int]:
        """Steps that the library sees, apart from those of adjacent elements."""
        return [
            s for e, s in zip(self.shape, self.strides, strict=True) if e > 1 and s > 1
        ]

    @property
    def is_matrix(self) -> bool:
        """Whether the library takes it as it is: rows or columns are adjacent."""
        return 1 in self.strides[-2:]

    @property
    def alignment(self) -> int:
        """What all addresses of rows are multiples of, 16 at most [bytes]."""
        found = ALIGNMENT
        for step in (self.offset, *self.steps):
            while step * self.size % found:
                found //= 2
        return found

    def spread(self, row: int, wider: int) -> "Layout | None":
        """Return the layout after each row of the storage got wider.

        Law: an element at ``p`` is at ``p // row * wider + p % row`` then.

        Args:
            row: Step between rows [elements].
            wider: What it becomes [elements].

        Returns:
            None where the array has rows of another length.

        Example:
            >>> Layout((2, 3, 5), (15, 5, 1), 0, 2).spread(5, 8)
            Layout(shape=(2, 3, 5), strides=(24, 8, 1), offset=0, size=2)
        """
        end = self.offset % row
        strides = []
        for extent, step in zip(self.shape, self.strides, strict=True):
            if step % row == 0 or (extent == 1 and step > row):
                strides.append(step // row * wider)
            elif step < row:
                strides.append(step)
                end += (extent - 1) * step
            else:
                return None
        if end >= row:
            return None
        offset = self.offset // row * wider + self.offset % row
        return replace(self, strides=tuple(strides), offset=offset)

    def padded(self) -> "Layout":
        """Return an array of its own with aligned rows, its dims in the same order."""
        order = sorted(range(len(self.shape)), key=lambda dim: self.strides[dim])
        strides, step = [1] * len(self.shape), 1
        for dim in order:
            strides[dim] = step
            step = rounded(step * self.shape[dim], self.size)
        return replace(self, strides=tuple(strides), offset=0)

    @property
    def elements(self) -> int:
        """Number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total


def layout_of(buffer: Buffer) -> Layout | None:
    """Return where an array's elements are; None where only the run knows."""
    if buffer.strides is None:
        return None
    shape = [constant_value(extent) for extent in buffer.shape]
    strides = [constant_value(step) for step in buffer.strides]
    offset = 0 if buffer.offset is None else constant_value(buffer.offset)
    numbers = (*shape, *strides)
    if offset is None or any(number is None or number < 0 for number in numbers):
        return None
    known = tuple(n for n in numbers if n is not None)
    count = len(shape)
    return Layout(known[:count], known[count:], offset, BYTES[buffer.dtype])


def rounded(step: int, size: int) -> int:
    """Return a step rounded up to what is aligned [elements]."""
    lot = ALIGNMENT // size
    return -(-step // lot) * lot


def aligned(extent: int, size: int) -> int:
    """Return an extent rounded down to what is aligned [elements]."""
    return extent - extent % (ALIGNMENT // size)
