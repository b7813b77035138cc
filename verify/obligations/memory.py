"""The memory plan: what is read is written and neither freed nor reused yet."""

from collections.abc import Iterable, Iterator
from typing import Any

from algebra.verdict import Proved, Refuted, Verdict
from compiler.ir.expression import Expression
from compiler.ir.index import add, mul
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule, Store
from compiler.ir.node import Alias, Buffer, Extern, Reference

from .points import Access, accesses


def memory_plan(schedule: Schedule) -> Verdict:
    """Decide that each step sees the arrays that it names, alive and written.

    An array dies when it is freed, and memory of a base lives as long as any view. An
    array whose memory is reused dies with all its views. The next kernel may still
    read it, in place: where it reads at the very position that it writes.

    Returns:
        ``Refuted`` with the step's number, the array and what is wrong.
    """
    alive = {b.name for b in schedule.inputs if isinstance(b, Buffer)}
    written = set(alive)
    storage = {name: name for name in alive}
    dying: dict[str, str] = {}
    for number, step in enumerate(schedule.steps):

        def wrong(name: str, what: str, at: int = number) -> Verdict:
            return Refuted({"step": at, "array": name, "is": what})

        if isinstance(step, Allocate):
            name = step.buffer.name
            storage[name] = name
            if step.reuse is not None:
                if step.reuse not in alive and step.reuse not in storage:
                    return wrong(step.reuse, "reused, but it does not exist")
                storage[name] = storage[step.reuse]
                dying[name] = step.reuse
            alive.add(name)
        elif isinstance(step, Free):
            if step.name not in alive:
                return wrong(step.name, "freed, but it is not alive")
            alive.discard(step.name)
        elif isinstance(step, Alias):
            if step.base not in alive:
                return wrong(step.base, "viewed, but it is not alive")
            alive.add(step.buffer.name)
            written.add(step.buffer.name)
            storage[step.buffer.name] = storage[step.base]
        else:
            for name in _read(step):
                if name not in alive:
                    return wrong(name, "read, but it is not alive")
                if name not in written:
                    return wrong(name, "read before it is written")
                for new, old in dying.items():
                    if storage[name] != storage[new] or name == new:
                        continue
                    if name != old or not _in_place(step, old, new):
                        return wrong(name, f"read, but its memory is {new}'s")
            for new in dying:
                alive -= {n for n in alive if n != new and storage[n] == storage[new]}
            dying.clear()
            for name in _made(step):
                if isinstance(step, Kernel) and name not in alive:
                    return wrong(name, "written, but it is not alive")
                alive.add(name)
                written.add(name)
                storage.setdefault(name, name)
    for output in schedule.outputs:
        if isinstance(output, str) and (output not in alive or output not in written):
            return Refuted({"step": "end", "array": output, "is": "not there"})
    return Proved("live ranges")


def _in_place(step: Kernel | Extern, old: str, new: str) -> bool:
    """Return whether ``old`` is read only where ``new`` is written."""
    if not isinstance(step, Kernel):
        return False
    if new not in step.buffers or step.buffers[old].dtype != step.buffers[new].dtype:
        return False
    touched = accesses(step)
    stores = [a for a in touched if a.writes and a.buffer == new]
    return all(
        _position(step, load) is not None
        and _position(step, load) is _position(step, store)
        and load.inner == store.inner
        for load in touched
        if load.buffer == old
        for store in stores
    )


def _position(kernel: Kernel, access: Access) -> Expression | None:
    """Return where an access is in memory [elements]; None where no strides are set."""
    buffer = kernel.buffers[access.buffer]
    if buffer.strides is None:
        return None
    return add(*map(mul, access.coordinates, buffer.strides), buffer.offset or 0)


def _read(step: Kernel | Extern) -> Iterator[str]:
    if isinstance(step, Kernel):
        made: set[str] = set()
        for access in accesses(step):
            if not access.writes and access.buffer not in made:
                yield access.buffer
            if access.writes:
                made.add(access.buffer)
        return
    yield from _references((*step.args, *step.kwargs.values()))


def _made(step: Kernel | Extern) -> Iterator[str]:
    if isinstance(step, Kernel):
        for stage in step.stages:
            if isinstance(stage, Store):
                yield stage.buffer
        return
    for buffer in step.outputs:
        if buffer is not None:
            yield buffer.name


def _references(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Reference):
            yield value.name
        elif isinstance(value, dict):
            yield from _references(value.values())
        elif isinstance(value, list | tuple) and not isinstance(value, Expression):
            yield from _references(value)
