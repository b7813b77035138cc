"""Layouts from one dim to one dim: matrices with names, for laws about several maps.

A law such as "composition is associative" needs maps that fit one another. These take
the numbers of bits and the rank, so they fit by construction.
"""

from hypothesis import strategies as st

from algebra import LinearLayout, gauss

from .layouts import matrices


@st.composite
def flat_layouts(
    draw: st.DrawFn,
    in_bits: int,
    out_bits: int,
    *,
    rank: int | None = None,
    in_dim: str = "x",
    out_dim: str = "y",
) -> LinearLayout:
    """Draw a layout with one dim on each side.

    Every matrix of a rank is (invertible) (identity of that size) (invertible), so none
    is left out. ``rank=out_bits`` draws surjections, ``rank=in_bits`` injections.

    Args:
        draw: Given by hypothesis.
        in_bits: Log2 of the size of ``in_dim``.
        out_bits: Log2 of the size of ``out_dim``.
        rank: Of the matrix; default: any.
        in_dim: Name of the in-dim.
        out_dim: Name of the out-dim.
    """
    if rank is None:
        rank = draw(st.integers(0, min(in_bits, out_bits)))
    core = [1 << i if i < rank else 0 for i in range(in_bits)]
    right = gauss.matmul(core, draw(matrices(in_bits)))
    columns = gauss.matmul(draw(matrices(out_bits)), right)
    return LinearLayout.from_columns({in_dim: in_bits}, {out_dim: out_bits}, columns)
