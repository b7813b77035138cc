"""From CuTe's integer strides to matrices over F2, and back.

A strided sum is F2-linear exactly when no addition carries: all extents are powers of
two, and no two of the numbers ``stride * 2**j`` (one for each index bit) share a bit.
Then + is xor, the numbers are the columns of the matrix, and a swizzle, being linear
itself, acts on each column. A shared bit is a witness that the map isn't linear.
"""

from collections.abc import Mapping, Sequence

from algebra.arguments import expect_layout, expect_names, expect_sizes
from algebra.bits import is_power_of_two, log2
from algebra.dims import INDEX
from algebra.errors import (
    DimMismatchError,
    NotPowerOfTwoError,
    OutOfRangeError,
    UnsupportedLayoutError,
)
from algebra.layout import LinearLayout
from algebra.why_not_linear import NotAffine

from .int_tuple import IntTuple, column_major, int_tuple, leaves, spell
from .layout import CuteLayout
from .notation import parse_cute
from .swizzle import Swizzle, swizzles_within


def from_cute(
    layout: CuteLayout | IntTuple | str,
    stride: IntTuple | None = None,
    *,
    in_dims: Sequence[str] = (INDEX,),
    out_dims: Mapping[str, int] | None = None,
) -> LinearLayout:
    """Return the matrix of a CuTe layout.

    Law: ``from_cute(cute).apply_index(i) == cute(i)`` for every index.

    Args:
        layout: A ``CuteLayout``, its spelling, or a shape.
        stride: Strides of a shape; default: compact, leftmost fastest.
        in_dims: One name for all of the index, or one for each top-level mode.
        out_dims: Names and sizes that cut the offset, low bits first [elements];
            default: one dim ``index`` that just holds every offset.

    Raises:
        NotPowerOfTwoError: the domain isn't closed under xor; has ``x`` and ``y``.
        UnsupportedLayoutError: an addition carries; has ``witness``, a ``NotAffine``.
        OutOfRangeError: a stride is negative, or ``out_dims`` is too small.
        DimMismatchError: ``in_dims`` fits neither all nor each of the modes.
        ParseError: the text isn't a layout.
        EncodingError: shape and stride have different nestings.

    Example:
        >>> from_cute("((4,8),(2,2)):((32,1),(16,8))", in_dims=["lane", "register"],
        ...           out_dims={"dim0": 16, "dim1": 8}).bases["register"]
        ((0, 1), (8, 0))

    Source: theorem ``strides_are_linear_iff_nothing_carries``.
    """
    cute = _as_cute(layout, stride)
    in_dims = expect_names("in_dims", in_dims)
    mode_columns = [_columns(cute, mode) for mode in cute.modes]
    columns = [column for mode in mode_columns for column in mode]
    _check_no_carry(cute, columns)
    sizes = [len(mode) for mode in mode_columns]
    if len(in_dims) == 1:
        sizes = [sum(sizes)]
    if len(in_dims) != len(sizes):
        raise DimMismatchError(
            f"in_dims needs one name, or one for each of the {len(sizes)} modes of "
            f"{cute}, got in_dims={list(in_dims)}",
            needed=len(sizes),
            in_dims=tuple(in_dims),
        )
    if cute.swizzle is not None:
        columns = [cute.swizzle(column) for column in columns]
    needed = max(columns, default=0).bit_length()
    if out_dims is None:
        out_bits = {INDEX: needed}
    else:
        out_bits = {
            name: log2(size)
            for name, size in expect_sizes("out_dims", out_dims).items()
        }
    if sum(out_bits.values()) < needed:
        raise OutOfRangeError(
            f"offsets of {cute} have {needed} bits, got out_dims={dict(out_dims or {})}"
            f" of {sum(out_bits.values())} bits",
            needed=needed,
            out_bits=tuple(out_bits.values()),
        )
    named = dict(zip(in_dims, sizes, strict=True))
    return LinearLayout.from_columns(named, out_bits, columns)


