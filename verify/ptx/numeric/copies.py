"""Copies from global to shared memory that nobody waits for yet (``cp.async``).

A copy is done as late as PTX allows: when its group is waited for. What reads the place
before sees what was there, so a wait that is missing shows in the result.
"""

import numpy as np
import numpy.typing as npt

from .floats import Bits

Bytes = npt.NDArray[np.uint8]


class Copies:
    """The copies of all threads, which run in step, in groups."""

    def __init__(self) -> None:
        """Begin the first group."""
        self.groups: list[list[tuple[Bits, Bytes]]] = []
        self.open: list[tuple[Bits, Bytes]] = []

    def start(self, places: Bits, data: Bytes) -> None:
        """Add a copy to the open group.

        Args:
            places: First byte of each copy in shared memory.
            data: What is copied there, uint8 [copies, bytes].
        """
        self.open.append((places, data))

    def commit(self) -> None:
        """Close the open group."""
        self.groups.append(self.open)
        self.open = []

    def wait(self, pending: int, shared: Bytes) -> None:
        """Do all groups but the latest ``pending`` closed ones."""
        done = len(self.groups) - pending
        for group in self.groups[: max(0, done)]:
            for places, data in group:
                shared[places[:, None] + np.arange(data.shape[1], dtype=np.uint64)] = (
                    data
                )
        del self.groups[: max(0, done)]
