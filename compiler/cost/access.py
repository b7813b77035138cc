"""What an access to global memory costs: instructions, lines and sectors.

A warp's access is cut into sectors of 32 bytes, whichever lanes ask for them. Each
instruction takes an issue slot of the load/store unit; each line of 128 bytes that it
touches is looked up, and asked for by a request of its own; each sector takes a part of
the path between the multiprocessor and the second-level cache, 64 bytes a cycle.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .device import Constant

SECTOR_BYTES = 32
LINE_BYTES = 128
INSTRUCTION = Constant(1.0, "assumed")
"""One instruction of a warp that loads or stores [cycles]."""
SECTOR = Constant(0.5, "assumed")
"""One sector that a warp moves [cycles]."""
LINE = Constant(0.01, "assumed")
"""One line that an instruction of a warp touches [cycles]: little, but of two layouts
that move as many sectors the one with whole lines is taken."""


def access_cost(instructions: float, sectors: float, lines: float = 0.0) -> float:
    """Return the cycles of a multiprocessor for one warp's accesses [cycles].

    Args:
        instructions: Instructions of a thread.
        sectors: Sectors that all of them move for the warp.
        lines: Lines that the instructions touch, each counted for itself.

    Example:
        >>> access_cost(1, 16)
        9.0
    """
    return (
        instructions * INSTRUCTION.cycles
        + sectors * SECTOR.cycles
        + lines * LINE.cycles
    )


def sectors(addresses: npt.NDArray[np.int64], size: int = SECTOR_BYTES) -> int:
    """Return how many sectors a warp's instructions move.

    Args:
        addresses: Byte address of each element [instructions, elements of the warp].
        size: Of a sector; that of a line counts lines [bytes].

    Example:
        >>> sectors(np.arange(32)[None, :] * 4)
        4
        >>> sectors(np.arange(32)[None, :] * 4, LINE_BYTES)
        1
    """
    parts = np.sort(addresses // size, axis=1)
    return int(len(parts) + (np.diff(parts, axis=1) != 0).sum())


def span(columns: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the images of all indices under packed columns.

    Example:
        >>> span([1, 4]).tolist()
        [0, 1, 4, 5]
    """
    found = np.zeros(1, np.int64)
    for column in columns:
        found = np.concatenate([found, found ^ column])
    return found
