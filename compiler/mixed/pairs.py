"""Which type of the matrix unit multiplies a pair of operand types exactly.

An operand type is a set of numbers: so many significant bits, in a range of exponents.
A pair is multiplied in the first type of the unit that contains both sets, so upcasting
loses nothing, whatever the pair: there is no table of pairs. Blocks of mxfp4 keep their
scales apart, to multiply sums in float32.
"""

from dataclasses import dataclass
from typing import Final

from algebra.errors import OutOfRangeError


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandType:
    """Numbers that an operand may hold.

    Attributes:
        name: Its name.
        bits: Width in memory [bits].
        significant: Significant bits of a number, at most.
        low: Exponent of the smallest positive number's lowest bit.
        high: Numbers are less than 2 ** high, or equal where they are integers.
        whole: Whether all are integers.
        scale_block: Elements along k that share an e8m0 scale; 0 without scales.
    """

    name: str
    bits: int
    significant: int
    low: int
    high: int
    whole: bool = False
    scale_block: int = 0


OPERANDS: Final = {
    kind.name: kind
    for kind in (
        OperandType(name="fp32", bits=32, significant=24, low=-149, high=128),
        OperandType(name="tf32", bits=32, significant=11, low=-136, high=128),
        OperandType(name="fp16", bits=16, significant=11, low=-24, high=16),
        OperandType(name="bf16", bits=16, significant=8, low=-133, high=128),
        OperandType(name="fp8e4m3", bits=8, significant=4, low=-9, high=9),
        OperandType(name="fp8e5m2", bits=8, significant=3, low=-16, high=16),
        OperandType(name="int8", bits=8, significant=8, low=0, high=7, whole=True),
        OperandType(name="int4", bits=4, significant=4, low=0, high=3, whole=True),
        OperandType(
            name="mxfp4", bits=4, significant=2, low=-1, high=3, scale_block=32
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitType:
    """A type that the matrix unit multiplies.

    Attributes:
        name: Its name.
        per_register: Elements of a 32-bit register of a fragment.
        significant: As of an operand.
        low: As of an operand.
        high: As of an operand.
        whole: Whether it holds integers only, and sums them exactly.
        products: Instructions for a product: float32 is cut into two tf32 numbers.
    """

    name: str
    per_register: int
    significant: int
    low: int
    high: int
    whole: bool = False
    products: int = 1

    def contains(self, kind: OperandType) -> bool:
        """Return whether each number of an operand type is one of this type."""
        return (
            (kind.whole or not self.whole)
            and kind.significant <= self.significant
            and self.low <= kind.low
            and kind.high <= self.high
        )


UNITS: Final = (
    UnitType(name="int8", per_register=4, significant=8, low=0, high=7, whole=True),
    UnitType(name="fp16", per_register=2, significant=11, low=-24, high=16),
    UnitType(name="bf16", per_register=2, significant=8, low=-133, high=128),
    UnitType(name="tf32", per_register=1, significant=11, low=-136, high=128),
    UnitType(
        name="fp32", per_register=1, significant=24, low=-149, high=128, products=3
    ),
)
"""Cheapest first."""


def operand_type(name: str) -> OperandType:
    """Return an operand type by its name.

    Raises:
        OutOfRangeError: There is none.
    """
    if name not in OPERANDS:
        raise OutOfRangeError(f"operands are {list(OPERANDS)}, got operand={name!r}")
    return OPERANDS[name]


def unit_type(a: OperandType, b: OperandType) -> UnitType:
    """Return the first type of the unit that contains both operands.

    Example:
        >>> unit_type(OPERANDS["int4"], OPERANDS["bf16"]).name
        'bf16'
        >>> unit_type(OPERANDS["fp16"], OPERANDS["bf16"]).name
        'tf32'
    """
    return next(unit for unit in UNITS if unit.contains(a) and unit.contains(b))
