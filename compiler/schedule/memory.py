"""Memory: arrays allocated before they are written, freed after their last use.

Memory of a dead array is taken over by one of the same type and size. In place, by the
kernel that reads it last, only if each element is read at the very point that writes
its successor, by the very store that does. Inputs' memory is never taken, but let go
after the last use: what the forward pass kept is nobody else's in the backward pass.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.ir.kernel import Allocate, Free, Kernel, Step, Store
from compiler.ir.node import Alias, Buffer, Extern

from .arrays import references
from .nest import loads_of
from .strides import offset_of, strides_of
from .work import BYTES, span, typical

FRESH = frozenset(
    f"aten.{name}.default"
    for name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "convolution", "clone")
)
"""Operators whose results nobody else holds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps with memory, and what they take.

    Attributes:
        steps: In order.
        peak: Most bytes of arrays alive at once, inputs apart [bytes].
        total: Bytes of all arrays made [bytes].
        notes: What shares memory and why.
    """

    steps: tuple[Step, ...]
    peak: int
    total: int
    notes: tuple[str, ...]


def touched(step: Step) -> list[str]:
    """Return the arrays that a step reads or writes."""
    if isinstance(step, Kernel):
        return list(step.buffers)
    if isinstance(step, Alias):
        return [step.buffer.name, step.base]
    assert isinstance(step, Extern)
    names = [*references(step.args), *references(step.kwargs), *step.mutates]
    names += [b.name for b in step.outputs if b is not None]
    return list(dict.fromkeys(names))


def planned(
    steps: Sequence[Kernel | Extern | Alias],
    buffers: Mapping[str, Buffer],
    inputs: Iterable[str],
    outputs: Iterable[str],
) -> Plan:
    """Return the steps with memory taken and given back.

    Args:
        steps: Kernels, calls and aliases in order.
        buffers: All arrays with strides.
        inputs: Names that the caller owns.
        outputs: Names that the caller gets.
    """
    planner = _Planner(steps, buffers, set(inputs), set(outputs))
    for number, step in enumerate(steps):
        planner.step(number, step)
    return Plan(planner.recycled(), planner.peak, planner.total, tuple(planner.notes))


class _Planner:
    def __init__(
        self,
        steps: Sequence[Kernel | Extern | Alias],
        buffers: Mapping[str, Buffer],
        inputs: set[str],
        outputs: set[str],
    ) -> None:
        self.buffers = buffers
        self.out: list[Step] = []
        self.notes: list[str] = []
        self.peak = self.total = self._alive_bytes = 0
        self._inputs = inputs
        self._root: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._sharing: dict[str, list[str]] = {}
        self._own: set[str] = set()
        for step in steps:
            if isinstance(step, Alias):
                self._join(step.buffer.name, step.base)
            elif isinstance(step, Extern):
                for name, bases in step.aliases.items():
                    for base in bases:
                        self._join(name, base)
        for number, step in enumerate(steps):
            for name in touched(step):
                self._last[self._top(name)] = number
        self._kept = {self._top(name) for name in outputs}
        self._kept |= {self._top(name) for name in inputs}
        self._outputs = outputs
        self._names_last = {
            name: number for number, step in enumerate(steps) for name in touched(step)
        }

    def _join(self, name: str, base: str) -> None:
        mine, theirs = self._top(name), self._top(base)
        if mine != theirs:
            self._root[mine] = theirs

    def _top(self, name: str) -> str:
        while name in self._root:
            name = self._root[name]
        return name

    def step(self, number: int, step: Kernel | Extern | Alias) -> None:
        replaced: set[str] = set()
        if isinstance(step, Kernel):
            fresh = [
                s.buffer
                for s in step.stages
                if isinstance(s, Store)
                and s.buffer not in self._own
                and s.buffer not in self._inputs
                and self._top(s.buffer) == s.buffer
            ]
            for name in dict.fromkeys(fresh):
                self._allocate(number, step, name, replaced)
        self.out.append(step)
        if isinstance(step, Extern):
            own = _returns_fresh(step)
            for buffer in step.outputs:
                if buffer is not None:
                    self._grow(buffer)
                    if own and not self._shared(buffer.name):
                        self._own.add(buffer.name)
        self._release(number, step, replaced)

    def _grow(self, buffer: Buffer) -> None:
        size = typical(span(buffer)) * BYTES[buffer.dtype]
        self.total += size
        self._alive_bytes += size
        self.peak = max(self.peak, self._alive_bytes)

    def _allocate(
        self, number: int, kernel: Kernel, name: str, replaced: set[str]
    ) -> None:
        buffer = self.buffers[name]
        self._own.add(name)
        for old in self._dying(number, kernel, buffer):
            if old not in replaced and in_place(kernel, old, name):
                replaced.add(old)
                self.out.append(Allocate(buffer, old))
                self.notes.append(f"{name} takes {old}'s memory in place")
                return
        self.out.append(Allocate(buffer))
        self._grow(buffer)

    def _dying(self, number: int, kernel: Kernel, buffer: Buffer) -> list[str]:
        found = []
        for name in kernel.buffers:
            old = self.buffers[name]
            if (
                name in self._own
                and name not in self._kept
                and self._last[name] == number
                and not self._shared(name)
                and _key(old) == _key(buffer)
            ):
                found.append(name)
        return found

    def _shared(self, name: str) -> bool:
        return name in self._root.values() or name in self._root

    def _release(
        self, number: int, step: Kernel | Extern | Alias, replaced: set[str]
    ) -> None:
        for name in touched(step):
            if name in self._outputs:
                continue
            # a name that stands for its storage stays as long as the storage
            if self._top(name) != name and self._names_last[name] == number:
                self.out.append(Free(name))
        for name in dict.fromkeys(map(self._top, touched(step))):
            if self._last[name] != number:
                continue
            if name in self._outputs or name in replaced:
                continue
            # an input's memory is its owner's, who may have given up his own hold
            self.out.append(Free(name))
            if name not in self._kept:
                buffer = self.buffers[name]
                self._alive_bytes -= typical(span(buffer)) * BYTES[buffer.dtype]

    def recycled(self) -> tuple[Step, ...]:
        """Return the steps where memory goes from one array to the next of its size."""
        out: list[Step | None] = []
        dead: dict[Hashable, list[int]] = {}
        for step in self.out:
            if isinstance(step, Free) and self._reusable(step.name):
                key = _key(self.buffers[step.name])
                dead.setdefault(key, []).append(len(out))
            elif isinstance(step, Allocate) and step.reuse is None:
                places = dead.get(_key(step.buffer))
                if places:
                    place = places.pop()
                    old = out[place]
                    assert isinstance(old, Free)
                    out[place] = None
                    step = Allocate(step.buffer, old.name)
            out.append(step)
        return tuple(step for step in out if step is not None)

    def _reusable(self, name: str) -> bool:
        return name in self._own and name not in self._kept and self._top(name) == name


def _key(buffer: Buffer) -> Hashable:
    return buffer.dtype, buffer.device, span(buffer)


def _returns_fresh(call: Extern) -> bool:
    """Return whether a call's results are known to be dense arrays of their own.

    Other operators may return what they keep, or an argument, whatever their schemas
    say.
    """
    return str(call.target) in FRESH and not call.aliases and not call.mutates


def in_place(kernel: Kernel, old: str, new: str) -> bool:
    """Return whether an array may be written over the one that the kernel reads.

    Proved by equality: each load of the old array stands in the one store to the new
    one, at the same place in memory and at the same point.
    """
    stores = [s for s in kernel.stages if isinstance(s, Store) and s.buffer == new]
    if len(stores) != 1 or stores[0].mode != "set" or stores[0].condition is not None:
        return False
    store = stores[0]
    seen, made = kernel.buffers[old], kernel.buffers[new]
    place = offset_of(store.target, strides_of(made))
    for stage in kernel.stages:
        if isinstance(stage, Store) and stage.buffer == old:
            return False
        for load in loads_of(stage):
            if load.data != old:
                continue
            if stage is not store:
                return False
            if offset_of(load.args, strides_of(seen)) is not place:
                return False
    return store.injective
