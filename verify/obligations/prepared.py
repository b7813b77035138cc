"""Kernels with each access in its array's own coordinates, and contents told apart."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from compiler.ir.expression import Expression, make, rewrite
from compiler.ir.kernel import Kernel, Prefix, Reduction, Schedule, Stage
from compiler.ir.node import Buffer, Extern
from compiler.ir.ranges import Ranges

from .definitions import Storage, shared, versioned
from .places import UnplacedError, own_place


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel with each access in its array's own coordinates.

    Attributes:
        kernel: As it was.
        stages: Over the same digits.
        written: Stage -> name of the array with its number of changes before.
    """

    kernel: Kernel
    stages: tuple[Stage, ...]
    written: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Fold:
    """A result of a reduction or a scan of some kernel at some point."""

    prepared: Prepared
    stage: Reduction | Prefix
    result: int
    at: Mapping[Expression, Expression]


def prepared(
    schedule: Schedule,
    arrays: Mapping[str, Buffer],
    inputs: Collection[str],
    known_as: Mapping[str, str] | None = None,
) -> dict[str, "Prepared | str"]:
    """Return kernel -> what it does in the arrays' own coordinates, or why not.

    Args:
        schedule: The kernels and calls, in order: they change arrays in place.
        arrays: All arrays, with strides.
        inputs: Names of the arrays that the caller owns.
        known_as: The program's names of what scheduling has renamed; loads get them.
    """
    found: dict[str, Prepared | str] = {}
    storage = Storage()
    for step in schedule.steps:
        for name, base in shared(step):
            storage.join(name, base)
    for step in schedule.steps:
        if isinstance(step, Kernel):
            try:
                found[step.name] = _kernel(
                    step, storage, schedule, arrays, inputs, known_as or {}
                )
            except UnplacedError as error:
                found[step.name] = str(error)
        elif isinstance(step, Extern):
            for name in step.mutates:
                storage.changed(name)
    return found


def _kernel(
    kernel: Kernel,
    storage: Storage,
    schedule: Schedule,
    arrays: Mapping[str, Buffer],
    inputs: Collection[str],
    known_as: Mapping[str, str],
) -> Prepared:
    axes = (*kernel.outer, *kernel.inner)
    ranges = Ranges({a.digit: a.extent for a in axes}, schedule.least)
    done: dict[int, Expression] = {}

    def own(node: Expression) -> Expression:
        if node.op != "load":
            return node
        name = str(node.data)
        full = arrays.get(name)
        if full is None:
            raise UnplacedError(f"{name} is no array of the schedule")
        place = own_place(kernel.buffers[name], full, node.args, ranges)
        return make("load", place, node.dtype, known_as.get(name, name))

    def changed(value: Expression) -> Expression:
        return versioned(rewrite(value, own, done), storage, {})

    stages: list[Stage] = []
    written: dict[int, str] = {}
    for number, stage in enumerate(kernel.stages):
        if isinstance(stage, Reduction):
            stages.append(replace(stage, values=tuple(map(changed, stage.values))))
        elif isinstance(stage, Prefix):
            stages.append(replace(stage, value=changed(stage.value)))
        else:
            full = arrays[stage.buffer]
            place = tuple(map(changed, stage.target))
            place = own_place(kernel.buffers[stage.buffer], full, place, ranges)
            condition = stage.condition
            stages.append(
                replace(
                    stage,
                    target=place,
                    value=changed(stage.value),
                    condition=None if condition is None else changed(condition),
                )
            )
            written[number] = stage.buffer
            if stage.buffer in inputs:
                before = storage.changed(stage.buffer)
                written[number] = f"{stage.buffer}@{before}"
    return Prepared(kernel, tuple(stages), written)
