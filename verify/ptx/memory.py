"""Shared memory with the time and thread of each access, so that races are seen.

Two accesses by different threads are *ordered* if a barrier of the CTA lies between
them, or a barrier of their warp where both are in it. An access that is not ordered
after an earlier write of the same byte, or a write not ordered after an earlier read,
is a race, unless every order gives the same bytes: threads that hold copies of the same
element may write it to the same place. (The memory model of PTX gives such writes of
one size a meaning; for writes of mixed sizes we take it that equal bytes commute.)

Each byte has a summary of its last write and its last reads. The summary can only err
on the side of suspicion; a suspect is then looked up in the log of all accesses since
the last barrier of the CTA, which is exact.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .provenance import UNWRITTEN, Codes

Indices: TypeAlias = npt.NDArray[np.int64]
WARP = 32
NOBODY, MANY = -1, -2


@dataclass(frozen=True, slots=True)
class Access:
    """One instruction's accesses, a row for each byte.

    Attributes:
        line: Line of the instruction.
        kind: ``"read"`` or ``"write"``.
        threads: Who.
        places: Which byte.
        codes: What was read or written.
        before: What had been there.
        stamp: Number of barriers, of either kind, passed by then.
    """

    line: int
    kind: Literal["read", "write"]
    threads: Indices
    places: Indices
    codes: Codes
    before: Codes
    stamp: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """An access that goes wrong.

    Attributes:
        kind: ``"race"``, ``"unwritten memory"`` or ``"outside shared memory"``.
        thread: Who.
        place: Which byte.
        other: Thread and line of the other access of a race.
    """

    kind: str
    thread: int
    place: int
    other: tuple[int, int] | None = None


@dataclass(slots=True)
class _Summary:
    """Of each byte: the thread, warp, CTA epoch and stamp of its last access."""

    thread: npt.NDArray[np.int32]
    warp: npt.NDArray[np.int32]
    epoch: npt.NDArray[np.int32]
    stamp: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, size: int) -> "_Summary":
        """Return the summary of memory that nobody touched."""
        nobody = np.full(size, NOBODY, np.int32)
        never = np.full(size, -1, np.int32)
        return cls(nobody, nobody.copy(), never, never.copy())

    def unordered(
        self, threads: Indices, places: Indices, epoch: int, stamp: int
    ) -> npt.NDArray[np.bool_]:
        """Return where the last access may not be ordered before now."""
        recent: npt.NDArray[np.bool_] = self.epoch[places] == epoch
        if not recent.any():
            return recent
        own = self.thread[places] == threads
        synced = (self.warp[places] == threads // WARP) & (self.stamp[places] < stamp)
        recent &= ~own & ~synced
        return recent

    def record(
        self, threads: Indices, places: Indices, epoch: int, stamp: int, keep: bool
    ) -> None:
        """Store an access; with ``keep``, remember that there were others before."""
        owner = threads.astype(np.int32)
        warp = owner // WARP
        others = np.zeros(len(places), bool)
        strangers = others
        if keep:
            recent = self.epoch[places] == epoch
            if recent.any():
                others = recent & (self.thread[places] != owner)
                strangers = recent & (self.warp[places] != warp)
        self.thread[places] = owner
        self.warp[places] = warp
        others = others | (self.thread[places] != owner)
        strangers = strangers | (self.warp[places] != warp)
        self.thread[places[others]] = MANY
        self.warp[places[strangers]] = MANY
        self.epoch[places] = epoch
        self.stamp[places] = stamp


class SharedMemory:
    """The shared memory of one CTA, byte by byte.

    Attributes:
        size: Bytes of all variables together [bytes].
        codes: What each byte holds.
    """

    def __init__(self, size: int) -> None:
        """Start with ``size`` bytes that nobody has written."""
        self.size = size
        self.codes: Codes = np.zeros(size, np.int32)
        self._writes = _Summary.empty(size)
        self._reads = _Summary.empty(size)
        self._log: list[Access] = []
        self._epoch = 0
        self._stamp = 0

    def cta_barrier(self) -> None:
        """All threads wait for all: what came before is ordered before the rest."""
        self._epoch += 1
        self._stamp += 1
        self._log.clear()

    def warp_barrier(self) -> None:
        """The threads of each warp wait for each other."""
        self._stamp += 1

    def write(
        self, line: int, threads: Indices, places: Indices, codes: Codes
    ) -> Conflict | None:
        """Write one byte a row; return what goes wrong.

        Args:
            line: Line of the instruction.
            threads: Who writes [rows].
            places: Byte offset, checked against the size [rows].
            codes: What is written [rows].
        """
        conflict = self._outside(threads, places)
        if conflict or not len(places):
            return conflict
        before = self.codes[places]
        suspects = self._writes.unordered(threads, places, self._epoch, self._stamp)
        suspects |= self._reads.unordered(threads, places, self._epoch, self._stamp)
        self.codes[places] = codes
        access = Access(line, "write", threads, places, codes, before, self._stamp)
        clash = np.flatnonzero(self.codes[places] != codes)
        if len(clash):
            row = int(clash[0])
            rivals = np.flatnonzero((places == places[row]) & (codes != codes[row]))
            return self._race(access, row, int(threads[rivals[0]]), line)
        if suspects.any():
            conflict = self._judge(access, np.flatnonzero(suspects))
            if conflict:
                return conflict
        self._writes.record(threads, places, self._epoch, self._stamp, True)
        self._log.append(access)
        return None

    def read(
        self, line: int, threads: Indices, places: Indices
    ) -> tuple[Codes, Conflict | None]:
        """Read one byte a row; return the codes, and what goes wrong."""
        conflict = self._outside(threads, places)
        if conflict:
            return np.zeros(len(places), np.int32), conflict
        codes = self.codes[places]
        empty = np.flatnonzero(codes == UNWRITTEN)
        if len(empty):
            row = int(empty[0])
            return codes, Conflict(
                "unwritten memory", int(threads[row]), int(places[row])
            )
        access = Access(line, "read", threads, places, codes, codes, self._stamp)
        suspects = self._writes.unordered(threads, places, self._epoch, self._stamp)
        if suspects.any():
            conflict = self._judge(access, np.flatnonzero(suspects))
            if conflict:
                return codes, conflict
        self._reads.record(threads, places, self._epoch, self._stamp, True)
        self._log.append(access)
        return codes, None

    def _outside(self, threads: Indices, places: Indices) -> Conflict | None:
        wrong = np.flatnonzero((places < 0) | (places >= self.size))
        if not len(wrong):
            return None
        row = int(wrong[0])
        return Conflict("outside shared memory", int(threads[row]), int(places[row]))

    def _race(self, access: Access, row: int, other: int, line: int) -> Conflict:
        return Conflict(
            "race", int(access.threads[row]), int(access.places[row]), (other, line)
        )

    def _judge(self, access: Access, rows: Indices) -> Conflict | None:
        """Look each suspect row up in the log; return the first race."""
        for row in rows.tolist():
            found = self._judge_row(access, row)
            if found:
                return found
        return None

    def _judge_row(self, access: Access, row: int) -> Conflict | None:
        """Return a race of one row with an earlier access, unless all orders agree.

        All orders agree on a byte if each write that is not ordered before now puts
        there what an ordered one, or the time before the epoch, had put there already,
        which is also what this access reads or writes.
        """
        thread, place = int(access.threads[row]), int(access.places[row])
        code = int(access.codes[row])
        settled: int | None = None
        rivals: list[tuple[int, int, str, int]] = []
        for past in self._log:
            for hit in np.flatnonzero(past.places == place).tolist():
                who = int(past.threads[hit])
                if settled is None:
                    settled = int(past.before[hit])
                synced = who // WARP == thread // WARP and past.stamp < access.stamp
                if who == thread or synced:
                    if past.kind == "write":
                        settled = int(past.codes[hit])
                else:
                    rivals.append((who, past.line, past.kind, int(past.codes[hit])))
        for who, line, kind, theirs in rivals:
            if access.kind == "write":
                harmless = theirs == code
            else:
                harmless = kind == "read" or theirs == code == settled
            if not harmless:
                return self._race(access, row, who, line)
        return None
