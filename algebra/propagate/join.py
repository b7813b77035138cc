"""Join and split: the lowest bit of an axis becomes the lowest register bit."""

from algebra.arguments import expect_layout
from algebra.dims import REGISTER, dim_name
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout

from .axis import expand_dims
from .tensor_dims import check_axis, check_distributed, standard, with_shape


def join_on_axis(layout: LinearLayout, axis: int) -> LinearLayout:
    """Double an axis: its new lowest bit is the new register bit 0.

    Law: ``split_on_axis(join_on_axis(L, a), a) == L``.

    Args:
        layout: Distributed layout onto a tensor.
        axis: Tensor dim whose size doubles.

    Returns:
        ``id(2, register, axis) * layout``.

    Raises:
        OutOfRangeError: no such axis.
        UnsupportedLayoutError: the layout has no registers.

    Example:
        >>> layout = LinearLayout.identity_1d(2, "register", "dim0")
        >>> join_on_axis(layout, 0).bases
        {'register': ((1,), (2,))}

    Source: Triton ``tryJoinOnAxis`` (forward), used by join and fp4_to_fp.
    """
    expect_layout("layout", layout)
    source = standard(layout)
    check_axis(axis, source.num_out_dims)
    check_distributed(source, "join")
    pair = LinearLayout.identity_1d(2, REGISTER, dim_name(axis))
    joined = pair * source
    ordered = joined.transpose_outs(source.out_names)
    return ordered.transpose_ins(source.in_names)


def split_on_axis(layout: LinearLayout, axis: int) -> LinearLayout:
    """Halve an axis: delete the registers that move by one along it.

    Args:
        layout: Distributed layout onto a tensor whose neighbours along ``axis`` are
            held by one thread: a register basis is 1 on ``axis`` and 0 elsewhere,
            and no other basis is odd on it.
        axis: Tensor dim whose size halves.

    Returns:
        The layout of either half. Copies of the deleted register basis go too.

    Raises:
        OutOfRangeError: no such axis.
        UnsupportedLayoutError: neighbours along the axis are in different threads, or
            a basis mixes the lowest bit of the axis with others; has ``axis``.

    Example:
        >>> split_on_axis(LinearLayout.identity_1d(8, "register", "dim0"), 0).bases
        {'register': ((1,), (2,))}

    Source: Triton ``tryJoinOnAxis`` (backward), used by split and fp4_to_fp.
    """
    expect_layout("layout", layout)
    source = standard(layout)
    check_axis(axis, source.num_out_dims)
    check_distributed(source, "split")
    shift = sum(source.out_bits[:axis])
    unit = 1 << shift
    kept: dict[str, list[int]] = {
        in_dim: list(source.in_columns(in_dim)) for in_dim in source.in_names
    }
    registers = kept[REGISTER]
    kept[REGISTER] = [column for column in registers if column != unit]
    columns = [column for part in kept.values() for column in part]
    missing = len(kept[REGISTER]) == len(registers)
    if missing or any(column & unit for column in columns):
        raise UnsupportedLayoutError(
            f"split needs one thread to hold neighbours along dim {axis}: a register "
            f"basis of 1 on {dim_name(axis)} and no other basis odd on it, got "
            f"register={list(source.bases[REGISTER])}; convert to a layout with two "
            "elements per thread there",
            axis=axis,
        )
    low = unit - 1
    out_bits = [bits - (dim == axis) for dim, bits in enumerate(source.out_bits)]
    halved = LinearLayout.from_columns(
        {in_dim: len(part) for in_dim, part in kept.items()},
        dict(zip(source.out_names, out_bits, strict=True)),
        [column & low | column >> shift + 1 << shift for column in columns],
    )
    return halved


def join(layout: LinearLayout) -> LinearLayout:
    """Return the layout of ``join(a, b)``, a tensor with a last dim of size 2.

    Law: ``split(join(L)) == L``; surjective layouts stay surjective.

    Args:
        layout: Distributed layout of both operands.

    Raises:
        UnsupportedLayoutError: the layout has no registers.

    Example:
        >>> join(LinearLayout.identity_1d(2, "register", "dim0")).bases
        {'register': ((0, 1), (1, 0))}

    Source: Triton ``inferDefaultJoinOpEncoding``; theorem
    ``join_of_surjective_is_surjective``.
    """
    expect_layout("layout", layout)
    rank = layout.num_out_dims
    return join_on_axis(expand_dims(layout, rank), rank)


def split(layout: LinearLayout) -> LinearLayout:
    """Return the layout of the halves of a tensor whose last dim has size 2.

    Law: ``join(split(L))`` differs from L by the place of one register bit.

    Args:
        layout: Distributed layout; one thread holds both elements of each pair.

    Raises:
        UnsupportedLayoutError: the last dim is not of size 2, or pairs are spread
            over threads.

    Example:
        >>> split(join(LinearLayout.identity_1d(2, "register", "dim0"))).bases
        {'register': ((1,),)}

    Source: Triton ``inferSplitOpEncoding``.
    """
    expect_layout("layout", layout)
    source = standard(layout)
    last = source.num_out_dims - 1
    if last < 0 or source.out_bits[last] != 1:
        raise UnsupportedLayoutError(
            f"split needs a last dim of size 2, got out_dims={source.out_dims}; "
            "reshape the tensor to [..., 2] first",
            out_dims=source.out_dims,
        )
    halves = split_on_axis(source, last)
    return with_shape(halves, halves.out_bits[:last])


def fp4_to_fp(layout: LinearLayout, axis: int) -> LinearLayout:
    """Return the layout of a tensor unpacked from pairs of fp4 along ``axis``.

    Law: equals ``join_on_axis``: the two halves of a byte are neighbours in a thread.

    Args:
        layout: Distributed layout of the packed bytes.
        axis: Tensor dim along which two values are packed in a byte.

    Raises:
        OutOfRangeError: no such axis.
        UnsupportedLayoutError: the layout has no registers.

    Example:
        >>> fp4_to_fp(LinearLayout.identity_1d(2, "register", "dim0"), 0).out_dims
        {'dim0': 4}

    Source: Triton ``inferFp4ToFpOpEncoding``.
    """
    expect_layout("layout", layout)
    return join_on_axis(layout, axis)
