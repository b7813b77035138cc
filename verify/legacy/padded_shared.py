"""Padded shared memory: after every so many elements some places are left free.

Not linear over F2, so there is no layout to compare with; what is proved is that no two
elements share an address. Younger than the pinned commit; formula: the description of
the attribute (TritonGPUAttrDefs.td, ``PaddedSharedEncoding``).
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index

SOURCE = (
    "triton-lang/triton, include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td, "
    "PaddedSharedEncoding: description"
)


def padded_address(
    offset: Index, intervals: Sequence[Extent], paddings: Sequence[Extent]
) -> Index:
    """Return the address of the element at an offset.

    Args:
        offset: Offset without padding [elements].
        intervals: After how many elements padding follows.
        paddings: How much [elements].

    Example:
        >>> [padded_address(offset, [4], [2]) for offset in (3, 4, 8)]
        [3, 6, 12]

    Source: see ``SOURCE``.
    """
    address = offset
    for interval, padding in zip(intervals, paddings, strict=True):
        address = address + offset // interval * padding
    return address
