"""Moves of whole rows and columns: order, names, sizes, blocks of a layout.

Each function returns the five fields of the new layout.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from .arguments import expect_layout, expect_names, expect_sizes
from .bits import log2
from .errors import DimMismatchError

if TYPE_CHECKING:
    from .layout import LinearLayout

Names = tuple[str, ...]
Bits = tuple[int, ...]
Fields = tuple[Names, Bits, Names, Bits, tuple[int, ...]]


def position(names: Sequence[str], name: str, what: str) -> int:
    """Return where ``name`` stands; DimMismatchError names what there is."""
    try:
        return names.index(name)
    except ValueError:
        raise DimMismatchError(
            f"{what} must be one of {list(names)}, got {what}={name!r}",
            needed=tuple(names),
            got=name,
        ) from None


def permutation(names: Names, order: Sequence[str], what: str) -> list[int]:
    """Return the positions of ``order``, which must be a permutation of ``names``."""
    order = expect_names("order", order)
    if len(order) != len(names) or set(order) != set(names):
        raise DimMismatchError(
            f"order must be a permutation of the {what} {list(names)}, got "
            f"order={list(order)}",
            needed=names,
            got=order,
        )
    return [names.index(name) for name in order]


def subset(names: Names, wanted: Iterable[str], what: str) -> list[int]:
    """Return the positions of ``wanted`` in the order of ``names``."""
    chosen = {position(names, name, what) for name in expect_names(what, wanted)}
    return sorted(chosen)


def rename(names: Names, old: str, new: str, what: str) -> Names:
    """Return ``names`` with ``old`` replaced by ``new``."""
    where = position(names, old, what)
    if new != old and new in names:
        raise DimMismatchError(
            f"{what} {new!r} exists already in {list(names)}; rename it first", got=new
        )
    return (*names[:where], new, *names[where + 1 :])


def recut(dims: Mapping[str, int], total: int, what: str) -> Bits:
    """Return the log2 sizes of ``dims``, which must have ``total`` bits."""
    expect_sizes("dims", dims)
    bits = tuple(log2(size, what=f"size of {name}") for name, size in dims.items())
    if sum(bits) != total:
        raise DimMismatchError(
            f"new {what} must have 2**{total} elements in all, got "
            f"2**{sum(bits)} from {dict(dims)}",
            needed=1 << total,
            got=1 << sum(bits),
        )
    return bits


def require_size_one(size: int, dim: str) -> None:
    """Raise unless ``size`` is 1."""
    if size != 1:
        raise DimMismatchError(
            f"only a dim of size 1 can be squeezed, got {dim} of size {size}",
            dim=dim,
            got=size,
        )


def take_ins(layout: "LinearLayout", positions: Sequence[int]) -> Fields:
    """Keep the in-dims at ``positions``, in that order."""
    ends = [0, *accumulate(layout.in_bits)]
    columns: list[int] = []
    for p in positions:
        columns += layout.columns[ends[p] : ends[p + 1]]
    return (
        tuple(layout.in_names[p] for p in positions),
        tuple(layout.in_bits[p] for p in positions),
        layout.out_names,
        layout.out_bits,
        tuple(columns),
    )


def take_outs(layout: "LinearLayout", positions: Sequence[int]) -> Fields:
    """Keep the out-dims at ``positions``, in that order."""
    bits = tuple(layout.out_bits[p] for p in positions)
    return (
        layout.in_names,
        layout.in_bits,
        tuple(layout.out_names[p] for p in positions),
        bits,
        tuple(moved(layout.columns, moves(layout.out_bits, positions, bits))),
    )


def moves(
    out_bits: Sequence[int], positions: Sequence[int], wide_bits: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return (from shift, mask, to shift) that carry fields to new places.

    Args:
        out_bits: Widths of the fields now.
        positions: Which field goes to each new place.
        wide_bits: Widths of the new places.
    """
    old = [0, *accumulate(out_bits)]
    new = [0, *accumulate(wide_bits)]
    return [(old[p], (1 << out_bits[p]) - 1, new[i]) for i, p in enumerate(positions)]


def moved(
    columns: Sequence[int], fields: Sequence[tuple[int, int, int]]
) -> Iterable[int]:
    """Return the columns with each field moved."""
    for column in columns:
        image = 0
        for old, mask, new in fields:
            image |= (column >> old & mask) << new
        yield image


