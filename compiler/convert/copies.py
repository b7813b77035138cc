"""Registers of a thread that hold the same element: dropped before, made after."""

from algebra.affine import AffineLayout
from algebra.bits import set_bits
from algebra.dims import REGISTER
from algebra.gauss import Echelon

from .hardware import hardware_of, moved
from .steps import Registers


def without_copies(layout: AffineLayout) -> tuple[list[Registers], AffineLayout]:
    """Return the step that drops copies in registers, if any, and what is left.

    Law: the register columns of what is left are independent.
    """
    here = hardware_of(layout)
    pivots = Echelon(layout.linear.in_columns(REGISTER)).pivots
    if len(pivots) == here.registers:
        return [], layout
    less = here.with_registers(len(pivots))
    threads = [1 << bit for bit in range(here.registers, here.bits)]
    source = moved(less, here, [*(1 << bit for bit in pivots), *threads])
    return [Registers(source)], source.compose(layout)


def with_copies(layout: AffineLayout) -> tuple[list[Registers], AffineLayout]:
    """Return the step that makes copies in registers, if any, and where it starts.

    Law: the step's source map composed with what it starts from is ``layout``.
    """
    _, compact = without_copies(layout)
    here, less = hardware_of(layout), hardware_of(compact)
    if here == less:
        return [], layout
    echelon = Echelon(layout.linear.in_columns(REGISTER))
    position = {pivot: i for i, pivot in enumerate(echelon.pivots)}
    columns = []
    for column in layout.linear.in_columns(REGISTER):
        tag = echelon.reduce(column)[1]
        columns.append(sum(1 << position[bit] for bit in set_bits(tag)))
    columns += [1 << bit for bit in range(less.registers, less.bits)]
    return [Registers(moved(here, less, columns))], compact
