"""Reshape: coordinates are flattened row-major and cut again; nothing moves."""

from collections.abc import Sequence

from algebra.bits import log2
from algebra.errors import DimMismatchError
from algebra.layout import LinearLayout

from .tensor_dims import standard, with_shape
from .transpose import trans


def reshape(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Return the layout of ``tensor.reshape(shape)`` that moves nothing.

    Row-major: the last dim is the fastest. So the dims are reversed, cut again as
    packed bits, and reversed back.

    Law: the row-major position of ``reshape(L, s)(x)`` in ``s`` equals that of
    ``L(x)`` in the old shape; back to the old shape is the identity; surjective
    layouts stay surjective.

    Args:
        layout: Layout onto a tensor with dims dim0, dim1, ...
        shape: New sizes [elements], powers of two with the same product.

    Returns:
        Layout with the in-dims of ``layout``.

    Raises:
        DimMismatchError: another number of elements.
        NotPowerOfTwoError: a size is not a power of two.

    Example:
        >>> layout = LinearLayout.identity_1d(8, "lane", "dim0")
        >>> reshape(layout, [2, 4]).bases
        {'lane': ((0, 1), (0, 2), (1, 0))}

    Source: Triton ``reshapeLayout``, ``inferReshapeOpEncoding``; theorem
    ``reshape_of_surjective_is_surjective``.
    """
    source = standard(layout)
    bits = [log2(size, what="size of the new shape") for size in shape]
    if sum(bits) != sum(source.out_bits):
        raise DimMismatchError(
            f"reshape keeps the number of elements, needed "
            f"{1 << sum(source.out_bits)}, got {1 << sum(bits)} from "
            f"shape={list(shape)}; change a size of the new shape",
            needed=1 << sum(source.out_bits),
            got=1 << sum(bits),
        )
    flat = trans(source, range(source.num_out_dims)[::-1])
    return trans(with_shape(flat, bits[::-1]), range(len(bits))[::-1])
