"""Reshape: coordinates are flattened row-major and cut again; nothing moves."""

from collections.abc import Iterator, Sequence

from algebra.arguments import expect_encoding, expect_integers, expect_layout
from algebra.bits import log2
from algebra.encodings import Blocked, Encoding, Linear, Slice
from algebra.errors import DimMismatchError
from algebra.layout import LinearLayout
from algebra.shapes import reshape_layout

from .blocked_reshape import reshape_blocked
from .linear import linear_encoding
from .tensor_dims import standard


def reshape(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Return the layout of ``tensor.reshape(shape)`` that moves nothing.

    Row-major: the last dim is the fastest.

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
    expect_layout("layout", layout)
    shape = expect_integers("shape", shape)
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
    return reshape_layout(source, shape)


def infer_reshape(
    encoding: Encoding,
    src_shape: Sequence[int],
    dst_shape: Sequence[int],
    release: str = "3.9",
) -> Encoding:
    """Return the encoding of ``tensor.reshape(dst_shape)`` that moves nothing.

    Blocked stays blocked where ``reshape_blocked`` finds how; any other encoding, and
    blocked otherwise, becomes linear. Release 3.9 first tries a slice where a dim of
    size 1 vanishes, and the parent of a slice where its dim of size 1 appears.

    Law: its linear layout is ``reshape`` of the linear layout of ``encoding``.

    Args:
        encoding: Encoding of the source.
        src_shape: Sizes of the source [elements].
        dst_shape: Sizes of the result [elements], same product.
        release: Triton release whose linear layouts are meant.

    Raises:
        DimMismatchError: another number of elements.
        NotPowerOfTwoError: a size is not a power of two.
        EncodingError: the shape does not fit the encoding, or the result has no dims.

    Example:
        >>> rows = Blocked(
        ...     size_per_thread=[4],
        ...     threads_per_warp=[32],
        ...     warps_per_cta=[1],
        ...     order=[0],
        ... )
        >>> infer_reshape(rows, [128], [32, 4]).size_per_thread
        (1, 4)

    Source: Triton ``inferReshapeOpEncoding``.
    """
    expect_encoding("encoding", encoding)
    src_shape = expect_integers("src_shape", src_shape)
    dst_shape = expect_integers("dst_shape", dst_shape)
    moved = reshape(encoding.to_linear_layout(src_shape, release), dst_shape)
    unchanged = tuple(src_shape) == tuple(dst_shape)
    if release == "3.9" and not unchanged:
        for candidate in _with_or_without_one(encoding, src_shape, dst_shape):
            if candidate.to_linear_layout(dst_shape, release) == moved:
                return candidate
    if isinstance(encoding, Blocked):
        blocked = reshape_blocked(encoding, src_shape, dst_shape)
        if blocked is not None:
            return blocked
    return linear_encoding(moved, encoding)


def _with_or_without_one(
    encoding: Encoding, src_shape: Sequence[int], dst_shape: Sequence[int]
) -> Iterator[Encoding]:
    """Yield the slices and the parent that fit if one dim of size 1 goes or comes."""
    src, dst = tuple(src_shape), tuple(dst_shape)
    if not isinstance(encoding, Linear) and len(dst):
        for dim, size in enumerate(src):
            if size == 1 and src[:dim] + src[dim + 1 :] == dst:
                yield Slice(dim=dim, parent=encoding)
    if isinstance(encoding, Slice):
        dim = encoding.dim
        if (*src[:dim], 1, *src[dim:]) == dst:
            yield encoding.parent
