"""The out-dims of a layout as tensor dims 0, 1, ..., and checks of axes and orders."""

from collections.abc import Sequence

from algebra.arguments import expect_integers, expect_layout
from algebra.dims import REGISTER, standard_out_dim_names
from algebra.errors import DimMismatchError, OutOfRangeError, UnsupportedLayoutError
from algebra.layout import LinearLayout


def standard(layout: LinearLayout) -> LinearLayout:
    """Put the out-dims in the order dim0, dim1, ...; the map is the same.

    Args:
        layout: Layout onto a tensor; its out-dims are dim0 .. dim{rank-1}, any order.

    Raises:
        DimMismatchError: an out-dim is no tensor dim.

    Example:
        >>> layout = LinearLayout.identity_1d(4, "lane", "dim1")
        >>> standard(layout * LinearLayout.identity_1d(2, "lane", "dim0")).out_dims
        {'dim0': 2, 'dim1': 4}
    """
    expect_layout("layout", layout)
    names = standard_out_dim_names(layout.num_out_dims)
    if layout.out_names == names:
        return layout
    if set(layout.out_names) != set(names):
        raise DimMismatchError(
            f"the out-dims must be the tensor dims {list(names)}, got "
            f"out_dims={list(layout.out_names)}; use rename_out_dim",
            needed=names,
            got=layout.out_names,
        )
    return layout.transpose_outs(names)


def with_shape(layout: LinearLayout, bits: Sequence[int]) -> LinearLayout:
    """Return the layout whose packed images are read as a tensor of other sizes.

    Law: the packed columns are those of ``layout``; only their cut into dims differs.

    Args:
        layout: Any layout.
        bits: Log2 of the sizes of dim0, dim1, ... [bits], dim0 in the low bits.
    """
    expect_layout("layout", layout)
    names = standard_out_dim_names(len(bits))
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, layout.in_bits, strict=True)),
        dict(zip(names, bits, strict=True)),
        layout.columns,
    )


def check_axis(axis: int, rank: int) -> None:
    """Reject an axis that is none of 0, ..., rank - 1.

    Raises:
        OutOfRangeError: names the axis and the rank.

    Example:
        >>> check_axis(1, 2)
    """
    if not isinstance(axis, int) or not 0 <= axis < rank:
        raise OutOfRangeError(
            f"axis must be one of 0 .. {rank - 1} for rank {rank}, got axis={axis!r}; "
            "count the tensor dims from 0, negative axes are not wrapped",
            axis=axis,
            rank=rank,
        )


def check_permutation(order: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return ``order`` as a tuple if it holds each of 0, ..., rank - 1 once.

    Raises:
        DimMismatchError: it does not.

    Example:
        >>> check_permutation([1, 0], 2)
        (1, 0)
    """
    order = expect_integers("order", order)
    permutation = tuple(order)
    if sorted(permutation) != list(range(rank)):
        raise DimMismatchError(
            f"order must be a permutation of {list(range(rank))}, got "
            f"order={list(permutation)}; list each tensor dim once",
            needed=tuple(range(rank)),
            got=permutation,
        )
    return permutation


def check_distributed(layout: LinearLayout, operation: str) -> None:
    """Reject a layout of memory where registers are needed.

    Raises:
        UnsupportedLayoutError: there is no in-dim ``register``.

    Example:
        >>> check_distributed(LinearLayout.identity_1d(2, "register", "dim0"), "join")
    """
    expect_layout("layout", layout)
    if not layout.has_in_dim(REGISTER):
        raise UnsupportedLayoutError(
            f"{operation} needs a distributed layout with an in-dim {REGISTER!r}, got "
            f"in_dims={list(layout.in_names)}; load the tensor to registers first",
            operation=operation,
            in_dims=layout.in_names,
        )
