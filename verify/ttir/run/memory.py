"""Memory that notes every access and needs no storage for what is not touched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any
"""A numpy array; mypy's numpy types say nothing useful about object arrays."""

KEPT = 200_000
"""Most elements that are remembered as touched, for each program."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that went wrong at an access.

    Attributes:
        kind: ``out_of_bounds`` or ``poison``.
        access: ``load``, ``store`` or ``atomic``.
        buffer: The buffer.
        offset: The offset [elements].
        line: Line of the kernel's text.
        lane: Coordinates in the block.
    """

    kind: str
    access: str
    buffer: str
    offset: int
    line: int
    lane: tuple[int, ...]


@dataclass(slots=True)
class GuardedMemory:
    """Buffers with their sizes, and what programs did to them.

    Attributes:
        sizes: Buffer -> number of elements.
        initial: Gives what a buffer holds before the kernel, for offsets.
        events: What went wrong.
        stores: Buffer -> offsets written by the present program.
        loads: Buffer -> offsets read by it.
        atomics: Buffer -> offsets changed atomically by it.
        written: Buffer -> offset -> value.
        trace: Live offsets of each access, in order; to compare two runs.
        ended: Number of programs that an assertion ended.
    """

    sizes: Mapping[str, int]
    initial: Callable[[str, Array], Array]
    events: list[Event] = field(default_factory=list)
    stores: dict[str, set[int]] = field(default_factory=dict)
    loads: dict[str, set[int]] = field(default_factory=dict)
    atomics: dict[str, set[int]] = field(default_factory=dict)
    written: dict[str, dict[int, Any]] = field(default_factory=dict)
    trace: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    repeated: list[tuple[str, int, int]] = field(default_factory=list)
    ended: int = 0

    def next_program(self) -> None:
        """Forget what the present program touched, not what it wrote."""
        self.stores, self.loads, self.atomics = {}, {}, {}

    def check(
        self, access: str, buffer: str, offsets: Array, live: Array, line: int
    ) -> Array:
        """Note an access; return which lanes are live and in bounds."""
        size = self.sizes.get(buffer, 0)
        inside = live & (offsets >= 0) & (offsets < size)
        bad = live & ~inside
        for place in np.argwhere(bad)[:4]:
            lane = tuple(int(x) for x in place)
            self.events.append(
                Event("out_of_bounds", access, buffer, int(offsets[lane]), line, lane)
            )
        flat = [int(x) for x in offsets[live]]
        self.trace.append((line, tuple(flat)))
        table = {"load": self.loads, "store": self.stores, "atomic": self.atomics}
        seen = table[access].setdefault(buffer, set())
        if access == "store" and len(set(flat)) != len(flat):
            once: set[int] = set()
            for offset in flat:
                if offset in once:
                    self.repeated.append((buffer, offset, line))
                    break
                once.add(offset)
        if len(seen) < KEPT:
            seen.update(flat)
        return inside

    def poisoned(
        self, access: str, buffer: str, offsets: Array, bad: Array, line: int
    ) -> None:
        """Note live lanes that depend on poison."""
        for place in np.argwhere(bad)[:1]:
            lane = tuple(int(x) for x in place)
            self.events.append(
                Event("poison", access, buffer, int(offsets[lane]), line, lane)
            )

    def read(self, buffer: str, offsets: Array) -> Array:
        """Return what a buffer holds, as far as programs and the start say."""
        values = np.array(self.initial(buffer, offsets))
        changed = self.written.get(buffer)
        if changed:
            for index, offset in np.ndenumerate(offsets):
                if int(offset) in changed:
                    values[index] = changed[int(offset)]
        return values

    def write(self, buffer: str, offsets: Array, values: Array, inside: Array) -> None:
        """Store values at the offsets that are in bounds."""
        cells = self.written.setdefault(buffer, {})
        for offset, value in zip(offsets[inside], values[inside], strict=True):
            cells[int(offset)] = value
