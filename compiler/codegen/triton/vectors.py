"""How many neighbours one instruction can move, where that is less than Triton plans.

Triton gives each thread as many neighbours as the best aligned pointer allows. Masks do
not count there, nor do other pointers: where rows have an odd length, each thread then
moves its neighbours one by one, and the threads of a warp touch far more lines at once
than they need. Told that only a few neighbours belong together, Triton lets threads
take turns instead, and a warp moves whole lines.

Source: Triton's passes Coalesce and AxisInfo.
"""

from typing import Final

from compiler.ir.expression import leaves
from compiler.ir.index import constant_value, terms
from compiler.ir.node import Axis

from .tile import Access, Plan, TileAxis, accesses, lane_of, mentions, touched

_VECTOR_BYTES: Final = 16

_WORSE: Final = 4
"""How much more lines a warp must touch at once to be worth a hint."""

RARE: Final = 1 / 8
"""Part of a kernel's bytes up to which an access, or a direction, does not count."""


def neighbours(plan: Plan) -> dict[str, int]:
    """Return the axes whose neighbours should be kept apart, and in what groups.

    Args:
        plan: With its final tiles.

    Returns:
        Name of a dim of the tile -> neighbours that one instruction moves, where
        Triton would give a thread more [elements].
    """
    found = accesses(plan.kernel)
    if plan.factors is not None or not found:
        return {}
    axes: list[Axis | TileAxis] = [*plan.programs, *plan.tile]
    whole = sum(touched(access, axes) for access in found)
    groups: dict[str, int] = {}
    for axis in plan.tile:
        along = [access for access in found if access.stride(axis.digit) == 1]
        if any(leaves("symbol", access.address) for access in along):
            continue  # the run may know more
        if any(mentions(access.address, lane_of(axis)) for access in found):
            continue
        moved = [
            _moved(access, axis)
            for access in along
            if touched(access, axes) > RARE * whole
        ]
        if moved and _WORSE * max(moved) <= max(_planned(a, axis) for a in along):
            groups[axis.name] = max(moved)
    return groups


def _planned(access: Access, axis: TileAxis) -> int:
    """Return how many neighbours Triton gives a thread for an access's sake."""
    most = _VECTOR_BYTES // access.width
    for factor, count in terms(access.address).items():
        if factor is not axis.digit:
            most = _common(most, count)
    return min(most, axis.block)


def _moved(access: Access, axis: TileAxis) -> int:
    """Return how many neighbours one instruction moves."""
    planned = _planned(access, axis)
    if axis.exact:
        return planned
    known = constant_value(axis.extent)
    return planned if known is None else _common(planned, known)


def _common(power: int, number: int) -> int:
    """Return the greatest common divisor of a power of two and a number."""
    return min(power, number & -number) if number else power
