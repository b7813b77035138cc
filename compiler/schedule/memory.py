"""Memory: arrays allocated before they are written, freed after their last use.

Memory of a dead array is taken over by one of the same type and size. In place, by the
kernel that reads it last, only if each element is read at the very point that writes
its successor, by the very store that does. Inputs are let go after the last use: what
the forward pass kept is nobody else's in the backward pass. Their memory is taken if
they are donated, but for no output: whoever gets it would share memory with an input.

On a GPU dead memory is held for a later array only where that does not raise the peak:
there an allocator hands it out again for arrays of any size.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

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
        peak: Most bytes of arrays alive at once, inputs apart that the caller holds
            [bytes].
        total: Bytes of all arrays made [bytes].
        notes: What shares memory and why.
        private: Outputs in memory that the steps made and that is no other output's.
    """

    steps: tuple[Step, ...]
    peak: int
    total: int
    notes: tuple[str, ...]
    private: frozenset[str]


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
    ending: Iterable[str] = (),
    donated: Iterable[str] = (),
) -> Plan:
    """Return the steps with memory taken and given back.

    Args:
        steps: Kernels, calls and aliases in order.
        buffers: All arrays with strides.
        inputs: Names that the caller owns.
        outputs: Names that the caller gets.
        ending: Inputs that the caller does not hold any more.
        donated: Those whose memory may be taken, none an output.
    """
    results = list(outputs)
    planner = _Planner(steps, buffers, set(inputs), set(results), set(donated))
    planner.count(ending)
    for number, step in enumerate(steps):
        planner.step(number, step)
    private = planner.private(results)
    taken = planner.recycled()
    return Plan(taken, planner.peak, planner.total, tuple(planner.notes), private)


class _Planner:
    def __init__(
        self,
        steps: Sequence[Kernel | Extern | Alias],
        buffers: Mapping[str, Buffer],
        inputs: set[str],
        outputs: set[str],
        donated: set[str],
    ) -> None:
        self.buffers = buffers
        self.out: list[Step] = []
        self.notes: list[str] = []
        self.peak = self.total = self._alive_bytes = 0
        self._inputs = inputs
        self._root: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._sharing: dict[str, list[str]] = {}
        self._own = set(donated)
        self._ending: set[str] = set()
        self._given = set(donated)  # arrays in donated memory
        self._next: dict[str, str] = {}  # array -> what is written over it in place
        self._changes: dict[int, int] = {}  # place in out -> bytes more
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
        self._kept |= {self._top(name) for name in inputs - donated}
        self._outputs = outputs
        self._names_last = {
            name: number for number, step in enumerate(steps) for name in touched(step)
        }

    def count(self, ending: Iterable[str]) -> None:
        """Take memory of inputs into account that goes when they are let go."""
        kept = {self._top(name) for name in self._outputs}
        for name in ending:
            if self._top(name) == name and name not in kept:
                self._ending.add(name)
                self._change(name, 1)

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
                    self._grow(buffer.name)
                    if own and not self._shared(buffer.name):
                        self._own.add(buffer.name)
        self._release(number, step, replaced)

    def _grow(self, name: str) -> None:
        self.total += self._size(name)
        self._change(name, 1)

    def _change(self, name: str, times: int) -> None:
        size = times * self._size(name)
        place = len(self.out) - 1
        self._changes[place] = self._changes.get(place, 0) + size
        self._alive_bytes += size
        self.peak = max(self.peak, self._alive_bytes)

    def _size(self, name: str) -> int:
        buffer = self.buffers[name]
        return typical(span(buffer)) * BYTES[buffer.dtype]

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
                self._next[old] = name
                self._pass_on(old, name)
                return
        self.out.append(Allocate(buffer))
        self._grow(name)

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
                and self._may_take(name, buffer.name)
            ):
                found.append(name)
        return found

    def _may_take(self, old: str, new: str) -> bool:
        return old not in self._given or self._kept.isdisjoint(self._line(new))

    def _pass_on(self, old: str, new: str) -> None:
        if old in self._given:
            self._given.update(self._line(new))

    def _line(self, name: str) -> list[str]:
        """Return an array and all that are written over it in place, one by one."""
        line = [name]
        while line[-1] in self._next:
            line.append(self._next[line[-1]])
        return line

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
            if name not in self._kept or name in self._ending:
                self._change(name, -1)

    def recycled(self) -> tuple[Step, ...]:
        """Return the steps where memory goes from one array to the next of its size."""
        out: list[Step | None] = []
        dead: dict[Hashable, list[int]] = {}
        changes = [self._changes.get(place, 0) for place in range(len(self.out))]
        levels = list(accumulate(changes, initial=self._changes.get(-1, 0)))[1:]
        for step in self.out:
            if isinstance(step, Free) and self._reusable(step.name):
                key = _key(self.buffers[step.name])
                dead.setdefault(key, []).append(len(out))
            elif isinstance(step, Allocate) and step.reuse is None:
                places = dead.get(_key(step.buffer))
                old = out[places[-1]] if places else None
                if (
                    places
                    and isinstance(old, Free)
                    and self._holds(levels, places[-1], len(out), old.name, step.buffer)
                ):
                    out[places.pop()] = None
                    self._pass_on(old.name, step.buffer.name)
                    step = Allocate(step.buffer, old.name)
            out.append(step)
        return tuple(step for step in out if step is not None)

    def _holds(
        self, levels: list[int], first: int, end: int, old: str, buffer: Buffer
    ) -> bool:
        """Return whether dead memory is held from a place to another, and hold it."""
        if not self._may_take(old, buffer.name):
            return False
        if buffer.device == "cpu":
            return True
        size = self._size(old)
        if max(levels[first:end]) + size > self.peak:
            return False
        levels[first:end] = [level + size for level in levels[first:end]]
        return True

    def private(self, outputs: Sequence[str]) -> frozenset[str]:
        """Return the outputs in memory that was made here and that no other has."""
        tops = Counter(map(self._top, outputs))
        own = self._own - self._given
        return frozenset(name for name in outputs if name in own and tops[name] == 1)

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
