"""Loop nests while they are being fused: a kernel's axes and stages, nothing more."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from compiler.ir.expression import Expression, loads, make
from compiler.ir.index import constant_value, index
from compiler.ir.kernel import Prefix, Reduction, Stage, Store
from compiler.ir.node import Assign, Axis, Buffer, Map, Product, Reduce, Scan, Scatter
from compiler.ir.product import stages_of
from compiler.ir.ranges import Ranges


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Loops and what they do.

    Attributes:
        outer: Independent axes, none of extent 1.
        inner: Axes that a stage reduces or scans over.
        stages: In order.
        members: How many nodes of the program it does.
        origins: The user's lines.
    """

    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    stages: tuple[Stage, ...]
    members: int = 1
    origins: tuple[str, ...] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Return all axes, outer first."""
        return (*self.outer, *self.inner)

    def ranges(self, least: Mapping[Expression, int]) -> Ranges:
        """Return what is known of the digits."""
        return Ranges({axis.digit: axis.extent for axis in self.axes}, least)

    def stores(self) -> dict[str, Store]:
        """Return the stores by array."""
        return {s.buffer: s for s in self.stages if isinstance(s, Store)}


def stage_values(stage: Stage) -> tuple[Expression, ...]:
    """Return the expressions of a stage."""
    if isinstance(stage, Reduction):
        return stage.values
    if isinstance(stage, Prefix):
        return (stage.value,)
    last = () if stage.condition is None else (stage.condition,)
    return (*stage.target, stage.value, *last)


def is_inner(stage: Stage) -> bool:
    """Return whether a stage runs at each inner point."""
    return stage.inner if isinstance(stage, Store) else True


def with_stage(stage: Stage, change: Callable[[Expression], Expression]) -> Stage:
    """Return the stage with each of its expressions changed."""
    if isinstance(stage, Reduction):
        return replace(stage, values=tuple(map(change, stage.values)))
    if isinstance(stage, Prefix):
        return replace(stage, value=change(stage.value))
    return replace(
        stage,
        target=tuple(map(change, stage.target)),
        value=change(stage.value),
        condition=None if stage.condition is None else change(stage.condition),
    )


def stage_loads(stages: Iterable[Stage]) -> Iterator[tuple[Stage, Expression]]:
    """Yield each load with the stage that it stands in."""
    for stage in stages:
        for load in loads_of(stage):
            yield stage, load


_LOADS: "WeakKeyDictionary[Expression, tuple[Expression, ...]]" = WeakKeyDictionary()


def value_loads(value: Expression) -> tuple[Expression, ...]:
    """Return the distinct loads below a value, from memory the second time."""
    found = _LOADS.get(value)
    if found is None:
        found = _LOADS[value] = tuple(loads(value))
    return found


def loads_of(stage: Stage) -> list[Expression]:
    """Return the distinct loads of a stage."""
    found: dict[Expression, None] = {}
    for value in stage_values(stage):
        if value.args:
            found.update(dict.fromkeys(value_loads(value)))
        elif value.op == "load":
            found[value] = None
    return list(found)


def nest_of(node: Map | Reduce | Product | Scan | Assign) -> Nest:
    """Return the loop nest of a node with canonical digits."""
    origins = _origins(node)
    if isinstance(node, Reduce):
        target = _places(node.axes)
        names = tuple(buffer.name for buffer in node.buffers)
        dtypes = tuple(buffer.dtype for buffer in node.buffers)
        stages: list[Stage] = [Reduction(names, node.reducer, node.values, dtypes)]
        for buffer in node.buffers:
            stages.append(Store(buffer.name, target, _local(buffer), False))
        return Nest(_real(node.axes), _real(node.reduced), tuple(stages), 1, origins)
    if isinstance(node, Product):
        return Nest(_real(node.axes), (node.term,), stages_of(node), 1, origins)
    if isinstance(node, Scan):
        along = node.axes[node.along]
        others = [axis for axis in node.axes if axis is not along]
        target = _places(node.axes, along)
        names = tuple(buffer.name for buffer in node.buffers)
        dtypes = tuple(buffer.dtype for buffer in node.buffers)
        stages = [Prefix(names, node.kind, node.value, dtypes)]
        for buffer in node.buffers:
            stages.append(Store(buffer.name, target, _local(buffer), True))
        return Nest(_real(others), (along,), tuple(stages), 1, origins)
    name = node.target if isinstance(node, Assign) else node.buffer.name
    store = Store(name, _places(node.axes), node.value, False)
    return Nest(_real(node.axes), (), (store,), 1, origins)


def scatter_nest(node: Scatter) -> Nest:
    """Return the nest that changes elements of a scatter's result in place."""
    store = Store(
        node.buffer.name,
        node.target,
        node.value,
        False,
        node.mode,
        node.condition,
        node.unique,
    )
    return Nest(_real(node.axes), (), (store,), 1, _origins(node))


def _origins(node: Map | Reduce | Product | Scan | Scatter | Assign) -> tuple[str, ...]:
    if isinstance(node, (Reduce, Product, Scan)):
        found = [buffer.origin for buffer in node.buffers]
    else:
        found = [] if isinstance(node, Assign) else [node.buffer.origin]
    return tuple(dict.fromkeys(origin for origin in found if origin))


def _local(buffer: Buffer) -> Expression:
    return make("local", (), buffer.dtype, buffer.name)


def _real(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if constant_value(axis.extent) != 1)


def _places(axes: Iterable[Axis], kept: Axis | None = None) -> tuple[Expression, ...]:
    return tuple(
        index(0)
        if constant_value(axis.extent) == 1 and axis is not kept
        else axis.digit
        for axis in axes
    )
