"""Permutations with a name, as layouts for ``compiler.permute``.

Each is the map "index of the input -> index of the output", row-major, with one in-dim
and one out-dim called ``index``. A published gather list (``out[i] = in[list[i]]``) is
the inverse of that map; where a source publishes one, the docstring says so.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from algebra import AffineLayout, LinearLayout
from algebra.bits import log2
from algebra.errors import DimMismatchError, OutOfRangeError

if TYPE_CHECKING:
    import torch

INDEX: Final = "index"

MOST_BITS: Final = 1024
"""Bits of the longest index that a map is made for."""

_MARLIN_GATHER: Final = (128, 8, 16, 256, 512, 32, 64, 1, 2, 4)
_AWQ_GATHER: Final = (2, 4, 1)


def from_columns(columns: Sequence[int]) -> LinearLayout:
    """Return the map of flat indices with these images of the index bits.

    Example:
        >>> from_columns([2, 1]).bases
        {'index': ((2,), (1,))}
    """
    bits = len(columns)
    return LinearLayout.from_columns({INDEX: bits}, {INDEX: bits}, columns)


def from_gather(columns: Sequence[int]) -> LinearLayout:
    """Return the map whose gather list is the span of ``columns``.

    Law: with ``f = from_gather(columns)``, ``out[i] = in[g(i)]`` and ``g`` the map of
    ``columns``, f moves element g(i) to i.

    Raises:
        NotInvertibleError: The list names an index twice.
    """
    return from_columns(columns).invert()


def permute_axes(shape: Sequence[int], axes: Sequence[int]) -> LinearLayout:
    """Return the map of ``tensor.permute(axes).contiguous()``.

    Args:
        shape: Row-major extents of the input, powers of two [elements].
        axes: Input axis of each output axis, as in torch.

    Raises:
        NotPowerOfTwoError: An extent is not a power of two.
        DimMismatchError: ``axes`` is not a permutation of the axes.

    Example:
        >>> permute_axes((2, 4), (1, 0)).bases
        {'index': ((2,), (4,), (1,))}
    """
    if sorted(axes) != list(range(len(shape))):
        raise DimMismatchError(
            f"axes must name each of the {len(shape)} axes of shape={tuple(shape)} "
            f"once, got axes={tuple(axes)}",
            axes=tuple(axes),
        )
    bits = [log2(size, what=f"shape[{axis}]") for axis, size in enumerate(shape)]
    start, place = {}, 0
    for axis in reversed(axes):
        start[axis] = place
        place += bits[axis]
    columns = [
        1 << (start[axis] + bit)
        for axis in reversed(range(len(shape)))
        for bit in range(bits[axis])
    ]
    return from_columns(columns)


def transpose(rows: int, columns: int) -> LinearLayout:
    """Return the map of a row-major matrix to its row-major transpose.

    Example:
        >>> transpose(2, 2).bases
        {'index': ((2,), (1,))}
    """
    return permute_axes((rows, columns), (1, 0))


def nchw_to_nhwc(channels: int, height: int, width: int) -> LinearLayout:
    """Return the map of one image to channels-last; a batch is one after another.

    Extents are powers of two; ``channels_last`` takes any.

    Example:
        >>> nchw_to_nhwc(2, 2, 2).bases
        {'index': ((2,), (4,), (1,))}
    """
    return permute_axes((channels, height, width), (1, 2, 0))


def nhwc_to_nchw(channels: int, height: int, width: int) -> LinearLayout:
    """Return the inverse of ``nchw_to_nhwc``."""
    return permute_axes((height, width, channels), (2, 0, 1))


def channels_last(images: "torch.Tensor") -> "torch.Tensor":
    """Return a batch of images as NHWC in contiguous memory, whatever the extents.

    Law: ``channels_last(x) == x.permute(0, 2, 3, 1).contiguous()``, bit for bit.
    Powers of two are permuted by ``nchw_to_nhwc``, other extents are cut into masked
    tiles. Differentiable.

    Args:
        images: Any dtype and strides, on the CPU or a GPU [N, C, H, W].

    Raises:
        DimMismatchError: ``images`` does not have four axes.
        NotATensorError: ``images`` is no dense tensor.

    Example:
        >>> import torch
        >>> channels_last(torch.zeros(2, 3, 224, 224)).shape
        torch.Size([2, 224, 224, 3])
    """
    from .permuting.execute import check_tensor  # torch: only where it is used
    from .permuting.transposition import transpose_matrices

    if check_tensor(images).dim() != 4:
        raise DimMismatchError(
            "images have the axes N, C, H, W, got "
            f"shape={tuple(images.shape)}; add or flatten axes",
            shape=tuple(images.shape),
        )
    batch, channels, height, width = images.shape
    matrices = images.reshape(batch, channels, height * width)
    return transpose_matrices(matrices).view(batch, height, width, channels)


def nc32hw32(channels: int, height: int, width: int) -> LinearLayout:
    """Return the map of an NCHW image to NC/32HW32: 32 channels innermost.

    Raises:
        NotPowerOfTwoError: An extent is not a power of two.
        DimMismatchError: ``channels`` is less than 32.
    """
    if log2(channels, what="channels") < 5:
        raise DimMismatchError(
            f"NC/32HW32 needs channels >= 32, got channels={channels}; pad to 32",
            channels=channels,
        )
    return permute_axes((channels // 32, 32, height, width), (0, 2, 3, 1))


def pixel_shuffle(channels: int, height: int, width: int, factor: int) -> LinearLayout:
    """Return the map of ``torch.pixel_shuffle`` on one image.

    Args:
        channels: Output channels; the input has ``channels * factor**2``.
        height: Input height.
        width: Input width.
        factor: The upscale factor.
    """
    shape = (channels, factor, factor, height, width)
    return permute_axes(shape, (0, 3, 1, 4, 2))


def bit_reversal(bits: int) -> LinearLayout:
    """Return the map that reads the index's bits backwards, as in an FFT.

    Raises:
        OutOfRangeError: ``bits`` is no number from 0 to ``MOST_BITS``.

    Example:
        >>> bit_reversal(3).bases
        {'index': ((4,), (2,), (1,))}
    """
    return from_columns([1 << i for i in reversed(_places(bits))])


def morton(rows: int, columns: int) -> LinearLayout:
    """Return the map of a row-major matrix to Z-order, column bits first.

    Where one side is longer, its surplus bits come last.

    Example:
        >>> [column for (column,) in morton(4, 4).bases["index"]]
        [1, 4, 2, 8]
    """
    row_bits, column_bits = log2(rows, what="rows"), log2(columns, what="columns")
    order = sorted(
        [(bit, 0) for bit in range(column_bits)] + [(bit, 1) for bit in range(row_bits)]
    )
    place = {key: 1 << i for i, key in enumerate(order)}
    return from_columns(
        [place[bit, 0] for bit in range(column_bits)]
        + [place[bit, 1] for bit in range(row_bits)]
    )


def gray(bits: int) -> LinearLayout:
    """Return the map ``x -> x ^ (x >> 1)``.

    Raises:
        OutOfRangeError: ``bits`` is no number from 0 to ``MOST_BITS``.

    Example:
        >>> gray(3).bases
        {'index': ((1,), (3,), (6,))}
    """
    return from_columns([1 << i ^ 1 << i >> 1 for i in _places(bits)])


def reversal(bits: int) -> AffineLayout:
    """Return the map ``x -> 2**bits - 1 - x``: a flip.

    Raises:
        OutOfRangeError: ``bits`` is no number from 0 to ``MOST_BITS``.
    """
    identity = from_columns([1 << i for i in _places(bits)])
    return AffineLayout(identity, {INDEX: (1 << bits) - 1})


def rotate90(size: int) -> AffineLayout:
    """Return the map of a square matrix to ``torch.rot90`` of it."""
    bits = log2(size)
    return AffineLayout(transpose(size, size), {INDEX: (size - 1) << bits})


def block_scales(rows: int, columns: int) -> LinearLayout:
    """Return the map of row-major scale factors to 128x4 tiles (MXFP8, NVFP4).

    In a tile of 512 bytes, row r and column c are at ``(r % 32) * 16 + (r // 32) * 4 +
    c``; tiles follow each other row-major. Source: cuBLAS, 1D block scaling factors.

    Args:
        rows: At least 128, a power of two.
        columns: At least 4, a power of two.
    """
    if rows < 128 or columns < 4:
        raise DimMismatchError(
            f"block scales come in tiles of 128 x 4, got rows={rows}, "
            f"columns={columns}; pad to full tiles",
            rows=rows,
            columns=columns,
        )
    shape = (rows // 128, 4, 32, columns // 4, 4)
    return permute_axes(shape, (0, 3, 2, 1, 4))


def col32_2r_4r4(rows: int, columns: int) -> LinearLayout:
    """Return the map of a row-major matrix to cuBLASLt's COL32_2R_4R4.

    In a tile of 32 x 32, row r and column c are at ``(((r % 8) // 2 * 4 + r // 8) * 2 +
    r % 2) * 32 + c``; tiles follow each other column-major, 32 columns at a time.
    Source: cuBLASLt, ``cublasLtOrder_t``.

    Args:
        rows: At least 32, a power of two.
        columns: At least 32, a power of two.

    Raises:
        NotPowerOfTwoError: An extent is not a power of two.
        DimMismatchError: An extent is less than 32.

    Example:
        >>> col32_2r_4r4(32, 32).columns[5:]
        (32, 256, 512, 64, 128)
    """
    if rows < 32 or columns < 32:
        raise DimMismatchError(
            f"COL32_2R_4R4 has tiles of 32 x 32, got rows={rows}, columns={columns}; "
            "pad to full tiles",
            rows=rows,
            columns=columns,
        )
    log2(rows, what="rows")
    log2(columns, what="columns")
    shape = (rows // 32, 4, 4, 2, columns // 32, 32)
    return permute_axes(shape, (4, 0, 2, 1, 3, 5))


def awq_order() -> LinearLayout:
    """Return the map of 8 int4 values to AWQ's order in a word.

    The published list, 0 2 4 6 1 3 5 7, is a gather list.
    """
    return from_gather(_AWQ_GATHER)


def marlin_tile() -> LinearLayout:
    """Return the map of a 16 x 64 int4 tile, as four 16 x 16 ones, to Marlin's order.

    Marlin publishes the gather list of 1024 entries, interleaved for its dequantiser;
    this is its inverse, so ``permute(tile, marlin_tile()) == tile[list]``.
    """
    return from_gather(_MARLIN_GATHER)


def marlin_weight(rows: int, columns: int) -> LinearLayout:
    """Return the map of a row-major K x N int4 weight to Marlin's order.

    The weight is cut into 16 x 16 tiles, tiles row-major; four neighbouring tiles are
    one 1024-element unit in ``marlin_tile`` order. Eight int4 values, packed lowest
    first, then make a word.

    Args:
        rows: K, the input features, a power of two of at least 16. Other multiples of
            16 are a batch of ``marlin_weight(16, columns)``.
        columns: N, the output features, a power of two of at least 64.

    Source: E. Frantar et al., Marlin; linearity checked exhaustively in the tests.
    """
    if rows < 16 or columns < 64:
        raise DimMismatchError(
            f"Marlin's units are 16 x 64, got rows={rows}, columns={columns}; pad the "
            "weight",
            rows=rows,
            columns=columns,
        )
    tiles = permute_axes((rows // 16, 16, columns // 16, 16), (0, 2, 1, 3))
    rest = tiles.get_total_in_dim_size_log2() - 10
    units = from_columns(
        [
            *marlin_tile().columns,
            *(1 << (10 + i) for i in range(rest)),
        ]
    )
    return tiles.compose(units)


def _places(bits: int) -> range:
    if not isinstance(bits, int) or not 0 <= bits <= MOST_BITS:
        raise OutOfRangeError(
            f"bits must be a number from 0 to {MOST_BITS}, got bits={bits!r}; give the "
            "logarithm of the number of elements"
        )
    return range(bits)
