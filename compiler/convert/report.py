"""A plan in words: its steps, instructions, bank conflicts and shared memory."""

from collections.abc import Iterable, Mapping, Sequence

from algebra.affine import AffineLayout
from algebra.bits import set_bits
from algebra.swizzle import Swizzling
from algebra.verdict import Proved
from compiler.cost import Device

from .hardware import Hardware, hardware_of
from .steps import Barrier, Load, Registers, Select, Shuffle, Step, Store


def describe(
    steps: Sequence[Step],
    counts: Mapping[str, int],
    device: Device,
    *,
    shared_bytes: int = 0,
    swizzling: Swizzling | None = None,
    least_shuffles: int | None = None,
    rejected: Iterable[tuple[str, float]] = (),
    cycles: float = 0.0,
) -> str:
    """Return the lines that ``Plan.explain`` shows.

    Args:
        steps: Steps of a plan.
        counts: Instruction class -> number.
        device: Target.
        shared_bytes: Shared memory of a block [bytes].
        swizzling: Memory layout, if memory is used.
        least_shuffles: Lower bound of the shuffles of a plan within warps.
        rejected: Other ways with their costs [cycles].
        cycles: What the plan costs [cycles].
    """
    if not steps:
        return f"plan for {device.name}: no-op, every register holds what it has to."
    lines = [f"plan for {device.name}:"]
    repeated = sum(isinstance(step, Store) for step in steps)
    if repeated > 1:
        lines.append(f"  {repeated} repetitions of store, barrier, load")
        steps = _one_repetition(steps)
    lines += [f"  {number}. {_step(step)}" for number, step in enumerate(steps, 1)]
    named = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    lines.append(f"instructions of a thread: {named or 'none'}")
    if least_shuffles is not None and counts.get("shfl"):
        reached = "reached" if counts["shfl"] == least_shuffles else "not reached"
        lines.append(f"shuffles needed at least: {least_shuffles} ({reached})")
    if swizzling is not None:
        lines.append(f"shared memory: {shared_bytes} bytes")
        stores, loads = swizzling.conflicts
        lines.append(f"bank conflicts: {stores} storing, {loads} loading")
        verdict = swizzling.certificate.check()
        if isinstance(verdict, Proved):
            lines.append("the bank map is optimal (certified)")
    lines.append(f"cost: {cycles:g} cycles of a multiprocessor a warp")
    others = [f"{name} ({cycles:g})" for name, cycles in rejected]
    if others:
        lines.append(f"dearer: {'; '.join(others)}")
    return "\n".join(lines)


def _one_repetition(steps: Sequence[Step]) -> list[Step]:
    """Leave out all stores, loads and barriers but those of the first repetition."""
    kept: list[Step] = []
    loaded = False
    for step in steps:
        inside = isinstance(step, Store | Load | Barrier)
        if not inside or not loaded:
            kept.append(step)
        loaded = loaded or isinstance(step, Load)
    return kept


def _step(step: Step) -> str:
    match step:
        case Registers():
            return f"rename registers: {_registers(step.source)}"
        case Select():
            return f"select registers: {_registers(step.source)}"
        case Shuffle():
            return f"shuffle: {_lanes(step.source)}{_words(step)}"
        case Store():
            conflicts = step.instruction.conflicts
            silent = bin(step.silent).count("1")
            copies = f", one of {1 << silent} copies" if silent else ""
            return (
                f"store: {step.instruction.count} x {step.instruction.spelling}, "
                f"{conflicts} conflicts{copies}"
            )
        case Load():
            conflicts = step.instruction.conflicts
            return (
                f"load: {step.instruction.count} x {step.instruction.spelling}, "
                f"{conflicts} conflicts"
            )
        case Barrier():
            return f"barrier of the {step.scope}"


def _words(step: Shuffle) -> str:
    if not step.word_registers:
        return ""
    return f" ({1 << step.word_registers} elements a word)"


def _registers(source: AffineLayout) -> str:
    """Say where each new register bit comes from, and what threads add."""
    new, old = hardware_of(source), Hardware(*source.linear.out_bits)
    parts = []
    for bit, column in enumerate(source.linear.columns):
        registers = column & old.register_mask
        name = _name(new, bit)
        if bit < new.registers:
            if registers != 1 << bit:
                parts.append(f"{name} <- {_sum(old, registers) or 'copy'}")
        elif registers:
            parts.append(f"{name} flips {_sum(old, registers)}")
    if source.packed_offset:
        parts.append(f"always flips {_sum(old, source.packed_offset)}")
    if old.registers > new.registers:
        parts.append(f"{1 << old.registers} -> {1 << new.registers}")
    return ", ".join(parts) or "as they are"


def _lanes(source: AffineLayout) -> str:
    """Say which lane each lane reads from."""
    here = hardware_of(source)
    parts = []
    for bit, column in enumerate(source.linear.columns):
        lanes = column & here.lane_mask
        if lanes != (1 << bit) & here.lane_mask:
            parts.append(f"{_name(here, bit)} -> {_sum(here, lanes) or 'nothing'}")
    if source.packed_offset & here.lane_mask:
        parts.append(f"always {_sum(here, source.packed_offset & here.lane_mask)}")
    return ", ".join(parts)


def _sum(here: Hardware, place: int) -> str:
    return " xor ".join(_name(here, bit) for bit in set_bits(place))


def _name(here: Hardware, bit: int) -> str:
    """Name a bit of a packed index."""
    for dim, bits in here.dims.items():
        if bit < bits:
            return f"{dim} bit {bit}"
        bit -= bits
    raise AssertionError("a bit of the index")
