"""When two encodings of one tensor are the same layout."""

from collections.abc import Sequence

from algebra.arguments import expect_encoding, expect_integers
from algebra.dims import REGISTER
from algebra.encodings import Encoding


def are_equivalent(
    left: Encoding,
    right: Encoding,
    shape: Sequence[int],
    release: str = "3.9",
    ignore_register_broadcast: bool = False,
) -> bool:
    """Say whether two encodings put each element of a tensor in the same place.

    Law: an equivalence relation; equal encodings are equivalent at every shape.

    Args:
        left: One encoding.
        right: Another one.
        shape: Sizes of the tensor [elements].
        release: Triton release whose linear layouts are meant.
        ignore_register_broadcast: Leave registers that hold copies out of account.

    Raises:
        EncodingError: the shape does not fit an encoding.

    Example:
        >>> from algebra.encodings import Blocked
        >>> rows = Blocked(
        ...     size_per_thread=[2],
        ...     threads_per_warp=[32],
        ...     warps_per_cta=[1],
        ...     order=[0],
        ... )
        >>> are_equivalent(rows, rows, [64])
        True

    Source: Triton ``verifyLayoutsAreEqual``.
    """
    expect_encoding("left", left)
    expect_encoding("right", right)
    shape = expect_integers("shape", shape)
    if left == right:
        return True
    layouts = [side.to_linear_layout(shape, release) for side in (left, right)]
    if ignore_register_broadcast:
        layouts = [
            layout.remove_zero_bases_along_dim(REGISTER)
            if layout.has_in_dim(REGISTER)
            else layout
            for layout in layouts
        ]
    return layouts[0] == layouts[1]
