"""Selections that only rename registers, at the ends of a plan.

Between a kernel's own tensors and the words that a plan moves, elements are put
together and taken apart anyway. Which ones share a word is free there, and so are
copies of registers, dropped before or made after.
"""

from dataclasses import dataclass

from .hardware import Hardware, hardware_of
from .lower import Packing
from .steps import Registers, Select, Shuffle, Step


@dataclass(frozen=True, slots=True)
class Renaming:
    """Registers in another order, without some that are copies, or with copies.

    Attributes:
        old: Register bits before [bits].
        sources: Old register bit of each new one; None for a bit that selects a copy.
    """

    old: int
    sources: tuple[int | None, ...]


def renamings(
    steps: tuple[Step, ...], element_bits: int
) -> tuple[tuple[Step, ...], Renaming | None, Renaming | None]:
    """Take renamings off both ends, if something is left.

    Args:
        steps: Steps of a plan.
        element_bits: Size of an element [bits].

    Returns:
        The steps between, and what is renamed before and after.
    """
    taken = left = None
    if len(steps) > 1 and isinstance(steps[0], Select | Registers):
        taken = _renamed(steps[0], steps[1], element_bits)
        steps = steps[1:] if taken else steps
    if len(steps) > 1 and isinstance(steps[-1], Select | Registers):
        left = _renamed(steps[-1], steps[-2], element_bits)
        steps = steps[:-1] if left else steps
    return steps, taken, left


def undoes(second: Renaming | None, first: Renaming | None) -> bool:
    """Return whether a renaming gives back what another one, before it, was given.

    Example:
        >>> copied = Renaming(2, (None, 1, 0))
        >>> undoes(Renaming(3, (2, 1)), copied), undoes(Renaming(3, (1, 2)), copied)
        (True, False)
        >>> undoes(None, None), undoes(None, copied)
        (True, False)
    """
    if first is None or second is None:
        return first is second
    if second.old != len(first.sources) or len(second.sources) != first.old:
        return False
    return all(
        source is not None and first.sources[source] == bit
        for bit, source in enumerate(second.sources)
    )


def _renamed(
    step: Select | Registers, neighbour: Step, element_bits: int
) -> Renaming | None:
    """Return what a selection does to register bits, if all threads do the same."""
    if isinstance(neighbour, Shuffle):
        # between files that are packed differently words are made anew
        parts = Packing(element_bits).parts(hardware_of(neighbour.source))
        if parts != neighbour.word_registers:
            return None
    new, old = hardware_of(step.source), Hardware(*step.source.linear.out_bits)
    columns = step.source.linear.columns
    threads = [1 << bit for bit in range(old.registers, old.bits)]
    registers = columns[: new.registers]
    used = [column for column in registers if column]
    plain = (
        list(columns[new.registers :]) == threads
        and not step.source.packed_offset
        and not any(column & column - 1 for column in used)
        and len(set(used)) == len(used)
    )
    if not plain:
        return None
    sources = tuple(c.bit_length() - 1 if c else None for c in registers)
    # a bit is dropped or copied, not both
    if None in sources and len(used) < old.registers:
        return None
    return Renaming(old.registers, sources)
