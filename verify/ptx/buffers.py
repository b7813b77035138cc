"""The kernel's input and output in global memory.

The input holds opaque elements, so a load yields their provenance. A store is judged at
once: each byte must be the byte of the input at the same place. So rival writers need
no order, and at the end only coverage is left to ask.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .memory import Indices
from .provenance import LAST_CONSTANT, Codes

INPUT, OUTPUT = "the input", "the output"
ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Misfit:
    """A byte of a load or store that is not as it should be.

    Attributes:
        kind: ``"outside the buffer"`` or ``"wrong element"``.
        thread: Who.
        offset: Byte offset in the buffer.
        code: What was stored.
    """

    kind: str
    thread: int
    offset: int
    code: int


@dataclass(slots=True)
class Buffers:
    """Input and output of ``elements`` elements each.

    Attributes:
        elements: How many [elements].
        element_bytes: Size of one [bytes].
        contents: Code of each byte of the input [bytes].
        covered: Which bytes of the output have been stored.
        loads: Per load instruction, the element that each thread's bytes belong to
            [threads, elements of the access]; -1 where the guard was false.
        stores: Per store instruction, likewise, whatever the guard was.
    """

    elements: int
    element_bytes: int
    contents: Codes
    covered: npt.NDArray[np.bool_] = field(init=False)
    loads: list[Indices] = field(init=False, default_factory=list)
    stores: list[Indices] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.covered = np.zeros(self.size, bool)

    @property
    def size(self) -> int:
        """Size of each buffer [bytes]."""
        return self.elements * self.element_bytes

    def describe(self, offset: int) -> str:
        """Return in words what belongs at a byte offset of the output."""
        element, byte = divmod(offset, self.element_bytes)
        code = int(self.contents[offset])
        value = f" (0x{~code:02x})" if code < 0 else ""
        return f"byte {byte} of element {element}{value}"

    def outside(self, offsets: Indices, active: npt.NDArray[np.bool_]) -> Misfit | None:
        """Return an active byte outside the buffer.

        Args:
            offsets: Byte offsets [threads, bytes].
            active: Whose guard holds [threads].
        """
        wrong = ((offsets < 0) | (offsets >= self.size)) & active[:, None]
        if not wrong.any():
            return None
        thread, column = np.argwhere(wrong)[0].tolist()
        return Misfit("outside the buffer", thread, int(offsets[thread, column]), 0)

    def load(self, offsets: Indices, active: npt.NDArray[np.bool_]) -> Codes:
        """Return the codes of bytes of the input, and remember who loaded them."""
        self.loads.append(self._elements(offsets, active))
        return self.contents[np.clip(offsets, 0, self.size - 1)]

    def store(
        self,
        offsets: Indices,
        codes: Codes,
        active: npt.NDArray[np.bool_],
        awake: npt.NDArray[np.bool_],
    ) -> Misfit | None:
        """Check one store; return its first wrong byte.

        Bytes of threads whose guard is false are checked too where their address lies
        in the buffer: the register holds a copy of the element, even if another thread
        stores it.

        Args:
            offsets: Byte offsets [threads, bytes].
            codes: What is stored [threads, bytes].
            active: Whose guard holds [threads].
            awake: Who has come to this instruction [threads].
        """
        inside = ((offsets >= 0) & (offsets < self.size)).all(axis=1) & awake
        self.stores.append(self._elements(offsets, inside))
        due = self.contents[np.where(inside[:, None], offsets, 0)]
        wrong = (codes != due) & inside[:, None]
        if wrong.any():
            # a byte that is plainly wrong says more than one that is not known
            plain = wrong & (codes >= LAST_CONSTANT)
            thread, column = np.argwhere(plain if plain.any() else wrong)[0].tolist()
            return Misfit(
                "wrong element",
                thread,
                int(offsets[thread, column]),
                int(codes[thread, column]),
            )
        self.covered[offsets[active]] = True
        return None

    def _elements(self, offsets: Indices, kept: npt.NDArray[np.bool_]) -> Indices:
        first = offsets[:, :: self.element_bytes] // self.element_bytes
        found: Indices = np.where(kept[:, None], first, -1)
        return found
