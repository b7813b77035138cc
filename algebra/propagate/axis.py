"""Axes that appear, grow and vanish: expand_dims, broadcast, reduce."""

from collections.abc import Sequence

from algebra.arguments import expect_encoding, expect_integers, expect_layout
from algebra.bits import log2
from algebra.dims import REGISTER, dim_name
from algebra.encodings import Encoding, Slice
from algebra.errors import DimMismatchError, EncodingError
from algebra.layout import LinearLayout
from algebra.shapes import remove_standard_dim

from .tensor_dims import check_axis, check_distributed, standard, with_shape


def expand_dims(layout: LinearLayout, axis: int) -> LinearLayout:
    """Return the layout of a tensor with a new dim of size 1 at ``axis``.

    Law: ``reduce(expand_dims(L, a), a)`` is L without its zero register bases.

    Args:
        layout: Layout onto a tensor.
        axis: Where the new dim stands, 0 .. rank.

    Raises:
        OutOfRangeError: no such place.

    Example:
        >>> expand_dims(LinearLayout.identity_1d(4, "lane", "dim0"), 0).out_dims
        {'dim0': 1, 'dim1': 4}

    Source: Triton ``inferExpandDimsOpEncoding``.
    """
    expect_layout("layout", layout)
    source = standard(layout)
    check_axis(axis, source.num_out_dims + 1)
    bits = source.out_bits
    return with_shape(source, (*bits[:axis], 0, *bits[axis:]))


def reduce(layout: LinearLayout, axis: int) -> LinearLayout:
    """Return the layout of a reduction along ``axis``, in the threads that had it.

    Lanes, warps and blocks that were spread over the axis all hold the result.

    Law: for each x there is an x' that differs in registers alone with
    ``reduce(L, a)(x') == L(x)`` without coordinate a; surjective layouts stay
    surjective.

    Args:
        layout: Distributed layout onto a tensor.
        axis: Tensor dim that vanishes.

    Returns:
        The projection; register bases that became zero are dropped.

    Raises:
        OutOfRangeError: no such axis.
        UnsupportedLayoutError: the layout has no registers.

    Example:
        >>> pair = LinearLayout.identity_1d(2, "register", "dim0")
        >>> reduce(pair * LinearLayout.identity_1d(4, "lane", "dim1"), 0).bases
        {'register': (), 'lane': ((1,), (2,))}

    Source: Triton ``inferReduceOpEncoding``, ``removeStandardDim``; theorem
    ``slice_of_surjective_is_surjective``.
    """
    expect_layout("layout", layout)
    source = standard(layout)
    check_axis(axis, source.num_out_dims)
    check_distributed(source, "reduce")
    return remove_standard_dim(source, axis).remove_zero_bases_along_dim(REGISTER)


def broadcast(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Return the layout of a tensor whose dims of size 1 grow to ``shape``.

    Each thread keeps copies of what it has: the new positions are new registers, the
    last dim the fastest. No data crosses threads.

    Law: surjective layouts stay surjective; the old layout is the part with the new
    register bits zero.

    Args:
        layout: Distributed layout onto a tensor.
        shape: New sizes [elements]; they differ only where the old size is 1.

    Raises:
        DimMismatchError: another rank, or a dim larger than 1 changes.
        NotPowerOfTwoError: a size is not a power of two.
        UnsupportedLayoutError: the layout has no registers.

    Example:
        >>> column = expand_dims(LinearLayout.identity_1d(4, "lane", "dim0"), 1)
        >>> column *= LinearLayout.zeros_1d(1, "register", "dim1")
        >>> broadcast(column, [4, 2]).bases
        {'lane': ((1, 0), (2, 0)), 'register': ((0, 1),)}

    Source: Triton ``BroadcastOp``: operand and result have one encoding; theorem
    ``broadcast_of_surjective_is_surjective``.
    """
    expect_layout("layout", layout)
    shape = expect_integers("shape", shape)
    source = standard(layout)
    check_distributed(source, "broadcast")
    bits = [log2(size, what="size of the new shape") for size in shape]
    fits = len(bits) == source.num_out_dims and all(
        old in (0, new) for old, new in zip(source.out_bits, bits, strict=True)
    )
    if not fits:
        raise DimMismatchError(
            f"broadcast changes dims of size 1 only, got shape={list(shape)} for "
            f"out_dims={source.out_dims}; use expand_dims or reshape first",
            needed=source.out_dims,
            got=tuple(shape),
        )
    grown = source
    for dim in reversed(range(len(bits))):
        if bits[dim] > source.out_bits[dim]:
            copies = LinearLayout.identity_1d(shape[dim], REGISTER, dim_name(dim))
            grown = grown * copies
    return grown


def infer_expand_dims(encoding: Encoding, axis: int) -> Encoding:
    """Return the encoding of a tensor with a new dim of size 1 at ``axis``.

    Law: ``infer_expand_dims(infer_reduce(e, a), a) == e``.

    Args:
        encoding: ``Slice(axis, parent)``.
        axis: Where the new dim stands.

    Returns:
        The parent.

    Raises:
        EncodingError: the encoding is no slice, or of another dim.

    Example:
        >>> from algebra.encodings import NvidiaMma
        >>> mma = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
        >>> infer_expand_dims(Slice(dim=1, parent=mma), 1) == mma
        True

    Source: Triton ``inferExpandDimsOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    if not isinstance(encoding, Slice) or encoding.dim != axis:
        raise EncodingError(
            f"expand_dims at axis {axis} needs an operand with Slice(dim={axis}, "
            f"parent=...), got {encoding!r}; convert it to the slice of the encoding "
            "that the result shall have",
            axis=axis,
            got=encoding,
        )
    return encoding.parent


def infer_reduce(encoding: Encoding, axis: int) -> Slice:
    """Return the encoding of a reduction along ``axis``: a slice.

    Law: at every shape its linear layout is ``reduce`` of that of ``encoding``, as far
    as the size of the axis leaves no trace in the other dims.

    Args:
        encoding: Encoding, in registers, of the source.
        axis: Tensor dim that vanishes.

    Raises:
        EncodingError: no such axis, or the only one.

    Example:
        >>> from algebra.encodings import NvidiaMma
        >>> mma = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
        >>> infer_reduce(mma, 1).dim
        1

    Source: Triton ``inferReduceOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    return Slice(dim=axis, parent=encoding)


def infer_broadcast(
    encoding: Encoding, src_shape: Sequence[int], dst_shape: Sequence[int]
) -> Encoding:
    """Return the encoding of a tensor whose dims of size 1 grow: the same one.

    Args:
        encoding: Encoding of the source.
        src_shape: Sizes of the source [elements].
        dst_shape: Sizes of the result [elements].

    Raises:
        DimMismatchError: another rank, or a dim larger than 1 changes.

    Example:
        >>> from algebra.encodings import NvidiaMma
        >>> mma = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
        >>> infer_broadcast(mma, [64, 1], [64, 32]) == mma
        True

    Source: Triton ``BroadcastOp``, trait ``SameOperandsAndResultEncoding``.
    """
    expect_encoding("encoding", encoding)
    src_shape = expect_integers("src_shape", src_shape)
    dst_shape = expect_integers("dst_shape", dst_shape)
    if len(src_shape) != len(dst_shape) or any(
        old not in (1, new) for old, new in zip(src_shape, dst_shape, strict=True)
    ):
        raise DimMismatchError(
            f"broadcast changes dims of size 1 only, got src_shape={list(src_shape)}, "
            f"dst_shape={list(dst_shape)}; use expand_dims or reshape first",
            needed=tuple(src_shape),
            got=tuple(dst_shape),
        )
    return encoding
