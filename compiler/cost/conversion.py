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
ARITHMETIC = ("prmt", "selp", "alu")


def cycles(counts: Counts, waits: Counts, device: Device, resident_warps: int) -> float:
    """Return the cycles for one warp's share where few warps may be resident.

    Each instruction takes its unit from other work, and fewer warps than partitions
    leave some of those idle. The latencies are waited for by all warps at the same
    time.

    Args:
        counts: Instruction class -> number.
        waits: Kind of wait -> number of one after the other.
        device: Where it runs.
        resident_warps: Warps of a multiprocessor that do the same at the same time.

    Returns:
        Time over the number of warps [cycles].

    Example:
        >>> from compiler.cost import device
        >>> cycles({"shfl": 8}, {"shfl": 1}, device("sm_90"), 8)
        11.0
    """
    idle = max(1.0, PARTITIONS / resident_warps)
    busy = sum(
        number * device.cycles(kind) * (idle if kind in ARITHMETIC else 1)
        for kind, number in counts.items()
    )
    waited = sum(number * device.latency(kind) for kind, number in waits.items())
    return busy + waited / resident_warps
