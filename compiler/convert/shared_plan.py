"""Steps of a conversion through shared memory, with a certified bank map.

Each way to store (``st.shared``, ``stmatrix``, its transposed form) is paired with each
way to load. The swizzle is found for the two access patterns that result: a matrix
instruction is an ordinary 128-bit access as the lanes that supply addresses see it.
Where the memory would be larger than wanted, part of the tile is stored and loaded at
a time, with barriers between (``repetitions``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from algebra.affine import AffineLayout
from algebra.bits import log2
from algebra.dims import OFFSET
from algebra.errors import UnsupportedLayoutError
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from algebra.matrix_instructions import row_access
from algebra.swizzle import Swizzling, optimal_swizzle
from compiler.cost.device import Device

from .hardware import Hardware, hardware_of
from .memory_side import MATRIX, PLAIN, TRANSPOSED, side, silent_bits
from .repetitions import with_repetitions
from .steps import SCOPES, Barrier, Load, Select, Step, Store

WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """A way through shared memory, or around it.

    Attributes:
        steps: Stores, barriers and loads.
        swizzling: Memory layout with its certificate; None if it isn't used.
        shared_bytes: Memory of one block [bytes].
    """

    steps: tuple[Step, ...]
    swizzling: Swizzling | None
    shared_bytes: int


def shared_plans(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
) -> Iterator[SharedPlan]:
    """Yield the ways through shared memory that are worth comparing.

    Args:
        src: Layout that stores, without registers that hold copies.
        dst: Layout that loads, likewise.
        element_bits: Size of an element [bits].
        device: Target.
        limit: Memory above which the tile is cut to repetitions [bytes].
    """
    kinds_dst = kinds_of(dst.linear, element_bits, device.loads_matrices)
    for store in kinds_of(src.linear, element_bits, device.stores_matrices):
        for load in kinds_dst:
            found = _plan(src, dst, element_bits, device, limit, (store, load))
            if found is not None:
                yield found


def even_plans(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
) -> Iterator[SharedPlan]:
    """Yield the way by vectors that both sides have in common, if it is another one.

    Where one side could move wider vectors than the other, it moves the other's: more
    accesses, but the first word of each is there earlier, and the next store need not
    wait for the last. Only where that takes no more wavefronts.

    The arguments are those of ``shared_plans``.
    """
    kinds = PLAIN, PLAIN
    sides = src.linear, dst.linear
    wide = optimal_swizzle(*sides, element_bits, device.banks)
    even = optimal_swizzle(*sides, element_bits, device.banks, even=True)
    sizes = [
        [fact.elements for fact in found.certificate.accesses] for found in (wide, even)
    ]
    dear = even.certificate.wavefronts > wide.certificate.wavefronts
    # what completes a word may widen the vectors of one side after all
    uneven = len(set(sizes[1])) > 1
    if dear or uneven or sizes[0] == sizes[1]:
        return
    found = _within(src, dst, element_bits, device, limit, kinds, even)
    if found is not None:
        yield found


def kinds_of(layout: LinearLayout, element_bits: int, matrices: bool) -> list[str]:
    """Return the kinds of instruction that the registers and lanes allow.

    Args:
        layout: What is stored or loaded.
        element_bits: Size of an element [bits].
        matrices: Whether the target moves matrices.
    """
    kinds = [PLAIN]
    if not matrices or element_bits > 32:
        return kinds
    for kind, transposed in ((MATRIX, False), (TRANSPOSED, True)):
        try:
            row_access(layout, element_bits, transposed=transposed)
        except UnsupportedLayoutError:
            continue
        kinds.append(kind)
    return kinds


def _plan(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
    kinds: tuple[str, str],
) -> SharedPlan | None:
    seen = patterns((src.linear, dst.linear), kinds, element_bits)
    swizzling = optimal_swizzle(*seen, element_bits, device.banks)
    return _within(src, dst, element_bits, device, limit, kinds, swizzling)


def _within(
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    device: Device,
    limit: int,
    kinds: tuple[str, str],
    swizzling: Swizzling,
) -> SharedPlan | None:
    """Return the way through a memory layout, in repetitions if it is too large."""
    size = (element_bits << swizzling.memory.get_in_dim_size_log2(OFFSET)) // 8
    wanted = 0
    while size >> wanted > limit:
        wanted += 1
    while True:
        memory, repeats = with_repetitions(
            swizzling.memory,
            (src.linear, dst.linear),
            wanted,
            element_bits,
            device.banks,
        )
        whole = replace(swizzling, memory=memory)
        steps = steps_through(src, dst, kinds, whole, element_bits, repeats)
        if steps is not None:
            return SharedPlan(steps, swizzling, size >> repeats)
        if not repeats or kinds != (PLAIN, PLAIN):
            return None
        wanted = repeats - 1  # fewer, so that words stay whole


def patterns(
    sides: Sequence[LinearLayout], kinds: Sequence[str], element_bits: int
) -> tuple[LinearLayout, LinearLayout]:
    """Return the access patterns of both sides, as memory sees them.

    Args:
        sides: What is stored, and what is loaded.
        kinds: By which kind of instruction.
        element_bits: Size of an element [bits].
    """
    one, other = (
        layout
        if kind == PLAIN
        else row_access(
            _shared_first(layout, opposite, _in_row(kind, element_bits)),
            element_bits,
            transposed=kind == TRANSPOSED,
        )
        for layout, opposite, kind in zip(sides, reversed(sides), kinds, strict=True)
    )
    return one, other


def steps_through(
    src: AffineLayout,
    dst: AffineLayout,
    kinds: tuple[str, str],
    swizzling: Swizzling,
    element_bits: int,
    repeats: int,
) -> tuple[Step, ...] | None:
    """Return stores, barriers and loads, or None if the instructions can't.

    Args:
        src: Layout that stores.
        dst: Layout that loads.
        kinds: By which kinds of instruction.
        swizzling: Memory, its top offset bits the repetitions, and what accesses take.
        element_bits: Size of an element [bits].
        repeats: Log2 of the repetitions [bits].
    """
    store, load = (
        side(
            layout.linear,
            start,
            swizzling.memory,
            kind,
            fact,
            element_bits=element_bits,
            repeats=repeats,
            stores=stores,
        )
        for layout, start, kind, fact, stores in zip(
            (src, dst),
            (0, src.packed_offset ^ dst.packed_offset),
            kinds,
            swizzling.certificate.accesses,
            (True, False),
            strict=True,
        )
    )
    if store is None or load is None:
        return None
    silent = silent_bits(store.address)
    if silent and store.instruction.is_matrix:
        return None
    first, between = _scopes(store.address, load.address, silent)
    steps: list[Step] = []
    if store.packs:
        steps.append(Select(store.to_memory()))
    for repetition in range(1 << repeats):
        if repetition:
            steps.append(Barrier(between))
        steps.append(Store(store.address, repetition, silent, store.instruction))
        steps.append(Barrier(first))
        steps.append(Load(load.address, repetition, load.instruction))
    if load.packs:
        steps.append(Select(load.from_memory()))
    return tuple(steps)


def _in_row(kind: str, element_bits: int) -> int:
    """Return how many register bits lie in a row of a matrix [bits]."""
    word = max(0, log2(WORD_BITS) - log2(element_bits))
    return word if kind == MATRIX else max(0, word - 1)


def _shared_first(
    layout: LinearLayout, other: LinearLayout, count: int
) -> LinearLayout:
    """Return a layout whose first registers are the other's too, if there are such.

    What lies side by side in a row of a matrix should do so on both sides.
    """
    columns = list(layout.columns)
    registers = layout.in_bits[0]
    wanted = other.columns[: other.in_bits[0]]
    shared = [bit for bit in range(registers) if columns[bit] in wanted][:count]
    for place, bit in enumerate(shared):
        columns.insert(place, columns.pop(bit))
    return LinearLayout.from_columns(
        dict(zip(layout.in_names, layout.in_bits, strict=True)),
        dict(zip(layout.out_names, layout.out_bits, strict=True)),
        columns,
    )


def _scopes(store: AffineLayout, load: AffineLayout, silent: int) -> tuple[str, str]:
    """Return the narrowest barriers after a store and after a load."""
    there, here = hardware_of(store), hardware_of(load)
    writers = [
        0 if silent >> bit & 1 else column
        for bit, column in enumerate(store.linear.columns)
    ]
    echelon = Echelon(writers)
    reach = 0
    for bit, column in enumerate(load.linear.columns):
        own = 0
        if here.registers <= bit:
            own = 1 << bit - here.registers + there.registers
        reach |= echelon.reduce(column)[1] ^ own
    reach |= echelon.reduce(load.packed_offset ^ store.packed_offset)[1]
    after_store = _scope(there, reach)
    offset_bits, repetition_bits, _ = store.linear.out_bits
    for bit in range(repetition_bits):
        reach |= echelon.reduce(1 << offset_bits + bit)[1]
    return after_store, _scope(there, reach)


def _scope(here: Hardware, reach: int) -> str:
    if reach & here.block_mask:
        return SCOPES[2]
    return SCOPES[1] if reach & here.outer_mask else SCOPES[0]
