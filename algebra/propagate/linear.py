"""The encoding that names any layout by its bases."""

from algebra.arguments import expect_encoding, expect_layout
from algebra.dims import BLOCK, LANE, OFFSET, REGISTER, WARP
from algebra.encodings import (
    Encoding,
    Linear,
    NvmmaShared,
    PaddedShared,
    SharedLinear,
)
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout

SHARED_ALIGNMENT = 16
"""Alignment of shared memory that asks for none [bytes]."""


def linear_encoding(layout: LinearLayout, source: Encoding) -> Encoding:
    """Return the encoding whose linear layout is ``layout``.

    Law: ``linear_encoding(layout, source).to_linear_layout(shape) == layout`` for the
    shape of ``layout``.

    Args:
        layout: From (register, lane, warp, block) or (offset, block) to the tensor.
        source: Encoding that the layout comes from: its paddings and its alignment
            are kept.

    Returns:
        ``Linear`` in registers, ``SharedLinear`` or ``PaddedShared`` in memory.

    Raises:
        UnsupportedLayoutError: the layout is of tensor or partitioned memory.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[1]], "lane": [], "warp": [], "block": []}, ["dim0"]
        ... )
        >>> source = Linear(register=[[1]], lane=[], warp=[], block=[])
        >>> linear_encoding(layout, source) == source
        True

    Source: Triton ``LinearEncodingAttr``, ``SharedLinearEncodingAttr``.
    """
    expect_layout("layout", layout)
    expect_encoding("source", source)
    bases = layout.bases
    shape = tuple(layout.out_dims.values())
    if layout.in_names == (REGISTER, LANE, WARP, BLOCK):
        return Linear(**bases, shape=shape)
    if layout.in_names != (OFFSET, BLOCK):
        raise UnsupportedLayoutError(
            "only layouts of registers (register, lane, warp, block) and of shared "
            "memory (offset, block) are named by their bases, got "
            f"in_dims={list(layout.in_names)}; copy the tensor there first",
            in_dims=layout.in_names,
        )
    if isinstance(source, PaddedShared):
        return PaddedShared(
            intervals=source.intervals, paddings=source.paddings, **bases, shape=shape
        )
    return SharedLinear(**bases, alignment=_alignment(source))


def _alignment(source: Encoding) -> int:
    if isinstance(source, SharedLinear):
        return source.alignment
    if isinstance(source, NvmmaShared):
        return max(128, 8 * source.swizzle_byte_width)
    return SHARED_ALIGNMENT
