"""Encodings of join, split and fp4_to_fp: which of them keep their names."""

from collections.abc import Sequence
from dataclasses import replace

from algebra.arguments import expect_encoding, expect_integers
from algebra.encodings import Blocked, Cga, DotOperand, Encoding, Slice
from algebra.errors import UnsupportedLayoutError

from .equivalence import are_equivalent
from .join import fp4_to_fp, join, split
from .linear import linear_encoding
from .tensor_dims import check_axis


def infer_join(
    encoding: Encoding, shape: Sequence[int], release: str = "3.9"
) -> Encoding:
    """Return the encoding of ``join(a, b)``.

    A slice along the last dim of an encoding that splits back to it returns that
    encoding; blocked stays blocked with two elements per thread in the new dim, which
    is the fastest; any other encoding becomes linear.

    Law: its linear layout is ``join`` of that of ``encoding``, but for the place of
    one register bit after a slice, and for registers with copies after a slice in
    release 3.9, which leaves them out of account.

    Args:
        encoding: Encoding, in registers, of both operands.
        shape: Sizes of an operand [elements].
        release: Triton release whose linear layouts are meant.

    Raises:
        UnsupportedLayoutError: the encoding is of memory.
        EncodingError: the shape does not fit the encoding.

    Example:
        >>> rows = Blocked(
        ...     size_per_thread=[4],
        ...     threads_per_warp=[32],
        ...     warps_per_cta=[1],
        ...     order=[0],
        ... )
        >>> infer_join(rows, [128]).size_per_thread
        (4, 2)

    Source: Triton ``inferDefaultJoinOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    shape = expect_integers("shape", shape)
    rank = len(shape)
    joined = join(encoding.to_linear_layout(shape, release))
    if isinstance(encoding, Slice) and encoding.dim == rank:
        try:
            halves = infer_split(encoding.parent, [*shape, 2], release)
        except UnsupportedLayoutError:
            return linear_encoding(joined, encoding)
        if are_equivalent(
            halves,
            encoding,
            shape,
            release,
            ignore_register_broadcast=release == "3.9",
        ):
            return encoding.parent
    if isinstance(encoding, Blocked):
        return Blocked(
            size_per_thread=(*encoding.size_per_thread, 2),
            threads_per_warp=(*encoding.threads_per_warp, 1),
            warps_per_cta=(*encoding.warps_per_cta, 1),
            order=(rank, *encoding.order),
            cga=Cga(bases=tuple((*basis, 0) for basis in encoding.cga.bases)),
        )
    return linear_encoding(joined, encoding)


def infer_split(
    encoding: Encoding, shape: Sequence[int], release: str = "3.9"
) -> Encoding:
    """Return the encoding of the halves of a tensor whose last dim has size 2.

    Blocked with exactly the pair in each thread stays blocked without its last dim;
    any other encoding becomes linear. (Gluon converts the halves to a slice of the
    source on top of that.)

    Law: its linear layout is ``split`` of that of ``encoding``.

    Args:
        encoding: Encoding, in registers, of the source.
        shape: Sizes of the source [elements]; the last one is 2.
        release: Triton release whose linear layouts are meant.

    Raises:
        UnsupportedLayoutError: a pair is spread over threads, or the last size is
            not 2.
        EncodingError: the shape does not fit the encoding.

    Example:
        >>> pairs = Blocked(
        ...     size_per_thread=[4, 2],
        ...     threads_per_warp=[32, 1],
        ...     warps_per_cta=[1, 1],
        ...     order=[1, 0],
        ... )
        >>> infer_split(pairs, [128, 2]).size_per_thread
        (4,)

    Source: Triton ``inferSplitOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    shape = expect_integers("shape", shape)
    halves = split(encoding.to_linear_layout(shape, release))
    if isinstance(encoding, Blocked) and encoding.rank > 1:
        last = encoding.rank - 1
        one_thread = (
            encoding.size_per_thread[last] == 2
            and encoding.threads_per_warp[last] == encoding.warps_per_cta[last] == 1
        )
        if one_thread and not any(basis[last] for basis in encoding.cga.bases):
            return Blocked(
                size_per_thread=encoding.size_per_thread[:last],
                threads_per_warp=encoding.threads_per_warp[:last],
                warps_per_cta=encoding.warps_per_cta[:last],
                order=tuple(dim for dim in encoding.order if dim != last),
                cga=encoding.cga.drop(last),
            )
    return linear_encoding(halves, encoding)


def infer_fp4_to_fp(
    encoding: Encoding, shape: Sequence[int], axis: int, release: str = "3.9"
) -> Encoding:
    """Return the encoding of a tensor unpacked from pairs of fp4 along ``axis``.

    Blocked doubles ``size_per_thread`` and a dot operand ``k_width`` along K, if that
    says the same; otherwise the result is linear.

    Law: its linear layout is ``fp4_to_fp`` of that of ``encoding``. Upstream breaks it
    where we do not: for three dims in a cyclic order (it compares ``order[axis]`` with
    0, not ``order[0]`` with the axis), for a dot operand of blocked whose fastest dim
    is not K, and for CTAs that split the axis (it takes the linear layout at the shape
    of the result).

    Args:
        encoding: Encoding, in registers, of the packed bytes.
        shape: Sizes of the packed tensor [elements].
        axis: Tensor dim along which two values are packed in a byte.
        release: Triton release whose linear layouts are meant.

    Raises:
        OutOfRangeError: no such axis.
        UnsupportedLayoutError: the encoding is of memory.
        EncodingError: the shape does not fit the encoding.

    Example:
        >>> rows = Blocked(
        ...     size_per_thread=[4],
        ...     threads_per_warp=[32],
        ...     warps_per_cta=[1],
        ...     order=[0],
        ... )
        >>> infer_fp4_to_fp(rows, [128], 0).size_per_thread
        (8,)

    Source: Triton ``inferFp4ToFpOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    shape = expect_integers("shape", shape)
    check_axis(axis, encoding.rank)
    unpacked = fp4_to_fp(encoding.to_linear_layout(shape, release), axis)
    doubled = _doubled(encoding, axis)
    if doubled is not None:
        sizes = list(unpacked.out_dims.values())
        if doubled.to_linear_layout(sizes, release) == unpacked:
            return doubled
    return linear_encoding(unpacked, encoding)


def _doubled(encoding: Encoding, axis: int) -> Encoding | None:
    """Return the encoding with twice the elements per thread along ``axis``."""
    if isinstance(encoding, Blocked):
        sizes = list(encoding.size_per_thread)
        sizes[axis] *= 2
        return replace(encoding, size_per_thread=tuple(sizes))
    if isinstance(encoding, DotOperand) and encoding.k_dim == axis:
        return replace(encoding, k_width=2 * encoding.k_width)
    return None
