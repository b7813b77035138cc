"""Which bits of one side a set of dims of the other side can move."""

from collections.abc import Iterable

from .arguments import expect_layout
from .division import square_sublayout_is_identity
from .errors import NotSolvableError
from .layout import LinearLayout


def get_output_basis_mask(
    layout: LinearLayout, in_dims: Iterable[str], out_dim: str
) -> int:
    """Return the bits of ``out_dim`` that some basis of ``in_dims`` touches.

    Raises:
        DimMismatchError: no such dim.

    Source: Triton ``getOutputBasisMask``.
    """
    expect_layout("layout", layout)
    mask = 0
    for column in layout.sublayout(in_dims, [out_dim]).columns:
        mask |= column
    return mask


def get_input_basis_mask(
    layout: LinearLayout, in_dim: str, out_dims: Iterable[str]
) -> int:
    """Return the bits of ``in_dim`` whose basis touches one of ``out_dims``.

    Raises:
        DimMismatchError: no such dim.

    Source: Triton ``getInputBasisMask``.
    """
    expect_layout("layout", layout)
    columns = layout.sublayout([in_dim], out_dims).columns
    return sum(1 << i for i, column in enumerate(columns) if column)


def factor_maximal_identity_prefix(
    layout: LinearLayout, in_dim: str, out_dim: str, max_size: int
) -> tuple[int, LinearLayout]:
    """Divide by the largest identity from ``in_dim`` to ``out_dim``.

    Args:
        layout: Any layout with these dims.
        in_dim: Where the identity starts.
        out_dim: Where it ends.
        max_size: Largest size that is wanted [elements].

    Returns:
        The size, and the quotient.

    Raises:
        DimMismatchError: no such dim.

    Source: Triton ``factorMaximalIdentityPrefix``.
    """
    expect_layout("layout", layout)
    size = min(
        layout.get_in_dim_size(in_dim),
        layout.get_out_dim_size(out_dim),
        1 << max(0, max_size.bit_length() - 1),
    )
    while size > 1:
        prefix = LinearLayout.identity_1d(size, in_dim, out_dim)
        rest = layout.divide_left(prefix)
        if rest is not None:
            return size, rest
        size //= 2
    return 1, layout


def invert_and_compose_local(
    outer: LinearLayout, inner: LinearLayout, dims: Iterable[str]
) -> LinearLayout:
    """Return C with ``outer(C(x)) == inner(x)`` that stays in place where it may.

    As ``inner.invert_and_compose(outer)``, but bits of ``dims`` that ``outer``
    broadcasts are read from the same bit of ``inner`` instead of from bit 0, so that
    a copy is taken from the own block (or warp).

    Raises:
        DimMismatchError: as ``invert_and_compose``.
        NotSolvableError: as ``invert_and_compose``.

    Source: Triton ``invertAndComposeBlockLocal``, 3.9 ``invertAndComposeLocal``.
    """
    expect_layout("outer", outer)
    expect_layout("inner", inner)
    conversion = inner.invert_and_compose(outer)
    columns = list(conversion.columns)
    for dim in dims:
        if not (outer.has_in_dim(dim) and inner.has_in_dim(dim)):
            continue
        here = sum(inner.in_bits[: inner.in_names.index(dim)])
        there = sum(outer.in_bits[: outer.in_names.index(dim)])
        width = inner.get_in_dim_size_log2(dim)
        for i, column in enumerate(outer.in_columns(dim)):
            if not column and i < width:
                columns[here + i] |= 1 << there + i
    return LinearLayout.from_columns(
        dict(zip(conversion.in_names, conversion.in_bits, strict=True)),
        dict(zip(conversion.out_names, conversion.out_bits, strict=True)),
        columns,
    )


def invert_and_compose_block_local(
    outer: LinearLayout, inner: LinearLayout
) -> LinearLayout:
    """Return ``invert_and_compose_local(outer, inner, ["block"])``."""
    expect_layout("outer", outer)
    expect_layout("inner", inner)
    return invert_and_compose_local(outer, inner, ["block"])


def lstsq(matrix: LinearLayout, targets: LinearLayout) -> LinearLayout | None:
    """Return X with ``matrix(X(x)) == targets(x)``, or None.

    None also where the out-dims differ or a dim of ``matrix`` is smaller.

    Source: Triton ``lstsq``; theorem ``conversion_then_destination_is_source``.
    """
    expect_layout("matrix", matrix)
    expect_layout("targets", targets)
    if set(matrix.out_names) != set(targets.out_names):
        return None
    sizes = matrix.out_dims
    if any(size > sizes[name] for name, size in targets.out_dims.items()):
        return None
    renamed = matrix.reshape_ins(
        {f"storage:{name}": size for name, size in matrix.in_dims.items()}
    )
    try:
        solution = targets.invert_and_compose(renamed)
    except NotSolvableError:
        return None
    return solution.reshape_outs(matrix.in_dims)


__all__ = [
    "factor_maximal_identity_prefix",
    "get_input_basis_mask",
    "get_output_basis_mask",
    "invert_and_compose_block_local",
    "invert_and_compose_local",
    "lstsq",
    "square_sublayout_is_identity",
]
