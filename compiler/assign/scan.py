"""Inclusive scans on any layout, as conversions and selections.

Bit k of the position along the axis, from the lowest: where it is set, the last
element of the lower half of its group of 2**(k+1) is combined in. That element's
coordinates are an F2-affine map of one's own, clear bits 0 to k and set bits 0 to
k - 1, so fetching it is a conversion to an affine layout, planned and proved as any
other.
"""

from collections.abc import Sequence

from algebra.affine import AffineLayout
from algebra.dims import dim_name
from algebra.layout import LinearLayout
from compiler.convert import plan
from compiler.cost import Device
from compiler.ir.scalar import bits
from compiler.ir.tile import TileScan

from .laws import bits_of, with_columns


def fetched(
    layout: LinearLayout, shape: Sequence[int], axis: int, bit: int
) -> AffineLayout:
    """Return the elements that a round of the scan combines in, place by place.

    Args:
        layout: Of the tile.
        shape: Of the tile [elements].
        axis: Dim of the scan.
        bit: Number of the round.

    Example:
        >>> from compiler.assign.laws import layout_of
        >>> found = fetched(layout_of([8], [], [1, 2, 4], []), [8], 0, 1)
        >>> found.linear.bases["lane"], found.offset
        (((0,), (0,), (4,)), {'dim0': 1})
    """
    low = sum(bits_of(shape)[:axis])
    clear = (2 << bit) - 1 << low
    columns = [column & ~clear for column in layout.columns]
    offset = {dim_name(at): 0 for at in range(len(shape))}
    offset[dim_name(axis)] = (1 << bit) - 1
    return AffineLayout(with_columns(layout, shape, columns), offset)


def scan_cost(layout: LinearLayout, step: TileScan, device: Device) -> float:
    """Return what a scan takes [cycles]."""
    shape = step.result.shape
    width = max(8, bits(step.result.dtype))
    total = 0.0
    for bit in range(bits_of(shape)[step.axis]):
        there = fetched(layout, shape, step.axis, bit)
        total += plan(layout, there, width, device.name).cost
        total += 2 * (1 << layout.in_bits[0]) * device.cycles("alu")
    return total