def resize_in(layout: "LinearLayout", in_dim: str, bits: int) -> Fields:
    """Give ``in_dim`` ``bits`` bits: drop top bases or append zeros."""
    where = position(layout.in_names, in_dim, "in_dim")
    start = sum(layout.in_bits[:where])
    old = layout.in_bits[where]
    kept = layout.columns[start : start + min(old, bits)]
    return (
        layout.in_names,
        (*layout.in_bits[:where], bits, *layout.in_bits[where + 1 :]),
        layout.out_names,
        layout.out_bits,
        (
            *layout.columns[:start],
            *kept,
            *(0,) * (bits - len(kept)),
            *layout.columns[start + old :],
        ),
    )


def resize_out(layout: "LinearLayout", out_dim: str, bits: int) -> Fields:
    """Keep the low ``bits`` bits of ``out_dim``."""
    where = position(layout.out_names, out_dim, "out_dim")
    old = layout.out_bits[where]
    if bits > old:
        raise DimMismatchError(
            f"an out-dim can only shrink, got size {1 << bits} for {out_dim} of size "
            f"{1 << old}; use ensure_layout_not_smaller_than to repeat the layout",
            dim=out_dim,
            got=1 << bits,
        )
    new_bits = (*layout.out_bits[:where], bits, *layout.out_bits[where + 1 :])
    fields = [
        (shift, mask & (1 << width) - 1, to)
        for (shift, mask, to), width in zip(
            moves(layout.out_bits, range(len(new_bits)), new_bits),
            new_bits,
            strict=True,
        )
    ]
    return (
        layout.in_names,
        layout.in_bits,
        layout.out_names,
        new_bits,
        tuple(moved(layout.columns, fields)),
    )


def drop_zero_bases(layout: "LinearLayout", in_dim: str) -> Fields:
    """Remove the zero bases of ``in_dim``."""
    where = position(layout.in_names, in_dim, "in_dim")
    start = sum(layout.in_bits[:where])
    end = start + layout.in_bits[where]
    kept = tuple(filter(None, layout.columns[start:end]))
    return (
        layout.in_names,
        (*layout.in_bits[:where], len(kept), *layout.in_bits[where + 1 :]),
        layout.out_names,
        layout.out_bits,
        (*layout.columns[:start], *kept, *layout.columns[end:]),
    )


def concat_ins(left: "LinearLayout", right: "LinearLayout") -> Fields:
    """Join the columns of two layouts onto the same out-dims."""
    expect_layout("other", right)
    _require_equal(left.out_dims, right.out_dims, "out_dims", "concat_ins")
    _require_disjoint(left.in_names, right.in_names, "in-dim")
    return (
        left.in_names + right.in_names,
        left.in_bits + right.in_bits,
        left.out_names,
        left.out_bits,
        left.columns + right.columns,
    )


def concat_outs(left: "LinearLayout", right: "LinearLayout") -> Fields:
    """Join the rows of two layouts of the same in-dims."""
    expect_layout("other", right)
    _require_equal(left.in_dims, right.in_dims, "in_dims", "concat_outs")
    _require_disjoint(left.out_names, right.out_names, "out-dim")
    shift = sum(left.out_bits)
    return (
        left.in_names,
        left.in_bits,
        left.out_names + right.out_names,
        left.out_bits + right.out_bits,
        tuple(
            low | high << shift
            for low, high in zip(left.columns, right.columns, strict=True)
        ),
    )


def num_consecutive(layout: "LinearLayout") -> int:
    """Return the largest V with L(aV + v) = L(aV) + v on the first dims."""
    if not layout.in_names or not layout.out_names:
        return 1
    count = 0
    for column in layout.columns[: layout.in_bits[0]]:
        if column != 1 << count or count >= layout.out_bits[0]:
            break
        count += 1
    mask = (1 << layout.out_bits[0]) - 1
    for column in layout.columns[count:]:
        low = column & mask
        if low:
            count = min(count, (low & -low).bit_length() - 1)
    return 1 << count


def _require_equal(
    left: Mapping[str, int], right: Mapping[str, int], what: str, operation: str
) -> None:
    if list(left.items()) != list(right.items()):
        raise DimMismatchError(
            f"{operation} needs equal {what}, got {dict(left)} and {dict(right)}; "
            "transpose or resize one first",
            left=dict(left),
            right=dict(right),
        )


def _require_disjoint(left: Names, right: Names, what: str) -> None:
    common = [name for name in left if name in right]
    if common:
        raise DimMismatchError(
            f"{what} {common[0]!r} occurs on both sides; rename one first", got=common
        )
