"""What a conversion between two layouts costs: a quick bound first, then its plan."""

from functools import lru_cache

from algebra.affine import AffineLayout
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from compiler.convert import Plan, plan
from compiler.cost import device
from compiler.cost.device import STATIC_BYTES, Constant

from .laws import compact, renaming

LEAST_SHUFFLE = 1.0
ONCE = Constant(4.0, "assumed")
"""What a conversion computes from the thread alone, and waits, besides [cycles]."""
TOO_LARGE = 1e6
"""What a conversion that needs more is taken to cost, so that others go first."""


@lru_cache(maxsize=1 << 14)
def planned(
    src: LinearLayout, dst: LinearLayout, element_bits: int, target: str
) -> Plan:
    """Return the plan of a conversion, remembered."""
    return plan(src, dst, element_bits, target)


def conversion_cost(
    src: LinearLayout, dst: LinearLayout, element_bits: int, target: str
) -> float:
    """Return what a conversion costs in a program [cycles]; zero if it is free."""
    if is_free(src, dst):
        return 0.0
    found = planned(src, dst, element_bits, target)
    extra = TOO_LARGE if found.shared_bytes > STATIC_BYTES else 0.0
    return found.cost + ONCE.cycles + extra


def is_free(src: LinearLayout, dst: LinearLayout) -> bool:
    """Return whether each thread has already what it needs.

    Example:
        >>> from compiler.assign.laws import layout_of
        >>> layout = layout_of([4, 4], [4, 8], [1, 2], [])
        >>> is_free(layout, layout_of([4, 4], [8, 4, 0], [1, 2], []))
        True
        >>> is_free(layout, layout_of([4, 4], [1, 2], [4, 8], []))
        False
    """
    return renaming(src, AffineLayout(dst)) is not None


def least_cost(
    src: LinearLayout, dst: LinearLayout, element_bits: int, target: str
) -> float:
    """Return a lower bound of what a conversion costs [cycles].

    Law: at most ``conversion_cost(...)``; zero exactly for what is free.
    """
    if is_free(src, dst):
        return 0.0
    near, far = compact(src), compact(dst)
    count = near.in_bits[0]
    within = count + near.in_bits[1]
    span = Echelon(near.columns[:within])
    new = far.in_bits[0]
    inside = new + far.in_bits[1]
    stays = all(column in span for column in far.columns[:inside]) and all(
        a ^ b in span
        for a, b in zip(near.columns[within:], far.columns[inside:], strict=True)
    )
    if stays:
        return LEAST_SHUFFLE + ONCE.cycles
    machine = device(target)
    wavefronts = ((1 << new) * element_bits + 31) // 32
    barrier = machine.cycles("bar.sync")
    return wavefronts * machine.cycles("wavefronts") + barrier + ONCE.cycles
