"""Kernels in the form that is printed: flat offsets, merged axes, plain stages.

A load has one index, the offset [elements] from the address that the caller gives. Two
adjacent axes become one where every offset steps over them as over one axis, so a
contiguous array of any rank is one loop.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from compiler.errors import BuildError
from compiler.ir.expression import Expression, leaves, make, nodes, rewrite
from compiler.ir.index import (
    add,
    constant_value,
    contiguous_strides,
    digit,
    index,
    mul,
    terms,
)
from compiler.ir.kernel import Kernel, Prefix, Reduction, Store, folded_axes
from compiler.ir.node import Axis, Buffer
from compiler.ir.ranges import Ranges


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """``name = value``: a local made of other locals, once an outer point."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class FlatStore:
    """A store whose target is one offset [elements]."""

    buffer: str
    offset: Expression
    value: Expression
    inner: bool
    mode: str = "set"
    condition: Expression | None = None
    injective: bool = True
    target: tuple[Expression, ...] = ()


PlainStage: TypeAlias = Reduction | Prefix | FlatStore | Let


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """A kernel ready to print.

    Attributes:
        name: The kernel's.
        outer: Independent axes.
        inner: Axes of the reduction or scan.
        stages: In order, with flat offsets.
        buffers: By name, in the order of the parameters.
        symbols: Sizes, in the order of the parameters.
        ranges: Extents of all digits.
    """

    name: str
    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    stages: tuple[PlainStage, ...]
    buffers: dict[str, Buffer]
    symbols: tuple[Expression, ...]
    ranges: Ranges

    def used(self) -> set[str]:
        """Return the names of the buffers that a stage reads or writes."""
        found = {str(s.buffer) for s in self.stages if isinstance(s, FlatStore)}
        for node in nodes(*roots(self.stages)):
            if node.op == "load":
                found.add(str(node.data))
        return found


def stage_roots(stage: PlainStage) -> list[Expression]:
    """Return the expressions of a stage."""
    if isinstance(stage, Reduction):
        return list(stage.values)
    if isinstance(stage, (Prefix, Let)):
        return [stage.value]
    found = [stage.offset, stage.value]
    return found if stage.condition is None else [*found, stage.condition]


def roots(stages: Iterable[PlainStage]) -> list[Expression]:
    """Return the expressions of all stages."""
    return [root for stage in stages for root in stage_roots(stage)]


def mapped(stage: PlainStage, change: Callable[[Expression], Expression]) -> PlainStage:
    """Return a stage with each of its expressions changed."""
    if isinstance(stage, Reduction):
        return replace(stage, values=tuple(map(change, stage.values)))
    if isinstance(stage, (Prefix, Let)):
        return replace(stage, value=change(stage.value))
    condition = None if stage.condition is None else change(stage.condition)
    return replace(
        stage,
        offset=change(stage.offset),
        value=change(stage.value),
        condition=condition,
    )


def flatten(kernel: Kernel, least: dict[Expression, int] | None = None) -> Nest:
    """Return a kernel with flat offsets and merged axes.

    Args:
        kernel: As the scheduler made it.
        least: Symbol -> the least that it can be.

    Raises:
        BuildError: it sums columns over rows, which only a GPU's kernels do.
    """
    if folded_axes(kernel.outer, kernel.stages):
        raise BuildError(
            f"{kernel.name} sums columns in its loop over rows; schedule it for a CPU",
            command="C++",
            output="refused",
        )
    axes = (*kernel.outer, *kernel.inner)
    ranges = Ranges({axis.digit: axis.extent for axis in axes}, least or {})
    strides = {
        name: buffer.strides
        if buffer.strides is not None
        else contiguous_strides(buffer.shape)
        for name, buffer in kernel.buffers.items()
    }

    def flat(name: str, indices: tuple[Expression, ...]) -> Expression:
        steps = zip(indices, strides[name], strict=True)
        return ranges.simplify(add(*(mul(i, stride) for i, stride in steps)))

    done: dict[int, Expression] = {}

    def change(node: Expression) -> Expression:
        if node.op == "load":
            name = str(node.data)
            return make("load", (flat(name, node.args),), node.dtype, name)
        return node

    def convert(root: Expression) -> Expression:
        return rewrite(root, change, done)

    stages: list[PlainStage] = []
    for stage in kernel.stages:
        if isinstance(stage, Store):
            target = tuple(map(convert, stage.target))
            condition = None if stage.condition is None else convert(stage.condition)
            stages.append(
                FlatStore(
                    stage.buffer,
                    flat(stage.buffer, target),
                    convert(stage.value),
                    stage.inner,
                    stage.mode,
                    condition,
                    stage.injective,
                    target,
                )
            )
        else:
            stages.append(mapped(stage, convert))
    used = [*roots(stages), *(axis.extent for axis in axes)]
    symbols = tuple(sorted(leaves("symbol", *used), key=lambda s: str(s.data)))
    nest = Nest(
        kernel.name,
        kernel.outer,
        kernel.inner,
        tuple(stages),
        dict(kernel.buffers),
        symbols,
        ranges,
    )
    return _without_ones(_merged(_without_ones(nest)))


