"""Transpose: the same threads hold the same elements under new coordinates."""

from collections.abc import Sequence

from algebra.dims import dim_name
from algebra.layout import LinearLayout

from .tensor_dims import check_permutation, standard, with_shape


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
    source = standard(layout)
    permutation = check_permutation(order, source.num_out_dims)
    moved = source.transpose_outs([dim_name(dim) for dim in permutation])
    return with_shape(moved, moved.out_bits)
