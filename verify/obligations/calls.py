"""Results of calls that scheduling has renamed: which one of the program's each is.

Where a convolution's result leaves the graph with the strides that eager mode gives it,
the call returns an array of another name, with the channels last, and what leaves is a
copy. That both calls are the same is assumed here, and to be shown: the arguments of
one have to be those of the other (:meth:`~verify.obligations.reads.Reads.doubt`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compiler.ir.kernel import Schedule
from compiler.ir.node import Buffer, Extern, Program, Reference, written


@dataclass(frozen=True, slots=True)
class Renamed:
    """A result of a call of a schedule.

    Attributes:
        call: The schedule's call.
        meant: The program's.
        name: What the schedule calls the result.
        known_as: What the program calls it.
    """

    call: Extern
    meant: Extern
    name: str
    known_as: str


def renamed_results(program: Program, schedule: Schedule) -> dict[str, Renamed]:
    """Return the results of calls that the program does not have, with its own.

    The calls of one operator that are left over on both sides are paired in order.
    None is paired that changes an array, whose result may show another one's memory, or
    whose kind of result differs.
    """
    known = program.buffers()
    calls = [step for step in schedule.steps if isinstance(step, Extern)]
    made = {buffer.name for call in calls for buffer in written(call)}
    left: dict[Any, list[Extern]] = {}
    for node in program.nodes:
        if isinstance(node, Extern) and not any(b.name in made for b in written(node)):
            left.setdefault(node.target, []).append(node)
    found: dict[str, Renamed] = {}
    for call in calls:
        names = [buffer.name for buffer in written(call)]
        waiting = left.get(call.target, [])
        if not waiting or not names or any(name in known for name in names):
            continue
        meant = waiting.pop(0)
        pairs = list(zip(call.outputs, meant.outputs, strict=False))
        plain = not (call.mutates or meant.mutates or call.aliases or meant.aliases)
        if plain and all(_alike(one, other) for one, other in pairs):
            for one, other in pairs:
                if one is not None and other is not None:
                    found[one.name] = Renamed(call, meant, one.name, other.name)
    return found


def _alike(one: Buffer | None, other: Buffer | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.dtype, one.shape) == (other.dtype, other.shape)


def arguments(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the arguments of two calls side by side; unequal containers as they are."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) == len(other):
            for a, b in zip(one, other, strict=True):
                yield from arguments(a, b)
            return
    elif isinstance(one, dict) and isinstance(other, dict) and set(one) == set(other):
        for key in one:
            yield from arguments(one[key], other[key])
        return
    yield one, other


def is_same(one: Any, other: Any) -> bool:
    """Return whether two arguments are the same value, or the same array."""
    if isinstance(one, Reference) and isinstance(other, Reference):
        return one.name == other.name
    return type(one) is type(other) and bool(one == other)
