"""Blocks of a cluster: which part of the tensor a block holds."""

from collections.abc import Sequence

from .arithmetic import Extent, Index, ceil_div, delinearize, smaller
from .upstream import upstream

SOURCE = upstream("emitCTAOffsetForLayout")


def shape_per_block(
    shape: Sequence[Extent], split: Sequence[Extent]
) -> tuple[Extent, ...]:
    """Return the part of the shape that one block holds.

    Example:
        >>> shape_per_block([64, 1], [2, 2])
        (32, 1)

    Source: Triton ``getShapePerCTA``.
    """
    return tuple(
        ceil_div(size, smaller(size, parts))
        for size, parts in zip(shape, split, strict=True)
    )


def block_offset(
    block: Index,
    shape: Sequence[Extent],
    blocks_per_dim: Sequence[Extent],
    split: Sequence[Extent],
    order: Sequence[int],
) -> list[Index]:
    """Return the coordinates of the first element of a block.

    Args:
        block: Number of the block in its cluster.
        shape: Tensor shape.
        blocks_per_dim: Blocks per dim (``CTAsPerCGA``).
        split: Parts per dim (``CTASplitNum``); other blocks hold copies.
        order: Dims, the fastest first.

    Example:
        >>> block_offset(3, [64, 64], [2, 2], [2, 1], [1, 0])
        [32, 0]

    Source: see ``SOURCE``.
    """
    ids = delinearize(block, blocks_per_dim, order)
    part = shape_per_block(shape, split)
    return [ids[d] % smaller(shape[d], split[d]) * part[d] for d in range(len(shape))]


def block_offset_of_bases(
    block: Index,
    shape: Sequence[int],
    bases: Sequence[Sequence[int]],
) -> list[Index]:
    """Return the coordinates of the first element of a block, from one vector a bit.

    The form in which Triton states clusters since 3.6; for vectors that come from
    three lists it is ``block_offset``, theorem ``block_offset_of_lists_is_linear``.

    Args:
        block: Number of the block in its cluster.
        shape: Tensor shape.
        bases: Vector over the dims for each bit of the number, counted in blocks. A
            component that lies outside the tensor is zero.

    Example:
        >>> block_offset_of_bases(3, [64, 64], [[0, 1], [1, 0]])
        [32, 32]
    """
    split = split_of_bases(shape, bases)
    part = shape_per_block(shape, split)
    offset: list[Index] = [0] * len(shape)
    for basis in bases:
        bit = block % 2
        block = block // 2
        for d, component in enumerate(basis):
            if component < shape[d]:
                for power in range(component.bit_length()):
                    if component >> power & 1:
                        offset[d] = offset[d] ^ bit * (part[d] << power)
    return offset


def split_of_bases(
    shape: Sequence[int], bases: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Return the parts per dim that one vector a bit stands for.

    Example:
        >>> split_of_bases([64, 64], [[0, 1], [1, 0], [0, 2]])
        (2, 4)
    """
    reach = [max((basis[d] for basis in bases), default=0) for d in range(len(shape))]
    return tuple(1 << top.bit_length() for top in reach)
