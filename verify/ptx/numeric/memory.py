"""Global memory: the arrays that a kernel gets, at made-up addresses."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from verify.ptx.halt import Fault, FaultError
from verify.ptx.syntax import Instruction

from .floats import Bits

ALIGNMENT: Final = 256
"""Of the first byte of each array [bytes]."""


class Memory:
    """Bytes of all arrays, with a gap behind each.

    Attributes:
        bytes: Everything; addresses are indices.
        bases: Address of each array.
    """

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Copy the arrays in."""
        self.arrays = list(arrays)
        self.bases: list[int] = []
        size = ALIGNMENT
        for array in arrays:
            if not array.flags["C_CONTIGUOUS"]:
                raise ValueError("arrays must be contiguous; copy them")
            self.bases.append(size)
            size += (array.nbytes // ALIGNMENT + 2) * ALIGNMENT
        self.bytes = np.zeros(size, np.uint8)
        self.inside = np.zeros(size + 1, np.int64)
        for base, array in zip(self.bases, arrays, strict=True):
            self.bytes[base : base + array.nbytes] = array.reshape(-1).view(np.uint8)
            self.inside[base + 1 : base + 1 + array.nbytes] = 1
        self.inside = np.cumsum(self.inside)

    def check(
        self, item: Instruction, places: Bits, mask: npt.NDArray[np.bool_], size: int
    ) -> None:
        """Raise where an access of ``size`` bytes is misaligned or in no array."""
        size_of = np.uint64(size)
        at = np.where(mask, places, np.uint64(self.bases[0] if self.bases else 0))
        known = at <= np.uint64(len(self.bytes) - size)
        safe = np.where(known, at, np.uint64(0))
        covered = self.inside[safe + size_of] - self.inside[safe] == size
        bad = mask & ~(known & covered & (at % size_of == 0))
        if bad.any():
            thread = int(np.flatnonzero(bad)[0])
            raise FaultError(
                Fault(
                    "bad access",
                    item.line,
                    item.text,
                    thread,
                    f"{size} aligned bytes of a buffer",
                    f"address {int(places[thread])} of buffers at {self.bases}",
                )
            )

    def write_back(self) -> None:
        """Copy the bytes back into the arrays."""
        for base, array in zip(self.bases, self.arrays, strict=True):
            array.reshape(-1).view(np.uint8)[:] = self.bytes[base : base + array.nbytes]
