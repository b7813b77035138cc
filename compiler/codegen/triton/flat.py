"""Kernels with flat addresses, and axes merged where memory does not tell them apart.

A load or a store addresses its buffer by one index: elements from the first one. Two
neighbouring axes become one where every index of the kernel depends on them only
through their row-major position, which is tested by substitution, so the merged kernel
equals the given one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.ir.expression import Expression, make, nodes, rewrite
from compiler.ir.index import (
    add,
    constant_value,
    contiguous_strides,
    digit,
    floordiv,
    index,
    mul,
    sub,
    terms,
)
from compiler.ir.kernel import Kernel, Prefix, Reduction, Stage, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.ranges import Ranges
from compiler.ir.scalar import constant


def expressions(stage: Stage) -> tuple[Expression, ...]:
    """Return the expressions of a stage, in a fixed order."""
    if isinstance(stage, Reduction):
        return stage.values
    if isinstance(stage, Prefix):
        return (stage.value,)
    condition = () if stage.condition is None else (stage.condition,)
    return (*stage.target, stage.value, *condition)


def with_expressions(stage: Stage, parts: Sequence[Expression]) -> Stage:
    """Return the stage with other expressions; inverse of :func:`expressions`."""
    if isinstance(stage, Reduction):
        return replace(stage, values=tuple(parts))
    if isinstance(stage, Prefix):
        return replace(stage, value=parts[0])
    count = len(stage.target)
    condition = None if stage.condition is None else parts[count + 1]
    return replace(
        stage,
        target=tuple(parts[:count]),
        value=parts[count],
        condition=condition,
    )


def flattened(kernel: Kernel) -> Kernel:
    """Return an equal kernel: each load and target has one index, axes are merged.

    Example:
        >>> from compiler.ir.node import Buffer
        >>> i, j, n = digit("i"), digit("j"), index(8)
        >>> shape = (n, n)
        >>> buffers = {x: Buffer(x, "float32", shape, "cpu") for x in "ab"}
        >>> store = Store("b", (i, j), make("load", (i, j), "float32", "a"), False)
        >>> axes = Axis(i, n), Axis(j, n)
        >>> flat = flattened(Kernel("copy", axes, (), (store,), buffers))
        >>> flat.outer[0].extent, flat.stages[0].value
        (64, a[i_j])
    """
    ranges = Ranges({axis.digit: axis.extent for axis in _axes(kernel)})
    done: dict[int, Expression] = {}

    def change(node: Expression) -> Expression:
        if node.op != "load":
            return node
        address = _address(kernel.buffers[str(node.data)], node.args)
        return make(
            "load", (recombined(ranges.simplify(address)),), node.dtype, node.data
        )

    stages: list[Stage] = []
    for stage in kernel.stages:
        parts = [rewrite(part, change, done) for part in expressions(stage)]
        stage = with_expressions(stage, parts)
        if isinstance(stage, Store):
            place = _address(kernel.buffers[stage.buffer], stage.target)
            stage = replace(stage, target=(recombined(ranges.simplify(place)),))
        stages.append(stage)
    return _merged(_without_units(replace(kernel, stages=tuple(stages))))


def without_points(kernel: Kernel) -> Kernel:
    """Return an equal kernel, for one whose inner axes have no point.

    What runs over them reads nothing: its indices count as 0, whatever they were, and
    a load at 0 would be out of an array without elements. One axis stays, as a place in
    all of them has no coordinates. A kernel that does nothing else has no program.

    Args:
        kernel: One of whose inner axes has extent 0.
    """
    stages: list[Stage] = []
    for stage in kernel.stages:
        if isinstance(stage, Reduction):
            values = tuple(constant(0, value.dtype) for value in stage.values)
            stages.append(replace(stage, values=values))
        elif isinstance(stage, Prefix):
            stages.append(replace(stage, value=constant(0, stage.value.dtype)))
        elif stage.inner:
            value = constant(0, stage.value.dtype)
            places = tuple(index(0) for _ in stage.target)
            stages.append(replace(stage, target=places, value=value, condition=None))
        else:
            stages.append(stage)
    outer = kernel.outer
    if all(not isinstance(stage, Store) or stage.inner for stage in stages):
        outer = (*outer, Axis(digit("none"), index(0)))
    inner = next(axis for axis in kernel.inner if constant_value(axis.extent) == 0)
    return replace(kernel, outer=outer, inner=(inner,), stages=tuple(stages))


def _axes(kernel: Kernel) -> tuple[Axis, ...]:
    return (*kernel.outer, *kernel.inner)


def _address(buffer: Buffer, place: tuple[Expression, ...]) -> Expression:
    strides = buffer.strides
    if strides is None:
        strides = contiguous_strides(buffer.shape)
    return add(*(mul(i, s) for i, s in zip(place, strides, strict=True)))


def replaced(kernel: Kernel, digits: dict[Expression, Expression]) -> Kernel:
    """Return the kernel with digits replaced in all expressions, divisions gone."""
    ranges = Ranges({axis.digit: axis.extent for axis in _axes(kernel)})
    return simplified(kernel, ranges, digits)


def simplified(
    kernel: Kernel, ranges: Ranges, digits: dict[Expression, Expression]
) -> Kernel:
    """Return the kernel with digits replaced and indices simplified in the ranges."""
    changed = _rewritten(kernel, lambda node: digits.get(node, node))
    return with_indices(changed, lambda place: recombined(ranges.simplify(place)))


def with_indices(kernel: Kernel, change: Callable[[Expression], Expression]) -> Kernel:
    """Return the kernel with its addresses, and indices as values, changed."""

    def changed(node: Expression) -> Expression:
        if node.op in ("load", "from_index"):
            return make(node.op, (change(node.args[0]),), node.dtype, node.data)
        return node

    kernel = _rewritten(kernel, changed)
    stages = tuple(
        replace(stage, target=(change(stage.target[0]),))
        if isinstance(stage, Store)
        else stage
        for stage in kernel.stages
    )
    return replace(kernel, stages=stages)


def _rewritten(kernel: Kernel, change: Callable[[Expression], Expression]) -> Kernel:
    done: dict[int, Expression] = {}
    return replace(
        kernel,
        stages=tuple(
            with_expressions(
                stage, [rewrite(part, change, done) for part in expressions(stage)]
            )
            for stage in kernel.stages
        ),
    )


def _without_units(kernel: Kernel) -> Kernel:
    one = index(1)
    units = {axis.digit: index(0) for axis in _axes(kernel) if axis.extent is one}
    if units:
        kernel = replaced(kernel, dict(units))
    outer = tuple(axis for axis in kernel.outer if axis.digit not in units)
    inner = tuple(axis for axis in kernel.inner if axis.digit not in units)
    if not inner and any(not isinstance(stage, Store) for stage in kernel.stages):
        inner = kernel.inner[:1] or (Axis(digit("only"), one),)
    return replace(kernel, outer=outer, inner=inner)


def recombined(address: Expression) -> Expression:
    """Return an equal index in which quotients and remainders meet again.

    Law: ``c * d * (e // d) + c * (e % d) == c * e``.

    Example:
        >>> from compiler.ir.index import floordiv, mod
        >>> i = digit("i")
        >>> recombined(add(mul(floordiv(i, 10), 10), mod(i, 10)))
        i
    """
    parts = terms(address)
    for rest, count in list(parts.items()):
        if rest is None or rest.op != "mod":
            continue
        whole, divisor = rest.args
        size = constant_value(divisor)
        if size is None:
            continue
        quotient = floordiv(whole, size)
        if parts.get(quotient) == size * count:
            pieces = add(mul(quotient, size * count), mul(rest, count))
            return recombined(add(sub(address, pieces), mul(whole, count)))
    return address


def indices(kernel: Kernel) -> list[Expression]:
    """Return the roots of all index arithmetic: addresses, and indices as values."""
    found: dict[Expression, None] = {}
    for stage in kernel.stages:
        for node in nodes(*expressions(stage)):
            if node.op in ("load", "from_index"):
                found[node.args[0]] = None
            elif node.op == "checked_index":
                found[node.args[1]] = None
        if isinstance(stage, Store):
            found[stage.target[0]] = None
    return list(found)


def _merged(kernel: Kernel) -> Kernel:
    for group in ("outer", "inner"):
        number = 0
        while number + 1 < len(getattr(kernel, group)):
            axes = getattr(kernel, group)
            joined = _joined(kernel, axes[number], axes[number + 1])
            if joined is None:
                number += 1
                continue
            axis, digits = joined
            rest = (*axes[:number], axis, *axes[number + 2 :])
            ranges = Ranges({a.digit: a.extent for a in (*_axes(kernel), axis)})
            gone = axes[number].digit, axes[number + 1].digit
            tile = tuple(axis.digit if d in gone else d for d in kernel.tile)
            kernel = simplified(kernel, ranges, digits)
            kernel = replace(kernel, tile=tile)
            if group == "outer":
                kernel = replace(kernel, outer=rest)
            else:
                kernel = replace(kernel, inner=rest)
            number = max(number - 1, 0)
    return kernel


def _joined(
    kernel: Kernel, slow: Axis, fast: Axis
) -> tuple[Axis, dict[Expression, Expression]] | None:
    """Return the merged axis and what becomes of the two digits, None if they differ.

    Every index ``f(slow, fast)`` must equal ``f(0, slow * extent + fast)``.
    """
    # two tiled axes stay apart
    if slow.digit in kernel.tile and fast.digit in kernel.tile:
        return None
    position = add(mul(slow.digit, fast.extent), fast.digit)
    both = {slow.digit: index(0), fast.digit: position}
    done: dict[int, Expression] = {}
    for root in indices(kernel):
        if rewrite(root, lambda node: both.get(node, node), done) is not root:
            return None
    name = digit(f"{slow.digit.data}_{fast.digit.data}")
    digits = {slow.digit: index(0), fast.digit: name}
    return Axis(name, mul(slow.extent, fast.extent)), digits
