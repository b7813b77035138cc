"""Fitting a layout to a tensor's shape: clamping, repeating, standard tiles."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from .arguments import expect_integers, expect_layout, expect_sizes
from .bits import log2
from .dims import standard_out_dim_names
from .errors import DimMismatchError
from .layout import LinearLayout


def ensure_layout_not_larger_than(
    layout: LinearLayout, shape: Mapping[str, int], broadcast_registers: bool = True
) -> LinearLayout:
    """Clamp out-dims to ``shape``: coordinates beyond it wrap to zero (broadcast).

    Every component of a basis that is not below the new size becomes 0.

    Args:
        layout: Any layout.
        shape: Size [elements] for each out-dim.
        broadcast_registers: If False, bases of the first in-dim that become zero
            here are dropped.

    Returns:
        Layout whose out-dims are at most ``shape``.

    Raises:
        DimMismatchError: an out-dim is not in ``shape``.
        NotPowerOfTwoError: a size is not a power of two.

    Example:
        >>> tile = LinearLayout.identity_1d(8, "lane", "dim0")
        >>> ensure_layout_not_larger_than(tile, {"dim0": 2}).bases
        {'lane': ((1,), (0,), (0,))}

    Source: Triton ``ensureLayoutNotLargerThan``.
    """
    expect_layout("layout", layout)
    target = _log2_shape(layout, shape)
    if all(b <= t for b, t in zip(layout.out_bits, target, strict=True)):
        return layout
    bits = [min(b, t) for b, t in zip(layout.out_bits, target, strict=True)]
    old = [0, *accumulate(layout.out_bits)]
    new = [0, *accumulate(bits)]
    fields = [
        (old[i], (1 << layout.out_bits[i]) - 1, 1 << bits[i], new[i])
        for i in range(len(bits))
    ]
    columns = []
    for column in layout.columns:
        image = 0
        for shift, mask, size, to in fields:
            value = column >> shift & mask
            if value < size:
                image |= value << to
        columns.append(image)
    in_bits = list(layout.in_bits)
    if not broadcast_registers and in_bits:
        registers = [
            image
            for image, column in zip(
                columns[: in_bits[0]], layout.columns, strict=False
            )
            if image or not column
        ]
        columns[: in_bits[0]] = registers
        in_bits[0] = len(registers)
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, in_bits, strict=True)),
        dict(zip(layout.out_names, bits, strict=True)),
        columns,
    )


def ensure_layout_not_smaller_than(
    layout: LinearLayout, shape: Mapping[str, int]
) -> LinearLayout:
    """Repeat the layout along its first in-dim until it covers ``shape``.

    Out-dims grow in the layout's own order.

    Args:
        layout: Any layout with at least one in-dim if it has to grow.
        shape: Size [elements] for each out-dim.

    Raises:
        DimMismatchError: an out-dim is not in ``shape``, or there is no in-dim.
        NotPowerOfTwoError: a size is not a power of two.

    Example:
        >>> tile = LinearLayout.identity_1d(2, "offset", "dim0")
        >>> ensure_layout_not_smaller_than(tile, {"dim0": 8}).bases
        {'offset': ((1,), (2,), (4,))}

    Source: Triton ``ensureLayoutNotSmallerThan``.
    """
    expect_layout("layout", layout)
    target = _log2_shape(layout, shape)
    missing = [max(0, t - b) for b, t in zip(layout.out_bits, target, strict=True)]
    if not any(missing):
        return layout
    if not layout.in_names:
        raise DimMismatchError(
            f"a layout without in-dims cannot be repeated to shape={dict(shape)}",
            needed=dict(shape),
        )
    bits = [b + m for b, m in zip(layout.out_bits, missing, strict=True)]
    wide = layout.transpose_outs(layout.out_names)
    old = [0, *accumulate(layout.out_bits)]
    new = [0, *accumulate(bits)]
    moved = [
        sum(
            (column >> old[i] & (1 << layout.out_bits[i]) - 1) << new[i]
            for i in range(len(bits))
        )
        for column in wide.columns
    ]
    repeats = [
        1 << new[i] + layout.out_bits[i] + k
        for i, count in enumerate(missing)
        for k in range(count)
    ]
    first = layout.in_bits[0]
    in_bits = (first + len(repeats), *layout.in_bits[1:])
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, in_bits, strict=True)),
        dict(zip(layout.out_names, bits, strict=True)),
        [*moved[:first], *repeats, *moved[first:]],
    )


def identity_standard_nd(
    in_dim: str, shape: Sequence[int], order: Sequence[int]
) -> LinearLayout:
    """Return the tile that fills dims in ``order``, fastest first.

    Args:
        in_dim: The one in-dim.
        shape: Size of each tensor dim [elements].
        order: Permutation of the dims, fastest first.

    Raises:
        DimMismatchError: ``order`` is not a permutation of the dims.
        NotPowerOfTwoError: a size is not a power of two.

    Example:
        >>> identity_standard_nd("lane", [2, 4], [1, 0]).bases
        {'lane': ((1, 0), (2, 0), (0, 1))}
        >>> identity_standard_nd("lane", [2, 4], [1, 0]).out_dims
        {'dim1': 4, 'dim0': 2}

    Source: Triton ``identityStandardND``.
    """
    shape = expect_integers("shape", shape)
    order = expect_integers("order", order)
    if sorted(order) != list(range(len(shape))):
        raise DimMismatchError(
            f"order must be a permutation of 0..{len(shape) - 1}, got "
            f"order={list(order)}",
            needed=len(shape),
            got=tuple(order),
        )
    names = standard_out_dim_names(len(shape))
    outs = {names[d]: log2(shape[d], what=f"size of {names[d]}") for d in order}
    total = sum(outs.values())
    return LinearLayout.from_columns(
        {in_dim: total}, outs, [1 << i for i in range(total)]
    )


def zeros_like(layout: LinearLayout) -> LinearLayout:
    """Return the layout of the same dims that maps everything to zero."""
    expect_layout("layout", layout)
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, layout.in_bits, strict=True)),
        dict(zip(layout.out_names, layout.out_bits, strict=True)),
        [0] * len(layout.columns),
    )


def reshape_layout(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Cut the row-major flattening of the out-dims into another shape.

    Args:
        layout: Layout onto dim0, dim1, ... (in this order).
        shape: New sizes [elements], last dim fastest, same total.

    Raises:
        DimMismatchError: another total size.
        NotPowerOfTwoError: a size is not a power of two.

    Source: Triton ``reshapeLayout``.
    """
    expect_layout("layout", layout)
    shape = expect_integers("shape", shape)
    names = standard_out_dim_names(len(shape))
    flat = layout.transpose_outs(layout.out_names[::-1])
    recut = flat.reshape_outs(dict(zip(names[::-1], reversed(shape), strict=True)))
    return recut.transpose_outs(names)


