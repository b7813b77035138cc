"""The memory plan: what is read is written and neither freed nor reused yet."""

from collections.abc import Iterable, Iterator
from typing import Any

from algebra.verdict import Proved, Refuted, Verdict
from compiler.ir.expression import Expression
from compiler.ir.index import add, mul, product, sub
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule, Step, Store
from compiler.ir.node import Alias, Buffer, Extern, Map, Program, Reference
from compiler.ir.ranges import Ranges

from .definitions import Storage, shared
from .points import Access, accesses


def memory_plan(schedule: Schedule, program: Program | None = None) -> Verdict:
    """Decide that each step sees the arrays that it names, alive and written.

    An array dies when it is freed, and memory of a base lives as long as any view. An
    array whose memory is reused dies with all its views. The next kernel may still
    read it, in place: where it reads at the very position that it writes. What the
    caller owns and does not donate is never reused, and what takes over memory fits in
    it. Two results share memory, or one shares an argument's, only where the program
    says so.

    Args:
        schedule: Steps with memory.
        program: What it was made from; None: which results share is not compared.

    Returns:
        ``Refuted`` with the step's number, the array and what is wrong.
    """
    plan = _Plan(schedule)
    for number, step in enumerate(schedule.steps):
        wrong = plan.step(step)
        if wrong is not None:
            return Refuted({"step": number, "array": wrong[0], "is": wrong[1]})
    outputs = [name for name in schedule.outputs if isinstance(name, str)]
    for output in outputs:
        if output not in plan.alive or output not in plan.written:
            return Refuted({"step": "end", "array": output, "is": "not there"})
    if program is not None:
        meant = _program_storage(program)
        owned = [b.name for b in schedule.inputs if isinstance(b, Buffer)]
        seen: dict[str, str] = {plan.storage[name]: name for name in owned}
        for output in outputs:
            other = seen.setdefault(plan.storage[output], output)
            if other != output and meant.root(other) != meant.root(output):
                return Refuted(
                    {"step": "end", "array": output, "is": f"in {other}'s memory"}
                )
    return Proved("live ranges")


Wrong = tuple[str, str]
"""An array, and what is wrong with it."""


class _Plan:
    """What is alive and written after some steps."""

    def __init__(self, schedule: Schedule) -> None:
        inputs = [b for b in schedule.inputs if isinstance(b, Buffer)]
        self.alive = {b.name for b in inputs}
        self.owned = self.alive - schedule.donated
        self.written = set(self.alive)
        self.storage = {name: name for name in self.alive}
        self.dying: dict[str, str] = {}
        self.arrays = {b.name: b for b in inputs}
        self.ranges = Ranges({}, schedule.least)

    def step(self, step: Step) -> Wrong | None:
        if isinstance(step, Allocate):
            return self._allocate(step)
        if isinstance(step, Free):
            if step.name not in self.alive:
                return step.name, "freed, but it is not alive"
            self.alive.discard(step.name)
            return None
        if isinstance(step, Alias):
            if step.base not in self.alive:
                return step.base, "viewed, but it is not alive"
            self._appear(step.buffer, self.storage[step.base])
            return None
        return self._run(step)

    def _allocate(self, step: Allocate) -> Wrong | None:
        name, old = step.buffer.name, step.reuse
        self.arrays[name] = step.buffer
        self.storage[name] = name
        self.alive.add(name)
        if old is None:
            return None
        if old not in self.storage:
            return old, "reused, but it does not exist"
        self.storage[name] = self.storage[old]
        if self.storage[old] in self.owned:
            return old, "reused, but the caller owns it"
        before = self.arrays.get(old)
        if before is None or before.dtype != step.buffer.dtype:
            return old, f"reused for another type by {name}"
        room = sub(_span(before), _span(step.buffer))
        if not self.ranges.non_negative(room):
            return old, f"reused by {name}, which may not fit"
        self.dying[name] = old
        return None

    def _appear(self, buffer: Buffer, storage: str) -> None:
        self.arrays[buffer.name] = buffer
        self.alive.add(buffer.name)
        self.written.add(buffer.name)
        self.storage[buffer.name] = storage

    def _run(self, step: Kernel | Extern) -> Wrong | None:
        for name in _read(step):
            if name not in self.alive:
                return name, "read, but it is not alive"
            if name not in self.written:
                return name, "read before it is written"
            for new, old in self.dying.items():
                if self.storage[name] != self.storage[new] or name == new:
                    continue
                if name != old or not _in_place(step, old, new):
                    return name, f"read, but its memory is {new}'s"
        for new in self.dying:
            here = self.storage[new]
            self.alive -= {
                n for n in self.alive if n != new and self.storage[n] == here
            }
        self.dying.clear()
        if isinstance(step, Kernel):
            for name in _stored(step):
                if name not in self.alive:
                    return name, "written, but it is not alive"
                self.written.add(name)
            return None
        for buffer in step.outputs:
            if buffer is not None:
                bases = step.aliases.get(buffer.name, ())
                shown = [self.storage[b] for b in bases if b in self.storage]
                self._appear(buffer, shown[0] if shown else buffer.name)
                for other in shown[1:]:
                    self._join(other, shown[0])
        return None

    def _join(self, one: str, other: str) -> None:
        for name, storage in self.storage.items():
            if storage == one:
                self.storage[name] = other


def _program_storage(program: Program) -> Storage:
    """Return which arrays share memory in eager mode, as the program says."""
    found = Storage()
    for node in program.nodes:
        for name, base in shared(node):
            found.join(name, base)
        if isinstance(node, Map) and node.shares:
            found.join(node.buffer.name, node.shares)
    return found


def _span(buffer: Buffer) -> Expression:
    """Return the elements of memory that an array reaches over."""
    strides = buffer.strides
    if strides is None:
        return product(buffer.shape)
    parts = (mul(sub(e, 1), s) for e, s in zip(buffer.shape, strides, strict=True))
    return add(1, *parts)


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


def _stored(step: Kernel) -> Iterator[str]:
    for stage in step.stages:
        if isinstance(stage, Store):
            yield stage.buffer


def _references(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Reference):
            yield value.name
        elif isinstance(value, dict):
            yield from _references(value.values())
        elif isinstance(value, list | tuple) and not isinstance(value, Expression):
            yield from _references(value)
