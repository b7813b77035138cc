"""F2 matrices and the layouts around them.

Nothing is rejected: an invertible matrix is a permutation of unit vectors followed by
elementary operations, so every draw is one, and it shrinks to the identity. Rank and
broadcast are chosen first, the entries after.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout, gauss

IN_NAMES = ("register", "lane", "warp", "block")
OUT_NAMES = ("dim0", "dim1", "dim2", "dim3")


@st.composite
def matrices(draw: st.DrawFn, bits: int) -> list[int]:
    """Draw the columns of an invertible ``bits`` x ``bits`` matrix.

    Shrinks to the identity.
    """
    columns = [1 << i for i in draw(st.permutations(range(bits)))]
    if bits > 1:
        index = st.integers(0, bits - 1)
        for target, source in draw(
            st.lists(st.tuples(index, index), max_size=2 * bits)
        ):
            if target != source:
                columns[target] ^= columns[source]
    return columns


@st.composite
def splits(draw: st.DrawFn, bits: int, names: Sequence[str]) -> dict[str, int]:
    """Draw named dims with ``bits`` bits in all, some dims perhaps of size 1."""
    count = draw(st.integers(1 if bits else 0, len(names)))
    cuts = sorted(draw(st.lists(st.integers(0, bits), min_size=count, max_size=count)))
    widths = [b - a for a, b in zip([0, *cuts], [*cuts, bits], strict=True)]
    if count:
        widths[count - 1] += widths.pop()
    return dict(zip(names, widths, strict=False))


@st.composite
def layouts(
    draw: st.DrawFn,
    max_bits: int = 8,
    in_names: Sequence[str] = IN_NAMES,
    out_names: Sequence[str] = OUT_NAMES,
) -> LinearLayout:
    """Draw any layout, surjective or not, with or without broadcast.

    Args:
        draw: Given by hypothesis.
        max_bits: At most so many bits on each side.
        in_names: In-dims to choose from, in this order.
        out_names: Out-dims to choose from, in this order.
    """
    outs = draw(splits(draw(st.integers(0, max_bits)), out_names))
    ins = draw(splits(draw(st.integers(0, max_bits)), in_names))
    column = st.integers(0, (1 << sum(outs.values())) - 1)
    count = sum(ins.values())
    columns = draw(st.lists(column, min_size=count, max_size=count))
    return LinearLayout.from_columns(ins, outs, columns)


@st.composite
def surjections(
    draw: st.DrawFn,
    max_bits: int = 6,
    max_broadcast: int = 3,
    out_dims: dict[str, int] | None = None,
    in_names: Sequence[str] = IN_NAMES,
) -> LinearLayout:
    """Draw a surjective layout: a bijection with extra, dependent columns.

    Args:
        draw: Given by hypothesis.
        max_bits: At most so many output bits.
        max_broadcast: At most so many extra input bits.
        out_dims: Name -> log2 size, if it is to map onto given dims.
        in_names: In-dims to choose from, in this order.
    """
    if out_dims is None:
        out_dims = draw(splits(draw(st.integers(0, max_bits)), OUT_NAMES))
    bits = sum(out_dims.values())
    columns = draw(matrices(bits))
    for _ in range(draw(st.integers(0, max_broadcast))):
        extra = gauss.apply(columns, draw(st.integers(0, (1 << bits) - 1)))
        columns.insert(draw(st.integers(0, len(columns))), extra)
    ins = draw(splits(len(columns), in_names))
    return LinearLayout.from_columns(ins, out_dims, columns)


def bijections(max_bits: int = 8) -> st.SearchStrategy[LinearLayout]:
    """Draw an invertible layout."""
    return surjections(max_bits, 0)


@st.composite
def affine_layouts(draw: st.DrawFn, max_bits: int = 8) -> AffineLayout:
    """Draw an invertible affine layout."""
    linear = draw(bijections(max_bits))
    offset = {
        name: draw(st.integers(0, size - 1)) for name, size in linear.out_dims.items()
    }
    return AffineLayout(linear, offset)
