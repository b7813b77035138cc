"""The two forms of an index formula: of values in registers, and of shared memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .arithmetic import Extent, Index, product


class Digit(NamedTuple):
    """One digit of a register number: which dim it moves along, and its size."""

    dim: int
    size: Extent


@dataclass(frozen=True, slots=True)
class DistributedModel:
    """Where each register of each lane and warp of one block sits in the tensor.

    Index code walks over registers in nested loops; ``digits`` are those loops, the
    innermost first, so a register number is split into loop counters by ``/`` and
    ``%``.

    Attributes:
        shape: Tensor shape of one block.
        digits: Loops over registers, innermost first.
        lanes: Number of lanes in a warp.
        warps: Number of warps in a block.
        locate: Loop counters (as in ``digits``), lane, warp -> coordinates.
        source: File and function that the formula stems from.
        names: What register, lane and warp are called; tensor memory has columns and
            rows instead, and no third.
    """

    shape: tuple[Extent, ...]
    digits: tuple[Digit, ...]
    lanes: Extent
    warps: Extent
    locate: Callable[[Sequence[Index], Index, Index], list[Index]]
    source: str
    names: tuple[str, str, str] = ("register", "lane", "warp")

    @property
    def registers(self) -> Extent:
        """Number of registers of one lane."""
        return product([digit.size for digit in self.digits])

    def position(self, register: Index, lane: Index, warp: Index) -> list[Index]:
        """Return the coordinates that a register holds, within its block."""
        counters = []
        for digit in self.digits:
            counters.append(register % digit.size)
            register = register // digit.size
        return self.locate(counters, lane, warp)


@dataclass(frozen=True, slots=True)
class SharedModel:
    """Where each element of one block's tile lies in shared memory.

    Attributes:
        shape: Tensor shape of one block.
        offset: Coordinates -> offset [elements].
        source: File and function that the formula stems from.
        note: What a reader should know about these parameters, or "".
        spare: Offsets of unused places, relative to the used one before them; the
            layout says that they hold a copy of it.
    """

    shape: tuple[Extent, ...]
    offset: Callable[[Sequence[Index]], Index]
    source: str
    note: str = ""
    spare: tuple[int, ...] = ()
