"""Shared memory of the tensor cores: rows of 32, 64 or 128 bytes, swizzled in eights.

The contiguous dim is cut into strips as wide as the swizzle; a strip holds its rows one
after the other, and within a row 16-byte pieces are xored with the row's phase. The
hardware copies boxes of at most 256 elements along each dim; a tensor with more has its
boxes in the order of the dims. Without swizzle a box is in plain row-major order.

At the pinned commit a strip ran over all rows of the tensor. That is the same, but for
a transposed tensor with more than 256 rows, whose boxes follow each other along the
contiguous dim first.
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index, ceil_div, product, smaller
from .model import SharedModel
from .upstream import upstream

SOURCE = upstream("getSwizzledSharedPtrs, the branch with a leading offset")
BOX = 256


def nvmma_shared(
    shape: Sequence[Extent],
    swizzle_byte_width: int,
    element_bit_width: Extent,
    transposed: bool = False,
    fp4_padded: bool = False,
) -> SharedModel:
    """Return the address formula of tensor-core shared memory.

    Args:
        shape: Tensor shape of one block.
        swizzle_byte_width: 0, 32, 64 or 128.
        element_bit_width: Width of an element [bits].
        transposed: Whether dim 0 is the contiguous one.
        fp4_padded: Whether each 8 elements are followed by 8 unused places.

    Example:
        >>> nvmma_shared([8, 16], 32, 16).offset([4, 0])
        72

    Source: see ``SOURCE``.
    """
    rank = len(shape)
    contiguous = 0 if transposed else rank - 1
    outer = [d for d in range(rank) if d != contiguous]
    box = [smaller(size, BOX) for size in shape]
    inner = product(box[1:-1])
    row_length: Extent = 0
    if swizzle_byte_width:
        row_length = ceil_div(8 * swizzle_byte_width, element_bit_width)
        box[contiguous] = ceil_div(row_length, 2) if fp4_padded else row_length

    def offset(coordinates: Sequence[Index]) -> Index:
        row: Index = 0
        rows: Extent = 1
        for d in reversed(outer):
            row = row + coordinates[d] % box[d] * rows
            rows = box[d] * rows
        if transposed:
            # rows of a transposed box of rank 3 and more count the last dim last
            row = row // inner + row % inner * ceil_div(rows, inner)
        column = coordinates[contiguous] % box[contiguous]
        if row_length:
            if fp4_padded:
                column = column // 8 * 16 + column % 8
            column = _swizzled(column, row, swizzle_byte_width, element_bit_width)
        places = row_length or box[contiguous]
        total = row * places + column
        size = rows * places
        # without swizzle boxes are row-major, with it they follow the dims
        for d in range(rank) if row_length else reversed(range(rank)):
            total = total + coordinates[d] // box[d] * size
            size = ceil_div(shape[d], box[d]) * size
        return total

    return SharedModel(
        shape=tuple(shape),
        offset=offset,
        source=SOURCE,
        spare=(8,) if fp4_padded else (),
    )


def _swizzled(column: Index, row: Index, swizzle: int, bits: Extent) -> Index:
    """Return the place of a column within its row."""
    vec = ceil_div(128, bits)
    per_phase = 128 // swizzle
    max_phase = swizzle // 16
    phase = row // per_phase % max_phase
    return (column // vec ^ phase) * vec + column % vec