def to_cute(layout: LinearLayout) -> CuteLayout:
    """Return a CuTe layout with the same function, one top-level mode an in-dim.

    The output is packed, first out-dim in the low bits. Plain strides are preferred;
    else the narrowest swizzle that leaves plain strides. The search is complete: if
    it fails, no single swizzle after strides is this layout.

    Law: ``from_cute(to_cute(layout), in_dims=..., out_dims=...) == layout``.

    Raises:
        UnsupportedLayoutError: neither strides nor one swizzle suffice; has
            ``columns``, two columns that share a bit.

    Example:
        >>> print(to_cute(LinearLayout.from_bases(
        ...     {"lane": [[1], [2], [8]], "register": [[4]]}, ["offset"])))
        ((4,2),2):((1,8),4)
    """
    expect_layout("layout", layout)
    columns = list(layout.columns)
    swizzle = None
    pair = _overlap(columns)
    if pair is not None:
        swizzle = _separating_swizzle(columns, pair, sum(layout.out_bits))
        columns = [swizzle(column) for column in columns]
    shapes: list[IntTuple] = []
    strides: list[IntTuple] = []
    start = 0
    for bits in layout.in_bits:
        shape, stride = _runs(columns[start : start + bits])
        shapes.append(shape)
        strides.append(stride)
        start += bits
    if len(shapes) == 1:
        return CuteLayout(shapes[0], strides[0], swizzle)
    return CuteLayout(tuple(shapes), tuple(strides), swizzle)


def _separating_swizzle(
    columns: Sequence[int], pair: tuple[int, int], size_bits: int
) -> Swizzle:
    """Return the narrowest swizzle after which no two columns share a bit."""
    first, second = (columns[i] for i in pair)
    for swizzle in swizzles_within(size_bits):
        if swizzle(first) & swizzle(second):
            continue
        if _overlap([swizzle(column) for column in columns]) is None:
            return swizzle
    raise UnsupportedLayoutError(
        "a CuTe layout needs columns without common bits, up to one swizzle; "
        f"input bits {pair[0]} and {pair[1]} have columns={[first, second]}",
        columns=(first, second),
    )


def _as_cute(
    layout: CuteLayout | IntTuple | str, stride: IntTuple | None
) -> CuteLayout:
    """Read any of the accepted forms."""
    if isinstance(layout, str):
        layout = parse_cute(layout)
    if isinstance(layout, CuteLayout):
        return layout
    shape = int_tuple("shape", layout)
    return CuteLayout(shape, column_major(shape) if stride is None else stride)


def _columns(cute: CuteLayout, mode: Sequence[tuple[int, int]]) -> list[int]:
    """Return ``stride * 2**j`` for each index bit of a mode."""
    size = cute.size
    if not is_power_of_two(size):
        x = 1 << size.bit_length() - 1
        y = x - 1
        raise NotPowerOfTwoError(
            f"not F2-linear: the extents must be powers of two, got "
            f"shape={spell(cute.shape)}; indices {x} and {y} are in [0, {size}) but "
            f"{x} ^ {y} = {x ^ y} is not; pad the shape and mask the rest",
            size=size,
            x=x,
            y=y,
        )
    if any(stride < 0 for stride in leaves(cute.stride)):
        raise OutOfRangeError(
            f"offsets must not be negative, got stride={spell(cute.stride)}; flip the "
            "mode and xor its extent minus 1 (AffineLayout)",
            stride=cute.stride,
        )
    return [stride << j for extent, stride in mode for j in range(log2(extent))]


def _check_no_carry(cute: CuteLayout, columns: Sequence[int]) -> None:
    """Refuse a layout in which two columns add with a carry."""
    pair = _overlap(columns)
    if pair is None:
        return
    x, y = 1 << pair[0], 1 << pair[1]
    witness = NotAffine(x, y, cute(0), cute(x), cute(y), cute(x ^ y))
    raise UnsupportedLayoutError(
        f"with f = {cute}: {witness}; strides of an F2 layout must not carry",
        witness=witness,
    )


def _overlap(columns: Sequence[int]) -> tuple[int, int] | None:
    """Return the first two columns that share a bit, or None."""
    used = 0
    for second, column in enumerate(columns):
        if used & column:
            first = next(i for i in range(second) if columns[i] & column)
            return first, second
        used |= column
    return None


def _runs(columns: Sequence[int]) -> tuple[IntTuple, IntTuple]:
    """Coalesce columns that double to (extent, stride) pairs."""
    extents: list[int] = []
    strides: list[int] = []
    for i, column in enumerate(columns):
        if i and column == 2 * columns[i - 1]:
            extents[-1] *= 2
        else:
            extents.append(2)
            strides.append(column)
    if not extents:
        return 1, 0
    if len(extents) == 1:
        return extents[0], strides[0]
    return tuple(extents), tuple(strides)
