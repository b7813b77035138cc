"""How many instructions of each class the steps of a plan take."""

from collections import Counter
from collections.abc import Sequence

from algebra.gauss import rank
from compiler.cost import Device, cycles

from .hardware import Hardware, hardware_of
from .lower import Packing, lower
from .memory_side import word_moves
from .renaming import renamings
from .steps import Barrier, Load, Select, Shuffle, Step, Store
from .words import Node, Prmt, Program, Selp, Shfl

REGISTERS = 224
"""32-bit registers of a thread, without those for addresses."""
BARRIERS = {"warp": "bar.warp", "block": "bar.sync", "cluster": "bar.cluster"}


def work(steps: Sequence[Step], element_bits: int) -> Counter[str]:
    """Count what a thread executes; ``wavefronts`` are those of its warp.

    Args:
        steps: Steps of a plan.
        element_bits: Size of an element [bits].
    """
    counts = _memory(steps, Packing(element_bits))
    for run in runs_within_warp(steps):
        counts += operations(lower(run, element_bits))
    return counts


def estimate(
    steps: Sequence[Step], element_bits: int, *, packed: bool = True
) -> Counter[str]:
    """Count the same without lowering: quick, and close enough to rank plans.

    Law: equal to ``work`` for shuffles and memory. Selections and byte permutes are
    counted as if none were shared by accident or left out; conditions are not counted.

    Args:
        steps: Steps of a plan.
        element_bits: Size of an element [bits].
        packed: Whether words are there before and wanted after; if not, what only
            renames registers at either end is free.
    """
    if not packed:
        steps = renamings(tuple(steps), element_bits)[0]
    counts = _memory(steps, Packing(element_bits))
    packing = Packing(element_bits)
    for run in runs_within_warp(steps):
        for index, step in enumerate(run):
            new = hardware_of(step.source)
            if isinstance(step, Shuffle):
                counts["shfl"] += _shuffled_words(step, packing)
                continue
            read, made = packing.around(run, index)
            words = 1 << new.registers - made + packing.element_bits
            rounds, is_permute = _rounds(step, read, made)
            counts["prmt" if is_permute else "selp"] += rounds * words
    return +counts


def price(
    steps: Sequence[Step],
    element_bits: int,
    device: Device,
    resident_warps: int,
    packed: bool,
) -> float:
    """Return what steps cost: their instructions, waiting, and what does not fit.

    Args:
        steps: Steps of a plan.
        element_bits: Size of an element [bits].
        device: Where they run.
        resident_warps: As in ``plan``.
        packed: As in ``plan``.

    Returns:
        Cycles of a multiprocessor for one warp's share [cycles].
    """
    counts = estimate(steps, element_bits, packed=packed)
    # a word that is put away and fetched takes two wavefronts
    counts["wavefronts"] += 2 * spilled(steps, element_bits)
    return cycles(counts, waits(steps), device, resident_warps)


def waits(steps: Sequence[Step]) -> Counter[str]:
    """Count what a warp waits for, one after the other.

    Args:
        steps: Steps of a plan.
    """
    counts: Counter[str] = Counter()
    for step in steps:
        match step:
            case Shuffle():
                counts["shfl"] += 1
            case Load():
                counts["pass"] += 1
            case Barrier():
                counts[BARRIERS[step.scope]] += 1
    return counts


def spilled(steps: Sequence[Step], element_bits: int) -> int:
    """Return how many words do not fit in the registers of a thread.

    Between selections and shuffles both files are alive; a store frees its file.

    Args:
        steps: Steps of a plan.
        element_bits: Size of an element [bits].
    """
    packing = Packing(element_bits)
    most = 0
    for run in runs_within_warp(steps):
        for step in run:
            sizes = hardware_of(step.source), Hardware(*step.source.linear.out_bits)
            most = max(most, sum(packing.words(here) for here in sizes))
    return max(0, most - REGISTERS)


def instructions(counts: Counter[str]) -> int:
    """Return how many instructions a thread issues."""
    return sum(number for kind, number in counts.items() if kind != "wavefronts")


