"""Run a plan on arrays: blocks x warps x lanes x registers of element ids.

No F2 algebra is used beyond evaluating a map at every index by doubling. Each step
moves ids as the hardware would: a shuffle reads another lane of the same warp, a store
writes the memory of its own block, a load may read only what was written before the
last barrier, and nobody may write what somebody may still read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from algebra.affine import AffineLayout
from compiler.errors import SimulationError

from .hardware import Hardware, hardware_of
from .steps import SCOPES, Barrier, Load, Registers, Select, Shuffle, Step, Store

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
UNWRITTEN = -1
"""Id of a place that nothing was written to."""
NOBODY = -1
"""Warp that is none, or several."""
SPLIT = "a word comes from several lanes"


def images(layout: AffineLayout) -> Ids:
    """Evaluate an affine layout at every packed index."""
    result = np.empty(1 << len(layout.linear.columns), np.int64)
    result[0] = layout.packed_offset
    for bit, column in enumerate(layout.linear.columns):
        half = 1 << bit
        np.bitwise_xor(result[:half], column, out=result[half : 2 * half])
    return result


def run(src: AffineLayout, steps: Sequence[Step], *, held: Ids | None = None) -> Ids:
    """Run the steps on the elements that ``src`` holds.

    Args:
        src: Layout of the first file: register, lane, warp, block -> tensor.
        steps: Steps of a plan.
        held: What the places of the first file hold; default: packed ids, by ``src``.

    Returns:
        blocks x warps x lanes x registers: packed ids of the elements of the last file.

    Raises:
        SimulationError: a step reads what was not written, or not waited for; writes
            what another thread writes or may still read; leaves the warp; or mixes
            registers that travel together.
    """
    machine = _Machine(src)
    if held is not None:
        machine.file = held
    for position, step in enumerate(steps):
        machine.take(position, step)
    machine.settle()
    here = machine.here
    shape = (1 << here.blocks, 1 << here.warps, 1 << here.lanes, 1 << here.registers)
    return machine.file.reshape(shape)


class _Machine:
    """Registers and shared memory between two steps."""

    def __init__(self, src: AffineLayout) -> None:
        self.here = hardware_of(src)
        self.file = images(src)
        self.loading: Ids | None = None
        self.loaded = self.here
        self.time = 0
        self.waited = dict.fromkeys(SCOPES, 0)
        self.memory: Memory | None = None

    def take(self, position: int, step: Step) -> None:
        """Run one step."""
        self.time += 1
        match step:
            case Store():
                self.store(position, step)
            case Load():
                self.load(position, step)
            case Barrier():
                self.waited[step.scope] = self.time
            case _:
                self.settle()
                self.move(position, step)

    def settle(self) -> None:
        """Make the registers that loads have filled the current file."""
        if self.loading is None:
            return
        self.file, self.here, self.loading = self.loading, self.loaded, None
        missing = np.flatnonzero(self.file == UNWRITTEN)
        if missing.size:
            raise _fault("the end", self.here, missing[0], "register is never loaded")

    def move(self, position: int, step: Registers | Select | Shuffle) -> None:
        """Fill a new file from the old one, within threads or within warps."""
        new = hardware_of(step.source)
        where = images(step.source)
        if int(where.max()) >= self.file.size:
            raise SimulationError(
                f"step {position} reads place {int(where.max())}, the file has "
                f"{self.file.size} places",
                step=position,
            )
        index = np.arange(where.size)
        own, target = index >> new.registers, where >> self.here.registers
        chosen = where & self.here.register_mask
        kind = type(step).__name__.lower()
        if isinstance(step, Shuffle):
            stray = (own >> new.lanes != target >> new.lanes) | (
                index & new.register_mask != chosen
            )
            lanes = target.reshape(-1, 1 << step.word_registers)
            split = (lanes != lanes[:, :1]).any(axis=1)
            _refuse(position, new, stray, "shuffle leaves its warp or register")
            _refuse(position, new, np.repeat(split, 1 << step.word_registers), SPLIT)
        else:
            _refuse(position, new, own != target, f"{kind} leaves its thread")
        if isinstance(step, Registers):
            first = np.tile(chosen[: 1 << new.registers], 1 << new.threads)
            _refuse(position, new, chosen != first, "registers differ by thread")
        self.file, self.here = self.file[where], new

    def store(self, position: int, step: Store) -> None:
        """Write one repetition."""
        if self.loading is not None and UNWRITTEN not in self.loading:
            self.settle()
        here = self.here
        cells, repetition = _cells(step.address)
        place = np.arange(cells.size)
        active = (repetition == step.repetition) & (place & step.silent == 0)
        threads = place >> here.registers
        _check_vector(position, step, here)
        memory = self._allocate(step.address)
        away = cells >> memory.offset_bits != threads >> here.lanes + here.warps
        _refuse(position, here, away & active, "store leaves its block")
        order = np.argsort(cells[active], kind="stable")
        writers = place[active][order]
        cells = cells[active][order]
        twice = np.flatnonzero(cells[1:] == cells[:-1])
        if twice.size:
            raise _fault(position, here, writers[twice[0]], "two places write one cell")
        threads = writers >> here.registers
        warps = threads >> here.lanes
        late = self._pending(here, warps, memory.readers, cells)
        late |= self._pending(here, warps, memory.writers, cells)
        if late.any():
            raise _fault(
                position,
                here,
                writers[np.flatnonzero(late)[0]],
                "a cell in use is overwritten, a barrier is missing",
            )
        memory.ids[cells] = self.file[writers]
        memory.writers.note(cells, warps, here.warps, self.time)

    def load(self, position: int, step: Load) -> None:
        """Read one repetition."""
        cells, repetition = _cells(step.address)
        if self.loading is None:
            self.loaded = hardware_of(step.address)
            self.loading = np.full(cells.size, UNWRITTEN, np.int64)
        here, memory = self.loaded, self.memory
        _check_vector(position, step, here)
        places = np.flatnonzero(repetition == step.repetition)
        cells = cells[places]
        if memory is None or int(cells.max()) >= memory.ids.size:
            raise _fault(position, here, places[0], "load beyond what is stored")
        threads = places >> here.registers
        warps = threads >> here.lanes
        empty = np.flatnonzero(memory.writers.time[cells] == 0)
        if empty.size:
            raise _fault(position, here, places[empty[0]], "load of unwritten memory")
        early = self._pending(here, warps, memory.writers, cells)
        if early.any():
            place = places[np.flatnonzero(early)[0]]
            raise _fault(position, here, place, "load before a barrier")
        self.loading[places] = memory.ids[cells]
        memory.readers.note(cells, warps, here.warps, self.time)

    def _pending(self, here: Hardware, warps: Ids, users: "Users", cells: Ids) -> Flags:
        """Say which cells may still be in use by others than the given warps."""
        cluster = self.waited["cluster"]
        block = max(cluster, self.waited["block"])
        warp = max(block, self.waited["warp"])
        same_block = warps >> here.warps == users.block[cells]
        outer = np.where(same_block, block, cluster)
        needed = np.where(warps == users.warp[cells], warp, outer)
        pending: Flags = users.time[cells] > needed
        return pending

    def _allocate(self, address: AffineLayout) -> "Memory":
        offset_bits, _, block_bits = address.linear.out_bits
        if self.memory is None or self.memory.offset_bits < offset_bits:
            self.memory = Memory(offset_bits, block_bits)
        return self.memory


class Users:
    """Who wrote or read each cell last: warp and block, or several of them."""

    def __init__(self, size: int) -> None:
        """Start without users."""
        self.time = np.zeros(size, np.int64)
        self.warp = np.full(size, NOBODY, np.int64)
        self.block = np.full(size, NOBODY, np.int64)

    def note(self, cells: Ids, warps: Ids, warp_bits: int, time: int) -> None:
        """Remember users; several warps, or blocks, of a cell count as nobody."""
        self.time[cells] = time
        for last, now in ((self.warp, warps), (self.block, warps >> warp_bits)):
            last[cells] = now
            last[cells[last[cells] != now]] = NOBODY


class Memory:
    """Shared memory of all blocks."""

    def __init__(self, offset_bits: int, block_bits: int) -> None:
        """Make unwritten memory of ``2**offset_bits`` cells in each block."""
        size = 1 << offset_bits + block_bits
        self.offset_bits = offset_bits
        self.ids = np.full(size, UNWRITTEN, np.int64)
        self.writers = Users(size)
        self.readers = Users(size)


def _check_vector(position: int, step: Store | Load, here: Hardware) -> None:
    """Refuse a vector that isn't whole, or whose order differs by thread."""
    size = step.instruction.vector
    if size == 1 or step.instruction.is_matrix:
        return
    cells, repetition = _cells(step.address)
    place = np.arange(cells.size)
    active = repetition == step.repetition
    if isinstance(step, Store):
        active &= place & step.silent == 0
    register = place & here.register_mask
    within = cells % size
    first = np.full(1 << here.registers, -1)
    first[register[active]] = within[active]
    stray = active & (within != first[register])
    _refuse(position, here, stray, "a vector's order depends on the thread")
    group = (place >> here.registers) * (int(cells.max()) // size + 1) + cells // size
    _, index, counts = np.unique(group[active], return_inverse=True, return_counts=True)
    short = active.copy()
    short[active] = counts[index] != size
    _refuse(position, here, short, "a vector is not side by side")


def _cells(address: AffineLayout) -> tuple[Ids, Ids]:
    """Return (offset + block, repetition) of each place."""
    offset_bits, repetition_bits, _ = address.linear.out_bits
    packed = images(address)
    upper = packed >> offset_bits
    cells = packed & (1 << offset_bits) - 1 | upper >> repetition_bits << offset_bits
    return cells, upper & (1 << repetition_bits) - 1


def _refuse(position: int, here: Hardware, wrong: Flags, what: str) -> None:
    """Raise for the first place that is wrong, if any."""
    places = np.flatnonzero(wrong)
    if places.size:
        raise _fault(position, here, places[0], what)


def _fault(step: Any, here: Hardware, place: Any, what: str) -> SimulationError:
    """Name the thread and the register of a fault."""
    place = int(place)
    facts = {}
    for name, bits in here.dims.items():
        facts[name] = place & (1 << bits) - 1
        place >>= bits
    where = ", ".join(f"{name} {value}" for name, value in facts.items())
    return SimulationError(f"{what}; step {step}: {where}", step=step, **facts)
