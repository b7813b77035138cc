"""Prove a plan by exact F2 algebra: for all elements, without enumerating any.

The content of a register file is an affine layout, place -> element. A step within a
warp composes it with its source map. A store puts it to memory: on the writers (places
without silent bits) the address must be injective, so each address has one writer and
the address map can be inverted; a load composes with that inverse, after its addresses
were shown to lie in the image. The repetition counts as part of the address, and the
order of stores, barriers and loads must keep one repetition in memory at a time. What
is left at the end must be the destination.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from algebra.affine import AffineLayout
from algebra.dims import BLOCK
from algebra.gauss import Echelon
from algebra.verdict import Proved, Refuted, Verdict

from .hardware import Hardware, affine, hardware_of
from .steps import SCOPES, Barrier, Load, Registers, Select, Shuffle, Step, Store

WORD_BITS = 32


class _FalseError(Exception):
    """A statement about the plan is false; the text says which."""


@dataclass(slots=True)
class _Exchange:
    """One pass through shared memory, under way.

    Attributes:
        store: First store; the others differ in their repetition only.
        load: First load, likewise.
        live: Repetition that memory holds.
        stored: Repetitions written so far.
        loaded: Repetitions read so far.
        waited: Widest barrier since the last store or load; -1 = none.
        source: Place of the new file -> place that wrote what it reads.
        read_scope: Narrowest barrier that a load needs after its store.
        write_scope: The same for a store after the load before it.
    """

    store: Store
    live: int
    load: Load | None = None
    stored: set[int] = field(default_factory=set)
    loaded: set[int] = field(default_factory=set)
    waited: int = -1
    source: AffineLayout | None = None
    read_scope: int = 0
    write_scope: int = 0

    @property
    def is_over(self) -> bool:
        """Whether all repetitions were loaded."""
        return len(self.loaded) == 1 << self.store.address.linear.out_bits[1]


def prove(
    src: AffineLayout, steps: Sequence[Step], dst: AffineLayout, element_bits: int
) -> Verdict:
    """Prove that the steps turn ``src`` to ``dst``.

    Args:
        src: Layout of the first register file.
        steps: Steps of a plan.
        dst: Layout that the last file must have.
        element_bits: Size of an element [bits].

    Returns:
        ``Proved`` for all elements and threads, or ``Refuted`` with the step and why.
    """
    proof = _Proof(src, element_bits)
    where = "the start"
    try:
        for position, step in enumerate(steps):
            where = f"step {position} ({type(step).__name__.lower()})"
            proof.take(step)
        where = "the end"
        proof.settle()
        proof.compare(dst)
    except _FalseError as error:
        return Refuted(f"{where}: {error}")
    places = 1 << len(dst.linear.columns)
    facts = (("places", places), ("steps", len(steps)))
    return Proved("exact F2 algebra", facts)


class _Proof:
    """What is known between two steps."""

    def __init__(self, src: AffineLayout, element_bits: int) -> None:
        self.content = src
        self.element_bits = element_bits
        self.exchange: _Exchange | None = None
        self.waited: int | None = None

    def take(self, step: Step) -> None:
        match step:
            case Store():
                self.store(step)
            case Load():
                self.load(step)
            case Barrier():
                width = SCOPES.index(step.scope)
                if self.exchange is not None:
                    self.exchange.waited = max(self.exchange.waited, width)
                elif self.waited is not None:
                    self.waited = max(self.waited, width)
            case _:
                self.settle()
                self.move(step)

    def settle(self) -> None:
        """Finish a pass through memory: the loads make the current file."""
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        if exchange.source is None:
            raise _FalseError("stores are never loaded")
        repetitions = 1 << exchange.store.address.linear.out_bits[1]
        missing = set(range(repetitions)) - exchange.loaded
        if missing:
            raise _FalseError(f"repetition {min(missing)} is never loaded")
        self.content = exchange.source.compose(self.content)
        self.waited = exchange.waited

    def move(self, step: Registers | Select | Shuffle) -> None:
        """Check the shape of a source map, then compose the content with it."""
        new, old = hardware_of(step.source), hardware_of(self.content)
        _require(
            step.source.linear.out_bits == self.content.linear.in_bits,
            f"reads a file of {step.source.out_dims}, there is one of "
            f"{self.content.in_dims}",
        )
        shuffles = isinstance(step, Shuffle)
        columns = step.source.linear.columns
        for bit, column in enumerate([*columns, step.source.packed_offset]):
            own = 0
            if new.registers <= bit < new.bits:
                own = 1 << bit - new.registers + old.registers
            moves = column ^ own
            _require(not moves & old.outer_mask, "leaves its warp")
            if shuffles:
                register = 1 << bit if bit < new.registers else 0
                kept = column & old.register_mask == register
                _require(kept, "reads another register of the other lane")
            else:
                _require(not moves & old.lane_mask, "leaves its thread")
        if isinstance(step, Registers):
            threads = zip(columns[new.registers :], range(old.bits), strict=False)
            apart = all(column == 1 << old.registers + i for column, i in threads)
            _require(apart, "depends on the thread")
        if isinstance(step, Shuffle):
            word = columns[: step.word_registers]
            _require(not any(c & old.lane_mask for c in word), "splits a word")
            bits = self.element_bits << step.word_registers
            _require(bits <= max(WORD_BITS, self.element_bits), "overfills a word")
        self.content = step.source.compose(self.content)

    def store(self, step: Store) -> None:
        """Check who writes where, and that nobody needs what is overwritten."""
        _check_vector(step)
        exchange = self.exchange
        if exchange is not None and exchange.is_over:
            self.settle()
            exchange = None
        if exchange is None:
            everyone = SCOPES.index(
                "cluster" if step.address.in_dims[BLOCK] > 1 else "block"
            )
            waited = self.waited is None or self.waited >= everyone
            _require(waited, "overwrites what may still be read, no barrier")
            _check_writers(self.content, step)
            self.exchange = exchange = _Exchange(step, step.repetition)
        else:
            first = exchange.store
            same = first.address == step.address and first.silent == step.silent
            _require(same, "addresses differ from those of the first store")
            _require(step.repetition not in exchange.stored, "writes twice")
            read = exchange.live in exchange.loaded
            _require(read, "overwrites what is not read yet")
            waited = exchange.waited >= exchange.write_scope
            _require(waited, "overwrites what may still be read, no barrier")
        exchange.stored.add(step.repetition)
        exchange.live, exchange.waited = step.repetition, -1

    def load(self, step: Load) -> None:
        """Check that what is read was written, and waited for."""
        _check_vector(step)
        exchange = self.exchange
        if exchange is None or step.repetition not in exchange.stored:
            raise _FalseError("reads memory that was not written")
        _require(exchange.live == step.repetition, "reads what was overwritten")
        if exchange.load is None:
            exchange.load = step
            _trace(exchange, self.content)
        _require(exchange.load.address == step.address, "addresses differ")
        waited = exchange.waited >= exchange.read_scope
        _require(waited, f"reads before a barrier of the {SCOPES[exchange.read_scope]}")
        exchange.loaded.add(step.repetition)
        exchange.waited = -1

    def compare(self, dst: AffineLayout) -> None:
        """Check that the current content is the destination."""
        _require(
            self.content.linear.in_bits == dst.linear.in_bits,
            f"the file has the places {self.content.in_dims}, dst {dst.in_dims}",
        )
        found = [self.content.packed_offset, *self.content.linear.columns]
        wanted = [dst.packed_offset, *dst.linear.columns]
        for bit, (here, there) in enumerate(zip(found, wanted, strict=True)):
            if here != there:
                place = _named(hardware_of(dst), (1 << bit) >> 1)
                raise _FalseError(
                    f"{place} holds element {here ^ (found[0] if bit else 0)}, not "
                    f"{there ^ (wanted[0] if bit else 0)}"
                )


def _check_vector(step: Store | Load) -> None:
    """Require that what one instruction moves lies side by side, in every thread."""
    if step.instruction.is_matrix:
        return
    here = hardware_of(step.address)
    columns = step.address.linear.columns
    low = step.instruction.vector - 1
    threads = columns[here.registers :]
    _require(
        not any(c & low for c in threads), "a vector's order depends on the thread"
    )
    registers = Echelon(columns[: here.registers])
    for bit in range(low.bit_length()):
        _require(
            not registers.reduce(1 << bit)[0],
            f"a vector of {step.instruction.vector} elements is not side by side",
        )


def _check_writers(content: AffineLayout, step: Store) -> None:
    """Require own memory and one writer for each address."""
    here = hardware_of(content)
    _require(step.address.linear.in_bits == content.linear.in_bits, "another file")
    low = sum(step.address.linear.out_bits[:2])
    first = here.bits - here.blocks
    columns = step.address.linear.columns
    for bit, column in enumerate([*columns, step.address.packed_offset]):
        own = 1 << bit - first if first <= bit < here.bits else 0
        _require(column >> low == own, "leaves its block")
    active = [
        column for bit, column in enumerate(columns) if not step.silent >> bit & 1
    ]
    _require(not Echelon(active).kernel, "two places write one address")


def _trace(exchange: _Exchange, content: AffineLayout) -> None:
    """Find the writer of each address that is read, and how far they are apart."""
    store, load = exchange.store, exchange.load
    assert load is not None, "called by the first load"
    _require(
        store.address.linear.out_bits == load.address.linear.out_bits,
        "addresses another memory",
    )
    here, there = hardware_of(load.address), hardware_of(content)
    writers = [
        0 if store.silent >> bit & 1 else column
        for bit, column in enumerate(store.address.linear.columns)
    ]
    echelon = Echelon(writers)

    def writer(address: int) -> int:
        remainder, place = echelon.reduce(address)
        _require(not remainder, "reads an address that was not written")
        return place

    columns = [writer(column) for column in load.address.linear.columns]
    start = writer(load.address.packed_offset ^ store.address.packed_offset)
    exchange.source = affine(here.dims, there.dims, columns, start)
    offset_bits, repetition_bits, _ = store.address.linear.out_bits
    reach = 0
    for bit, column in enumerate([*columns, start]):
        own = 0
        if here.registers <= bit < here.bits:
            own = 1 << bit - here.registers + there.registers
        reach |= column ^ own
    exchange.read_scope = _scope(there, reach)
    for bit in range(repetition_bits):
        reach |= writer(1 << offset_bits + bit)
    exchange.write_scope = _scope(there, reach)


def _scope(here: Hardware, reach: int) -> int:
    """Return the narrowest barrier for a way that changes these bits of a place."""
    if reach & here.block_mask:
        return SCOPES.index("cluster")
    return SCOPES.index("block" if reach & here.outer_mask else "warp")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise _FalseError(what)


def _named(here: Hardware, place: int) -> str:
    """Name a place by its four indices."""
    parts = []
    for name, bits in here.dims.items():
        parts.append(f"{name} {place & (1 << bits) - 1}")
        place >>= bits
    return ", ".join(parts)
