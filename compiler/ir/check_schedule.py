"""What a schedule must satisfy, checked before kernels are printed.

Types and leaves as in programs; memory taken before it is written, written before it
is read, and not used after it is given back; a kernel that reads what it writes does
so at the same point only; a store that claims distinct targets depends on each loop.
"""

from collections.abc import Iterator, Sequence

from .check import (
    SpecError,
    axes_faults,
    known_symbols,
    reduction_faults,
    references,
    scan_faults,
    store_faults,
)
from .expression import Expression, leaves, loads
from .index import constant_value
from .kernel import (
    Allocate,
    Free,
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Store,
    folded_axes,
)
from .node import Alias, Buffer, Extern
from .product import factors_of
from .wellformed import Scope


def check_schedule(schedule: Schedule) -> None:
    """Check a schedule.

    Raises:
        SpecError: it breaks rules; the message names all of them.
    """
    faults = list(schedule_faults(schedule))
    if faults:
        raise SpecError(faults)


class _Memory:
    """Which arrays are there, and which hold values."""

    def __init__(self, inputs: Sequence[Buffer | Expression]) -> None:
        self.buffers = {b.name: b for b in inputs if isinstance(b, Buffer)}
        self.written = set(self.buffers)
        self.dead: dict[str, str] = {}  # array -> what took its memory, or "freed"
        self.dying: dict[str, str] = {}  # dead after the next kernel

    def take(self, buffer: Buffer, held: bool) -> Iterator[str]:
        if buffer.name in self.buffers:
            yield f"the array {buffer.name} is made twice"
        self.buffers[buffer.name] = buffer
        if held:
            self.written.add(buffer.name)

    def used(self, name: str, reads: bool) -> Iterator[str]:
        if name not in self.buffers:
            yield f"the array {name} is used before it is made"
        elif name in self.dead:
            yield f"the array {name} is used after its memory went ({self.dead[name]})"
        elif reads and name not in self.written:
            yield f"the array {name} is read before it is written"

    def settle(self) -> None:
        self.dead.update(self.dying)
        self.dying.clear()


def schedule_faults(schedule: Schedule) -> Iterator[str]:
    """Yield what is wrong with a schedule, in words."""
    symbols = known_symbols(schedule.inputs)
    memory = _Memory(schedule.inputs)
    names: set[str] = set()
    for step in schedule.steps:
        if isinstance(step, Allocate):
            yield from memory.take(step.buffer, held=False)
            yield from _reused(step, memory)
        elif isinstance(step, Free):
            yield from memory.used(step.name, reads=False)
            memory.dead[step.name] = "freed"
        elif isinstance(step, Alias):
            yield from memory.used(step.base, reads=True)
            yield from memory.take(step.buffer, held=True)
        elif isinstance(step, Extern):
            for name in (*references((step.args, dict(step.kwargs))), *step.mutates):
                yield from memory.used(name, reads=True)
            memory.settle()
            for buffer in step.outputs:
                if buffer is not None:
                    yield from memory.take(buffer, held=True)
        else:
            if step.name in names:
                yield f"two kernels have the name {step.name}"
            names.add(step.name)
            yield from (f"{step.name}: {f}" for f in kernel_faults(step, symbols))
            yield from (f"{step.name}: {f}" for f in _accesses(step, memory))
            memory.settle()
    for output in schedule.outputs:
        if isinstance(output, str):
            yield from (f"as an output, {f}" for f in memory.used(output, reads=True))


def _reused(step: Allocate, memory: _Memory) -> Iterator[str]:
    if step.reuse is None:
        return
    yield from memory.used(step.reuse, reads=True)
    old = memory.buffers.get(step.reuse)
    if old is not None and old.dtype != step.buffer.dtype:
        yield f"{step.buffer.name} of {step.buffer.dtype} reuses {old.dtype}"
    memory.dying[step.reuse] = f"reused by {step.buffer.name}"


def _accesses(kernel: Kernel, memory: _Memory) -> Iterator[str]:
    written: set[str] = set()
    for stage in kernel.stages:
        for name in {str(load.data) for load in loads(*expressions(stage))} - written:
            yield from memory.used(name, reads=True)
        if isinstance(stage, Store):
            yield from memory.used(stage.buffer, reads=stage.mode != "set")
            written.add(stage.buffer)
    memory.written |= written