def transpose_linear_layout(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """Make tensor dim i of the result the dim ``order[i]`` of ``layout``.

    Raises:
        DimMismatchError: ``order`` is not a permutation of the out-dims.

    Source: Triton ``transposeLinearLayout``.
    """
    expect_layout("layout", layout)
    order = expect_integers("order", order)
    if sorted(order) != list(range(len(layout.out_names))):
        raise DimMismatchError(
            f"order must be a permutation of 0..{len(layout.out_names) - 1}, got "
            f"order={list(order)}",
            needed=len(layout.out_names),
            got=tuple(order),
        )
    taken = layout.transpose_outs([layout.out_names[d] for d in order])
    sizes = taken.out_dims.values()
    names = standard_out_dim_names(len(order))
    return taken.reshape_outs(dict(zip(names, sizes, strict=True)))


def rename_linear_layout_dims(
    layout: LinearLayout, ins: Mapping[str, str], outs: Mapping[str, str]
) -> LinearLayout:
    """Rename dims all at once, so that names can be swapped.

    Raises:
        DimMismatchError: a name is missing, or two dims get the same name.

    Source: Triton ``renameLinearLayoutDims``.
    """
    expect_layout("layout", layout)
    in_names = _renamed(layout.in_names, ins, "in_dims")
    out_names = _renamed(layout.out_names, outs, "out_dims")
    return LinearLayout.from_columns(
        dict(zip(in_names, layout.in_bits, strict=True)),
        dict(zip(out_names, layout.out_bits, strict=True)),
        layout.columns,
    )


def remove_standard_dim(layout: LinearLayout, dim: int) -> LinearLayout:
    """Delete tensor dim ``dim`` and number the dims after it anew.

    Raises:
        DimMismatchError: no such dim.

    Source: Triton ``removeStandardDim``.
    """
    expect_layout("layout", layout)
    names = standard_out_dim_names(len(layout.out_names))
    if not isinstance(dim, int) or not 0 <= dim < len(names):
        raise DimMismatchError(
            f"dim must lie in [0, {len(names)}), got dim={dim!r}", got=dim
        )
    kept = layout.sublayout(layout.in_names, [n for n in names if n != names[dim]])
    sizes = kept.out_dims.values()
    return kept.reshape_outs(dict(zip(names, sizes, strict=False)))


def get_reps(larger: LinearLayout, tile: LinearLayout) -> LinearLayout | None:
    """Return ``larger`` with the bases that belong to ``tile`` set to zero.

    None if a basis of the tile differs from the one at its place.

    Source: Triton ``getReps``.
    """
    expect_layout("larger", larger)
    expect_layout("tile", tile)
    marks = []
    for name, bits in zip(larger.in_names, larger.in_bits, strict=True):
        inside = tile.get_in_dim_size_log2(name) if tile.has_in_dim(name) else 0
        if inside > bits:
            return None
        marks += [True] * inside + [False] * (bits - inside)
    if any(not larger.has_in_dim(name) for name in tile.in_names):
        return None
    for name in tile.in_names:
        wide = larger.bases[name]
        for vector, whole in zip(tile.bases[name], wide, strict=False):
            padded = dict.fromkeys(larger.out_names, 0)
            padded.update(zip(tile.out_names, vector, strict=True))
            if tuple(padded.values()) != whole:
                return None
    return LinearLayout.from_columns(
        dict(zip(larger.in_names, larger.in_bits, strict=True)),
        dict(zip(larger.out_names, larger.out_bits, strict=True)),
        [
            0 if mark else column
            for column, mark in zip(larger.columns, marks, strict=True)
        ],
    )


def _log2_shape(layout: LinearLayout, shape: Mapping[str, int]) -> list[int]:
    """Return log2 of ``shape`` in the layout's order."""
    expect_sizes("shape", shape)
    if any(name not in shape for name in layout.out_names):
        raise DimMismatchError(
            f"shape must name every out-dim of {list(layout.out_names)}, got "
            f"shape={dict(shape)}",
            needed=layout.out_names,
            got=dict(shape),
        )
    return [log2(shape[name], what=f"size of {name}") for name in layout.out_names]


def _renamed(
    names: Sequence[str], new: Mapping[str, str], what: str
) -> tuple[str, ...]:
    """Return the names replaced, still distinct."""
    expect_sizes(f"new {what}", new)
    renamed = tuple(new.get(name, name) for name in names)
    if any(name not in names for name in new) or len(set(renamed)) != len(renamed):
        raise DimMismatchError(
            f"renaming must take names of the {what} {list(names)} to distinct names, "
            f"got {dict(new)}",
            needed=tuple(names),
            got=dict(new),
        )
    return renamed


__all__ = [
    "ensure_layout_not_larger_than",
    "ensure_layout_not_smaller_than",
    "get_reps",
    "identity_standard_nd",
    "remove_standard_dim",
    "rename_linear_layout_dims",
    "reshape_layout",
    "transpose_linear_layout",
    "zeros_like",
]
