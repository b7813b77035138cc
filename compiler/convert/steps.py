"""The steps of a conversion, as data.

Threads hold a file of registers each. A step that stays within a warp says where each
register of the new file comes from: ``source`` maps a place (register, lane, warp,
block) of the new file to a place of the old one. Stores and loads say which address a
place goes to or comes from; between them the old file stays readable, and the loads
fill a new one. Nothing here runs or proves anything: ``simulate`` and ``prove`` give
the steps their meaning, independently of each other.
"""

from dataclasses import dataclass

from algebra.affine import AffineLayout

from .instructions import Instruction

SCOPES = ("warp", "block", "cluster")
"""Who waits at a barrier, the narrowest first."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Rename, drop or repeat registers, the same in all threads.

    Attributes:
        source: New place -> old place of the same thread; does not look at the thread.
    """

    source: AffineLayout


@dataclass(frozen=True, slots=True)
class Select:
    """Choose a register by what the thread is: selections and byte permutes.

    Attributes:
        source: New place -> old place of the same thread.
    """

    source: AffineLayout


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Exchange registers between the lanes of a warp.

    Attributes:
        source: New place -> old place of the same register, warp and block.
        word_registers: Low register bits that share a 32-bit word, so travel together
            from one lane [bits].
    """

    source: AffineLayout
    word_registers: int


@dataclass(frozen=True, slots=True)
class Store:
    """Write the registers of one repetition to shared memory.

    Attributes:
        address: Place -> (offset, repetition, block) [offset in elements].
        repetition: Registers whose address has this repetition are written.
        silent: Bits of a place that select copies: who has one of them set does not
            write.
        instruction: What writes.
    """

    address: AffineLayout
    repetition: int
    silent: int
    instruction: Instruction


@dataclass(frozen=True, slots=True)
class Barrier:
    """Wait until all threads of a group are here.

    Attributes:
        scope: One of ``SCOPES``.
    """

    scope: str


@dataclass(frozen=True, slots=True)
class Load:
    """Read the registers of one repetition from shared memory.

    Attributes:
        address: Place of the new file -> (offset, repetition, block).
        repetition: Registers whose address has this repetition are filled.
        instruction: What reads.
    """

    address: AffineLayout
    repetition: int
    instruction: Instruction


Step = Registers | Select | Shuffle | Store | Barrier | Load
