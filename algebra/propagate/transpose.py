"""Transpose: the same threads hold the same elements under new coordinates."""

from collections.abc import Sequence
from dataclasses import replace

from algebra.arguments import expect_encoding, expect_integers, expect_layout
from algebra.encodings import (
    AmdRotatingShared,
    Blocked,
    Cga,
    Encoding,
    NvmmaShared,
    SwizzledShared,
)
from algebra.layout import LinearLayout
from algebra.shapes import transpose_linear_layout

from .linear import linear_encoding
from .tensor_dims import check_permutation, standard


def trans(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """Return the layout of ``tensor.permute(order)`` that moves nothing.

    Law: ``trans(L, p)(x)[i] == L(x)[p[i]]``; a permutation, then its inverse, is the
    identity; surjective layouts stay surjective.

    Args:
        layout: Layout onto a tensor with dims dim0, dim1, ...
        order: ``order[i]`` is the source dim that becomes dim i.

    Returns:
        Layout with the in-dims of ``layout``.

    Raises:
        DimMismatchError: ``order`` is not a permutation of the dims.

    Example:
        >>> layout = LinearLayout.identity_1d(4, "lane", "dim0")
        >>> layout *= LinearLayout.zeros_1d(1, "lane", "dim1")
        >>> trans(layout, [1, 0]).bases
        {'lane': ((0, 1), (0, 2))}

    Source: Triton ``transposeLinearLayout``, ``inferTransOpEncoding``; theorem
    ``transpose_of_surjective_is_surjective``.
    """
    expect_layout("layout", layout)
    order = expect_integers("order", order)
    source = standard(layout)
    permutation = check_permutation(order, source.num_out_dims)
    return transpose_linear_layout(source, permutation)


def infer_trans(
    encoding: Encoding,
    shape: Sequence[int],
    order: Sequence[int],
    release: str = "3.9",
) -> Encoding:
    """Return the encoding of ``tensor.permute(order)`` that moves nothing.

    Blocked and swizzled encodings stay what they are with permuted parameters, NVMMA
    shared memory flips ``transposed`` (rank 2), padded and linear ones permute their
    vectors; any other encoding becomes linear. The identity keeps every encoding.

    Law: its linear layout is ``trans`` of the linear layout of ``encoding``.

    Args:
        encoding: Encoding of the source.
        shape: Sizes of the source [elements].
        order: ``order[i]`` is the source dim that becomes dim i.
        release: Triton release whose linear layouts are meant.

    Raises:
        DimMismatchError: ``order`` is not a permutation of the dims.
        UnsupportedLayoutError: tensor memory cannot be transposed.
        EncodingError: the shape does not fit the encoding.

    Example:
        >>> from algebra.encodings import SwizzledShared
        >>> rows = SwizzledShared(vec=8, per_phase=1, max_phase=8, order=(1, 0))
        >>> infer_trans(rows, [64, 64], [1, 0]).order
        (0, 1)

    Source: Triton ``inferTransOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    shape = expect_integers("shape", shape)
    order = expect_integers("order", order)
    permutation = check_permutation(order, encoding.rank)
    if permutation == tuple(range(encoding.rank)):
        return encoding
    place = {dim: new for new, dim in enumerate(permutation)}

    def permuted(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(values[dim] for dim in permutation)

    cga = Cga(bases=tuple(map(permuted, encoding.cga.bases)))
    match encoding:
        case Blocked():
            return Blocked(
                size_per_thread=permuted(encoding.size_per_thread),
                threads_per_warp=permuted(encoding.threads_per_warp),
                warps_per_cta=permuted(encoding.warps_per_cta),
                order=tuple(place[dim] for dim in encoding.order),
                cga=cga,
            )
        case SwizzledShared() | AmdRotatingShared():
            fast_first = tuple(place[dim] for dim in encoding.order)
            return replace(encoding, order=fast_first, cga=cga)
        case NvmmaShared() if encoding.rank == 2:
            return replace(encoding, transposed=not encoding.transposed, cga=cga)
    moved = trans(encoding.to_linear_layout(shape, release), permutation)
    return linear_encoding(moved, encoding)
