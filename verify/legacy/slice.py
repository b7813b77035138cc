"""Slice: the parent's positions with one coordinate left out.

Registers that differ in that coordinate alone hold the same element. The formula
keeps the first of each, as the upstream function does with a set of offsets: a loop
of the parent along the dim that is left out is not run, and a loop that comes back to
the same elements stops there.
"""

from collections.abc import Sequence

from .arithmetic import Index
from .model import Digit, DistributedModel
from .upstream import upstream

SOURCE = upstream("emitOffsetForSliceLayout, emitBaseIndexForLayoutImpl")


def slice_of(parent: DistributedModel, dim: int) -> DistributedModel:
    """Return the index formula of a slice.

    Args:
        parent: Formula of the parent for the shape with size 1 at ``dim``. Where its
            sizes are symbolic, its loops must not repeat elements.
        dim: Coordinate that is left out.

    Example:
        >>> from .blocked import blocked
        >>> parent = blocked([1, 8], [1, 2], [8, 4], [1, 1], [1, 0])
        >>> slice_of(parent, 0).position(1, 5, 0)
        [3]

    Source: see ``SOURCE``.
    """
    digits = [
        _without_repeats(parent, place, dim) for place in range(len(parent.digits))
    ]
    kept = [place for place, digit in enumerate(digits) if digit.size != 1]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        zero = lane % 1
        full: list[Index] = [zero] * len(digits)
        for place, counter in zip(kept, counters, strict=True):
            full[place] = counter
        coordinates = parent.locate(full, lane, warp)
        return coordinates[:dim] + coordinates[dim + 1 :]

    def renamed(digit: Digit) -> Digit:
        return Digit(digit.dim - (digit.dim > dim), digit.size)

    return DistributedModel(
        shape=parent.shape[:dim] + parent.shape[dim + 1 :],
        digits=tuple(renamed(digits[place]) for place in kept),
        lanes=parent.lanes,
        warps=parent.warps,
        locate=locate,
        source=f"{SOURCE}; parent: {parent.source}",
    )


def _without_repeats(parent: DistributedModel, place: int, dim: int) -> Digit:
    """Return a loop that ends where its elements come back."""
    digit = parent.digits[place]
    if digit.dim == dim:
        return Digit(dim, 1)
    if not all(isinstance(size, int) for size in (*parent.shape, digit.size)):
        return digit

    def at(counters: list[Index]) -> list[Index]:
        coordinates = parent.locate(counters, 0, 0)
        return coordinates[:dim] + coordinates[dim + 1 :]

    counters = [0] * len(parent.digits)
    first = at(counters)
    size = 1
    while size < digit.size:
        counters[place] = size
        if at(counters) == first:
            break
        size *= 2
    return Digit(digit.dim, size)