def expressions(stage: Reduction | Prefix | Store) -> tuple[Expression, ...]:
    """Return the expressions that a stage evaluates."""
    if isinstance(stage, Reduction):
        return stage.values
    if isinstance(stage, Prefix):
        return (stage.value,)
    condition = () if stage.condition is None else (stage.condition,)
    return (*stage.target, stage.value, *condition)


def kernel_faults(kernel: Kernel, symbols: frozenset[Expression]) -> Iterator[str]:
    """Yield what is wrong with a kernel by itself, in words."""
    yield from axes_faults((*kernel.outer, *kernel.inner), symbols)
    for name, buffer in kernel.buffers.items():
        if name != buffer.name:
            yield f"{buffer.name} is listed as {name}"
        if buffer.strides is None or len(buffer.strides) != len(buffer.shape):
            yield f"the strides of {name} are {buffer.strides}"
    per_point: dict[str, str] = {}
    per_row: dict[str, str] = {}
    per_column: dict[str, str] = {}
    folds = folded_axes(kernel.outer, kernel.stages)
    kept = tuple(axis for axis in kernel.outer if axis not in folds)
    for stage in kernel.stages:
        inner = not isinstance(stage, Store) or stage.inner
        axes = (*kernel.outer, *kernel.inner) if inner else kernel.outer
        known = {**per_row, **per_point} if inner else per_row
        if isinstance(stage, Store) and stage.folded:
            axes, known = (*kept, *kernel.inner), per_column
            if not stage.inner:
                yield f"{stage.buffer} is folded, and not stored at inner points"
        scope = Scope(kernel.buffers, axes, symbols, known)
        for value in expressions(stage):
            yield from scope.faults(value)
        if isinstance(stage, Store):
            yield from _stored(stage, kernel, scope)
            continue
        for name in stage.results:
            if name in per_row or name in per_point or name in per_column:
                yield f"two stages give {name}"
        made = dict(zip(stage.results, stage.dtypes, strict=True))
        if isinstance(stage, Reduction):
            yield from reduction_faults(stage.reducer, stage.values, stage.dtypes)
            (per_column if stage.folded else per_row).update(made)
            if stage.folded and not folds:
                yield f"{', '.join(stage.results)}: no axis is folded"
        else:
            yield from scan_faults(stage.kind, stage.value, stage.dtypes)
            if len(kernel.inner) != 1:
                yield f"a scan along {len(kernel.inner)} axes"
            per_point.update(made)
    yield from _same_points(kernel)
    if kernel.product is not None and factors_of(kernel) is None:
        yield "it is said to be a product of matrices, and is none"


def _stored(stage: Store, kernel: Kernel, scope: Scope) -> Iterator[str]:
    buffer = kernel.buffers.get(stage.buffer)
    if buffer is None:
        yield f"a store to {stage.buffer}, which is not listed"
        return
    yield from store_faults(
        buffer, stage.target, stage.value, stage.mode, stage.condition, scope
    )
    if stage.injective and stage.mode == "set" and stage.condition is None:
        used = set(leaves("digit", *stage.target))
        for axis in scope.axes:
            extent = constant_value(axis.extent)
            wide = extent is None or extent > 1
            if wide and axis.digit not in used and not _empty(scope):
                yield (
                    f"each point of {axis.digit} writes the same of {stage.buffer}, "
                    "said to be distinct"
                )


def _empty(scope: Scope) -> bool:
    return any(constant_value(axis.extent) == 0 for axis in scope.axes)


def _same_points(kernel: Kernel) -> Iterator[str]:
    """Yield reads of what the kernel writes, at another point."""
    targets: dict[str, set[tuple[Expression, ...]]] = {}
    for stage in kernel.stages:
        if isinstance(stage, Store):
            targets.setdefault(stage.buffer, set()).add(stage.target)
    for stage in kernel.stages:
        for load in loads(*expressions(stage)):
            places = targets.get(str(load.data))
            if places is not None and load.args not in places:
                yield f"{load} is read, and written at {sorted(map(str, places))}"
