"""Pairs of layouts to convert between: any surjective matrices on the same threads.

Both sides are a permutation of the tensor's index bits followed by elementary
operations, with copies put in between, so nothing is rejected and every draw shrinks to
the identity: a conversion that does nothing, of few registers, in one warp.
"""

from dataclasses import dataclass

from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout, gauss
from algebra.dims import LANE, REGISTER, WARP

from .layouts import matrices

LANE_BITS = 5
ELEMENT_BITS = (32, 8, 16, 64, 128)


@dataclass(frozen=True, slots=True)
class ConversionCase:
    """What to convert.

    Attributes:
        src: Source: register, lane, warp -> ``dim0``.
        dst: Destination, likewise.
        element_bits: Size of an element [bits].
    """

    src: AffineLayout
    dst: AffineLayout
    element_bits: int


@st.composite
def conversions(
    draw: st.DrawFn,
    max_register_bits: int = 4,
    max_warp_bits: int = 3,
    max_copies: int = 2,
    lane_bits: int = LANE_BITS,
) -> ConversionCase:
    """Draw a conversion between two surjective layouts of one block.

    Args:
        draw: Given by hypothesis.
        max_register_bits: At most so many register bits a side without copies.
        max_warp_bits: At most so many warp bits.
        max_copies: At most so many bits of a side's places select copies.
        lane_bits: Log2 of the lanes of a warp.
    """
    warps = draw(st.integers(0, max_warp_bits))
    threads = lane_bits + warps
    least = max(0, threads - max_copies)
    bits = threads + draw(st.integers(least - threads, max_register_bits))
    element_bits = draw(st.sampled_from(ELEMENT_BITS))
    src, dst = (
        _side(draw, bits, lane_bits, warps, max_copies, _start(draw, bits))
        for _ in range(2)
    )
    return ConversionCase(src, dst, element_bits)


def _start(draw: st.DrawFn, bits: int) -> int:
    """Draw the element of place zero: mostly zero."""
    if draw(st.integers(0, 3)) != 3:
        return 0
    return draw(st.integers(0, (1 << bits) - 1))


def _side(
    draw: st.DrawFn, bits: int, lanes: int, warps: int, max_copies: int, start: int
) -> AffineLayout:
    columns = draw(matrices(bits))
    least = max(0, lanes + warps - bits)
    for _ in range(draw(st.integers(least, max(least, max_copies)))):
        copy = gauss.apply(columns, draw(st.integers(0, (1 << len(columns)) - 1)))
        columns.insert(draw(st.integers(0, len(columns))), copy)
    registers = len(columns) - lanes - warps
    dims = {REGISTER: registers, LANE: lanes, WARP: warps}
    linear = LinearLayout.from_columns(dims, {"dim0": bits}, columns)
    return AffineLayout(linear, {"dim0": start})