def operations(program: Program) -> Counter[str]:
    """Count the nodes of a program and what their conditions take."""
    counts: Counter[str] = Counter()
    conditions: set[int] = set()
    selectors: set[tuple[int, tuple[tuple[int, int], ...]]] = set()
    lanes: set[tuple[tuple[int, ...], int]] = set()
    for node in program.nodes:
        counts[_CLASSES.get(type(node), "")] += 1
        match node:
            case Selp():
                conditions.add(node.condition.mask)
            case Prmt() if node.varying:
                selectors.add((node.selector, node.varying))
                conditions.update(mask for mask, _ in node.varying)
            case Shfl() if not node.is_butterfly(program.lane_bits):
                lanes.add((node.lanes, node.start))
    del counts[""]
    # a parity takes an and and a comparison, a popcount more if it has several bits
    alu = sum(2 if mask & mask - 1 == 0 else 4 for mask in conditions)
    alu += sum(len(varying) for _, varying in selectors)
    alu += sum(2 + len(images) for images in {images for images, _ in lanes})
    alu += len(lanes)
    counts["alu"] += alu
    return +counts


def runs_within_warp(steps: Sequence[Step]) -> list[list[Select | Shuffle]]:
    """Cut out the maximal runs of selections and shuffles."""
    runs: list[list[Select | Shuffle]] = []
    is_open = False
    for step in steps:
        inside = isinstance(step, Select | Shuffle)
        if inside and not is_open:
            runs.append([])
        if isinstance(step, Select | Shuffle):
            runs[-1].append(step)
        is_open = inside
    return runs


_CLASSES: dict[type[Node], str] = {Selp: "selp", Prmt: "prmt", Shfl: "shfl"}


def _memory(steps: Sequence[Step], packing: Packing) -> Counter[str]:
    counts: Counter[str] = Counter()
    for step in steps:
        if isinstance(step, Store | Load) and not step.repetition:
            here = hardware_of(step.address)
            parts = packing.parts(here)
            counts["prmt"] += word_moves(step.instruction, parts, here.registers)
        match step:
            case Store() | Load():
                kind = step.instruction.name.removesuffix(".trans")
                counts[kind] += step.instruction.count
                counts["wavefronts"] += step.instruction.wavefronts
            case Barrier():
                counts[BARRIERS[step.scope]] += 1
    return +counts


def _shuffled_words(step: Shuffle, packing: Packing) -> int:
    """Count the words that leave their lane, some lane at least."""
    here = hardware_of(step.source)
    columns, start = step.source.linear.columns, step.source.packed_offset
    own = [1 << bit for bit in range(here.registers, here.bits)]
    slots = [c >> here.registers for c in columns[step.word_registers : here.registers]]
    words = 1 << len(slots) + packing.element_bits
    if list(columns[here.registers :]) != own or start:
        return words
    return words - (words >> rank(slots))


def _rounds(step: Select, read: int, made: int) -> tuple[int, bool]:
    """Return the operations for each new word, and whether they move parts of words.

    Stages that new words share take one operation each; those that they don't, twice
    as many each time.
    """
    new, old = hardware_of(step.source), Hardware(*step.source.linear.out_bits)
    columns = [c & old.register_mask for c in step.source.linear.columns]
    start = step.source.packed_offset & old.register_mask
    parts, threads = columns[:made], columns[new.registers :]
    words = [column >> read for column in columns[made : new.registers]]
    choosing = [column >> read for column in (*parts, *threads)]
    stages, moved = rank(choosing), rank(words)
    shared = stages + moved - rank([*words, *choosing])
    exchanged = min(len(words) - moved, rank(choosing[:made]))
    alone = max(0, stages - shared - exchanged)
    mask = (1 << read) - 1
    turned = any(c & mask for c in (*columns[made : new.registers], *threads, start))
    stay = all(column == 1 << bit for bit, column in enumerate(parts))
    is_permute = turned or not stay
    return max(stages - alone + (1 << alone) - 1, is_permute), is_permute
