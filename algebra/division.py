"""Direct sums of layouts, and their undoing: division and quotient."""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from . import relabel
from .arguments import expect_layout, expect_names
from .errors import DimMismatchError

if TYPE_CHECKING:
    from .layout import LinearLayout


def supremum(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """Return the shortest list that has both lists as subsequences, left first.

    Raises:
        DimMismatchError: the lists order two common names differently.

    Example:
        >>> supremum(["a", "b"], ["a", "c"])
        ('a', 'b', 'c')

    Source: Triton ``supremum``.
    """
    left, right = expect_names("left", left), expect_names("right", right)
    merged: list[str] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and (j == len(right) or left[i] not in right[j:]):
            merged.append(left[i])
            i += 1
        elif j < len(right) and (i == len(left) or right[j] not in left[i:]):
            merged.append(right[j])
            j += 1
        elif left[i] == right[j]:
            merged.append(left[i])
            i, j = i + 1, j + 1
        else:
            raise DimMismatchError(
                f"shared dims must come in the same order, got {list(left)} and "
                f"{list(right)}; transpose one first",
                left=tuple(left),
                right=tuple(right),
            )
    return tuple(merged)


def product(low: "LinearLayout", high: "LinearLayout") -> relabel.Fields:
    """Return the fields of the direct sum with ``low`` in the low bits."""
    expect_layout("low", low)
    expect_layout("high", high)
    in_names = supremum(low.in_names, high.in_names)
    out_names = supremum(low.out_names, high.out_names)
    low_ins = dict(zip(low.in_names, low.in_bits, strict=True))
    high_ins = dict(zip(high.in_names, high.in_bits, strict=True))
    low_outs = dict(zip(low.out_names, low.out_bits, strict=True))
    high_outs = dict(zip(high.out_names, high.out_bits, strict=True))
    out_bits = tuple([low_outs.get(n, 0) + high_outs.get(n, 0) for n in out_names])
    starts = dict(zip(out_names, [0, *accumulate(out_bits)], strict=False))
    low_columns = _placed(low, [starts[n] for n in low.out_names])
    high_columns = _placed(
        high, [starts[n] + low_outs.get(n, 0) for n in high.out_names]
    )
    columns: list[int] = []
    low_starts = dict(zip(low.in_names, [0, *accumulate(low.in_bits)], strict=False))
    high_starts = dict(zip(high.in_names, [0, *accumulate(high.in_bits)], strict=False))
    for name in in_names:
        for part, begins, widths in (
            (low_columns, low_starts, low_ins),
            (high_columns, high_starts, high_ins),
        ):
            if name in begins:
                columns += part[begins[name] : begins[name] + widths[name]]
    in_bits = tuple([low_ins.get(n, 0) + high_ins.get(n, 0) for n in in_names])
    return in_names, in_bits, out_names, out_bits, tuple(columns)


def quotient_candidate(
    dividend: "LinearLayout", divisor: "LinearLayout", *, left: bool
) -> relabel.Fields | None:
    """Return the fields of C with dividend == divisor * C (left) or C * divisor.

    The candidate is what is left of the dividend's bases on the other side; it is
    the quotient exactly when the product gives the dividend back.
    """
    ins = _remaining(dividend.in_dims, divisor.in_dims)
    outs = _remaining(dividend.out_dims, divisor.out_dims)
    if ins is None or outs is None:
        return None
    divided_outs = divisor.out_dims
    out_bits = tuple(outs.values())
    old = [0, *accumulate(dividend.out_bits)]
    new = [0, *accumulate(out_bits)]
    fields = []
    for i, name in enumerate(dividend.out_names):
        skip = divided_outs.get(name, 1).bit_length() - 1 if left else 0
        fields.append((old[i] + skip, (1 << out_bits[i]) - 1, new[i]))
    columns: list[int] = []
    start = 0
    for name, bits in zip(dividend.in_names, dividend.in_bits, strict=True):
        first = bits - ins[name] if left else 0
        columns += dividend.columns[start + first : start + first + ins[name]]
        start += bits
    moved = tuple(relabel.moved(columns, fields))
    candidate = type(dividend).from_columns(ins, outs, moved)
    product_of_both = divisor * candidate if left else candidate * divisor
    if product_of_both != dividend:
        return None
    return dividend.in_names, tuple(ins.values()), dividend.out_names, out_bits, moved


def is_trivial_over(layout: "LinearLayout", dims: Sequence[str]) -> bool:
    """Say whether the layout is block-diagonal with the identity on ``dims``."""
    if not all(d in layout.in_names and d in layout.out_names for d in dims):
        return False
    return square_sublayout_is_identity(layout, dims) and (
        layout.sublayout_is_zero([n for n in layout.in_names if n not in dims], dims)
        and layout.sublayout_is_zero(
            dims, [n for n in layout.out_names if n not in dims]
        )
    )


def is_identity_on_out_dim(layout: "LinearLayout", dim: str) -> bool:
    """Say whether out-dim ``dim`` is in-dim ``dim`` and nothing else feeds it."""
    if dim not in layout.in_names or dim not in layout.out_names:
        return False
    return square_sublayout_is_identity(layout, [dim]) and layout.sublayout_is_zero(
        [n for n in layout.in_names if n != dim], [dim]
    )


def square_sublayout_is_identity(layout: "LinearLayout", dims: Sequence[str]) -> bool:
    """Say whether restricted to ``dims`` on both sides the layout is the identity.

    Raises:
        DimMismatchError: a name is not an in-dim and an out-dim.

    Source: Triton ``squareSublayoutIsIdentity``.
    """
    expect_layout("layout", layout)
    part = layout.sublayout(dims, dims)
    if part.in_dims != part.out_dims:
        return False
    part = part.transpose_outs(part.in_names)
    return part.columns == tuple(1 << i for i in range(len(part.columns)))


def _placed(layout: "LinearLayout", places: Sequence[int]) -> list[int]:
    """Return the columns with out-dim i's field shifted to ``places[i]``."""
    starts = [0, *accumulate(layout.out_bits)]
    fields = [
        (start, (1 << bits) - 1, place)
        for start, bits, place in zip(starts, layout.out_bits, places, strict=False)
    ]
    return list(relabel.moved(layout.columns, fields))


def _remaining(whole: dict[str, int], part: dict[str, int]) -> dict[str, int] | None:
    """Return log2 of whole / part for each dim; None if part is not in whole."""
    if any(name not in whole or size > whole[name] for name, size in part.items()):
        return None
    return {
        name: (size // part.get(name, 1)).bit_length() - 1
        for name, size in whole.items()
    }
