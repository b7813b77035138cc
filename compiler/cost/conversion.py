"""What a conversion costs: instructions and wavefronts, weighted by a device."""

from collections.abc import Mapping

from .device import Device

Counts = Mapping[str, int]
"""Instruction class -> instructions of one thread; ``wavefronts`` of one warp."""


def cost(counts: Counts, device: Device) -> float:
    """Return the cycles of a multiprocessor for one warp's share of a conversion.

    Args:
        counts: Instruction class -> number.
        device: Where it runs.

    Returns:
        The sum of all costs [cycles].

    Example:
        >>> from compiler.cost import device
        >>> cost({"shfl": 8, "prmt": 8}, device("sm_90"))
        12.0
    """
    return sum(number * device.cycles(kind) for kind, number in counts.items())


PARTITIONS = 4
"""Parts of a multiprocessor that issue on their own; a warp stays in one."""
BUSY = 16
"""Resident warps from which on all units have something else to do."""
ARITHMETIC = ("prmt", "selp", "alu")


def cycles(counts: Counts, waits: Counts, device: Device, resident_warps: int) -> float:
    """Return the cycles for one warp's share where few warps may be resident.

    On a busy multiprocessor each instruction takes its unit from other work, so all of
    them count. Where little else is to be done, fewer warps than partitions leave some
    of those idle, and memory and arithmetic of different warps overlap, so that only
    the longer one counts, unless barriers keep the warps in step. Either way the latencies are waited for by all warps at the same time.

    Args:
        counts: Instruction class -> number.
        waits: Kind of wait -> number of one after the other.
        device: Where it runs.
        resident_warps: Warps of a multiprocessor that do the same at the same time.

    Returns:
        Time over the number of warps [cycles].

    Example:
        >>> from compiler.cost import device
        >>> cycles({"shfl": 8, "selp": 4}, {"shfl": 1}, device("sm_90"), 8)
        11.0
        >>> cycles({"shfl": 8, "selp": 4}, {"shfl": 1}, device("sm_90"), 16)
        11.5
    """
    arithmetic = cost({k: n for k, n in counts.items() if k in ARITHMETIC}, device)
    rest = cost({k: n for k, n in counts.items() if k not in ARITHMETIC}, device)
    waited = sum(number * device.latency(kind) for kind, number in waits.items())
    busy = arithmetic + rest
    if resident_warps < BUSY:
        arithmetic *= max(1.0, PARTITIONS / resident_warps)
        in_step = bool(waits.get("bar.sync"))
        busy = arithmetic + rest if in_step else max(arithmetic, rest)
    return busy + waited / resident_warps
