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