def _substituted(nest: Nest, replacements: dict[Expression, Expression]) -> Nest:
    done: dict[int, Expression] = {}

    def change(root: Expression) -> Expression:
        return rewrite(root, lambda node: replacements.get(node, node), done)

    return replace(nest, stages=tuple(mapped(s, change) for s in nest.stages))


def _without_ones(nest: Nest) -> Nest:
    """Drop axes of one element."""
    single = {
        axis.digit: index(0)
        for axis in (*nest.outer, *nest.inner)
        if constant_value(axis.extent) == 1
    }
    if not single:
        return nest
    outer = tuple(axis for axis in nest.outer if axis.digit not in single)
    inner = tuple(axis for axis in nest.inner if axis.digit not in single)
    if nest.inner and not inner:
        inner = nest.inner[-1:]
        single.pop(inner[0].digit)
    return replace(_substituted(nest, single), outer=outer, inner=inner)


def _merged(nest: Nest) -> Nest:
    for group in ("outer", "inner"):
        axes: tuple[Axis, ...] = getattr(nest, group)
        number = len(axes) - 1
        while number > 0:
            first, second = axes[number - 1], axes[number]
            if _steps_as_one(nest, first, second):
                both = digit(f"{first.digit.data}_{second.digit.data}")
                axis = Axis(both, mul(first.extent, second.extent))
                axes = (*axes[: number - 1], axis, *axes[number + 1 :])
                extents = {**nest.ranges.extents, both: axis.extent}
                swap = {first.digit: index(0), second.digit: both}
                nest = _substituted(
                    replace(nest, ranges=replace(nest.ranges, extents=extents)), swap
                )
                nest = (
                    replace(nest, outer=axes)
                    if group == "outer"
                    else replace(nest, inner=axes)
                )
            number -= 1
    return nest


def _steps_as_one(nest: Nest, first: Axis, second: Axis) -> bool:
    """Return whether every offset is that of one axis of both extents."""
    for node in nodes(*roots(nest.stages)):
        if node.op == "load":
            offset = node.args[0]
        elif node.dtype != "index" and any(a.dtype == "index" for a in node.args):
            if _mentions(node, first.digit) or _mentions(node, second.digit):
                return False
            continue
        elif node.op == "checked_index" and (
            _mentions(node.args[1], first.digit)
            or _mentions(node.args[1], second.digit)
        ):
            return False
        else:
            continue
        if not _one_step(offset, first, second):
            return False
    for stage in nest.stages:
        moves = isinstance(stage, FlatStore) and (
            stage.inner or first not in nest.inner
        )
        if moves and not _one_step(stage_roots(stage)[0], first, second):
            return False
    return True


def _one_step(offset: Expression, first: Axis, second: Axis) -> bool:
    step_first: Expression = index(0)
    step_second: Expression = index(0)
    for factor, count in terms(offset).items():
        if factor is None:
            continue
        parts = factor.args if factor.op == "mul" else (factor,)
        rest = [p for p in parts if p is not first.digit and p is not second.digit]
        if any(
            _inside_index(p, first.digit) or _inside_index(p, second.digit)
            for p in rest
        ):
            return False
        if len(rest) == len(parts):
            continue
        if len(parts) - len(rest) > 1:
            return False
        if first.digit in parts:
            step_first = add(step_first, mul(count, *rest))
        else:
            step_second = add(step_second, mul(count, *rest))
    return step_first is mul(step_second, second.extent)


def _inside_index(value: Expression, what: Expression) -> bool:
    """Return whether an index mentions a digit outside the loads below it."""
    stack = [value]
    while stack:
        node = stack.pop()
        if node is what:
            return True
        if node.op != "load":
            stack.extend(node.args)
    return False


def _mentions(value: Expression, what: Expression) -> bool:
    return any(_inside_index(arg, what) for arg in (value, *value.args))


def coefficient(offset: Expression, what: Expression) -> int | None:
    """Return how far an offset steps with a digit [elements].

    0 where it does not depend on it, None where the step is no constant.
    """
    step = 0
    for factor, count in terms(offset).items():
        if factor is what:
            step += count
        elif factor is not None and depends(factor, what):
            return None
    return step


def depends(value: Expression, what: Expression) -> bool:
    """Return whether an expression mentions a leaf, inside loads too."""
    return any(node is what for node in nodes(value))
