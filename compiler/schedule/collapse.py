"""Adjacent loops made one, where every access walks through both in one stride."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.ir.expression import Expression, make, nodes, rewrite
from compiler.ir.index import add, digit, index, mul
from compiler.ir.kernel import Prefix, Stage, Store
from compiler.ir.node import Axis, Buffer

from .nest import Nest, stage_values, with_stage
from .strides import affine

Groups = list[list[int]]
"""Dims of an array in groups that a kernel sees as one dim, outermost dim first."""


def collapsed(
    nest: Nest, buffers: Mapping[str, Buffer]
) -> tuple[Nest, dict[str, Buffer]]:
    """Return the nest with loops merged, and its arrays as it then sees them.

    Law: each access touches the same memory at the same point.
    """
    names = _touched(nest)
    seen = {name: buffers[name] for name in names}
    places = _places(nest)
    others = _other_roots(nest)
    dims = {name: [[d] for d in range(len(b.shape))] for name, b in seen.items()}
    scan = any(isinstance(stage, Prefix) for stage in nest.stages)
    outer, dims = _runs(nest.outer, places, others, dims, seen)
    inner, dims = (
        ([[axis] for axis in nest.inner], dims)
        if scan
        else _runs(nest.inner, places, others, dims, seen)
    )
    return _rewritten(nest, outer, inner, dims, seen)


def _touched(nest: Nest) -> list[str]:
    values = [value for stage in nest.stages for value in stage_values(stage)]
    found = [str(node.data) for node in nodes(*values) if node.op == "load"]
    found += [s.buffer for s in nest.stages if isinstance(s, Store)]
    return list(dict.fromkeys(found))


def _places(nest: Nest) -> list[tuple[str, tuple[Expression, ...]]]:
    values = [value for stage in nest.stages for value in stage_values(stage)]
    found = {
        (str(node.data), node.args): None
        for node in nodes(*values)
        if node.op == "load"
    }
    for stage in nest.stages:
        if isinstance(stage, Store):
            found[stage.buffer, stage.target] = None
    return list(found)


def _other_roots(nest: Nest) -> list[Expression]:
    """Return the indices that are used as values."""
    values = [value for stage in nest.stages for value in stage_values(stage)]
    return [
        arg
        for node in nodes(*values)
        if node.op in ("from_index", "checked_index", "random_bits")
        for arg in node.args
        if arg.dtype == "index"
    ]


def _runs(
    axes: Sequence[Axis],
    places: list[tuple[str, tuple[Expression, ...]]],
    others: list[Expression],
    dims: dict[str, Groups],
    seen: Mapping[str, Buffer],
) -> tuple[list[list[Axis]], dict[str, Groups]]:
    """Return the axes in runs that become one loop each, and the dims merged for it."""
    runs: list[list[Axis]] = []
    for axis in axes:
        if runs:
            tried = _joined(runs[-1][-1], axis, places, others, dims, seen)
            if tried is not None:
                runs[-1].append(axis)
                dims = tried
                continue
        runs.append([axis])
    return runs, dims


def _joined(
    high: Axis,
    low: Axis,
    places: list[tuple[str, tuple[Expression, ...]]],
    others: list[Expression],
    dims: dict[str, Groups],
    seen: Mapping[str, Buffer],
) -> dict[str, Groups] | None:
    """Return the dims to merge so that two loops are one; None: they can't be."""
    if not all(_in_ratio(root, high, low) for root in others):
        return None
    out = dict(dims)
    for name, args in places:
        groups = out[name]
        tops = [n for n, g in enumerate(groups) if _uses(args, g, high.digit)]
        bottoms = [n for n, g in enumerate(groups) if _uses(args, g, low.digit)]
        if not tops and not bottoms:
            continue
        if len(tops) != 1 or len(bottoms) != 1:
            return None
        if tops != bottoms:
            joined = _merged_dims(seen[name], groups, tops[0], bottoms[0])
            if joined is None:
                return None
            out[name] = joined
    for name, args in places:
        for group in out[name]:
            if not _in_ratio(merged_index(seen[name], group, args), high, low):
                return None
    return out


def _uses(args: tuple[Expression, ...], group: list[int], leaf: Expression) -> bool:
    for dim in group:
        found, hidden = affine(args[dim])
        if leaf in found or leaf in hidden:
            return True
    return False


def _in_ratio(root: Expression, high: Axis, low: Axis) -> bool:
    found, hidden = affine(root)
    if high.digit in hidden or low.digit in hidden:
        return False
    zero = index(0)
    step = found.get(low.digit, zero)
    return found.get(high.digit, zero) is mul(step, low.extent)


def _merged_dims(
    buffer: Buffer, groups: Groups, top: int, bottom: int
) -> Groups | None:
    """Return the groups with two of them, adjacent in memory, as one."""
    assert buffer.strides is not None
    outermost, innermost = groups[bottom][0], groups[top][-1]
    above = index(buffer.strides[innermost])
    below = mul(buffer.strides[outermost], buffer.shape[outermost])
    if above is not below:
        return None
    joined = [*groups[top], *groups[bottom]]
    out = [g for n, g in enumerate(groups) if n not in (top, bottom)]
    out.insert(min(top, bottom), joined)
    return out


def merged_index(
    buffer: Buffer, group: Sequence[int], args: Sequence[Expression]
) -> Expression:
    """Return the index along dims that are seen as one."""
    total: Expression = index(0)
    for dim in group:
        total = add(mul(total, buffer.shape[dim]), args[dim])
    return total


def _rewritten(
    nest: Nest,
    outer: list[list[Axis]],
    inner: list[list[Axis]],
    dims: dict[str, Groups],
    seen: dict[str, Buffer],
) -> tuple[Nest, dict[str, Buffer]]:
    moved: dict[Expression, Expression] = {}

    def loops(runs: list[list[Axis]], letter: str) -> tuple[Axis, ...]:
        out = []
        for number, run in enumerate(runs):
            name = digit(f"{letter}{number}")
            # the last digit of a run has the run's smallest stride: it takes the
            # place of all, and the others, whose strides are multiples, are 0
            moved.update({axis.digit: index(0) for axis in run})
            moved[run[-1].digit] = name
            out.append(Axis(name, mul(1, *(axis.extent for axis in run))))
        return tuple(out)

    axes, reduced = loops(outer, "x"), loops(inner, "r")
    views = {name: _view(buffer, dims[name]) for name, buffer in seen.items()}
    # all renamed at once: x0 may be an old name; leaves are visited once each
    done: dict[int, Expression] = {}

    def change(node: Expression) -> Expression:
        if node.op == "digit":
            return moved.get(node, node)
        if node.op == "load":
            name = str(node.data)
            groups = dims[name]
            if len(groups) != len(node.args):
                args = tuple(merged_index(seen[name], g, node.args) for g in groups)
                return make("load", args, node.dtype, node.data)
        return node

    stages: list[Stage] = []
    for stage in nest.stages:
        fresh = with_stage(stage, lambda value: rewrite(value, change, done))
        if isinstance(fresh, Store):
            groups = dims[fresh.buffer]
            target = tuple(
                merged_index(seen[fresh.buffer], g, fresh.target) for g in groups
            )
            fresh = replace(fresh, target=target)
        stages.append(fresh)
    return (
        Nest(axes, reduced, tuple(stages), nest.members, nest.origins),
        views,
    )


def _view(buffer: Buffer, groups: Groups) -> Buffer:
    assert buffer.strides is not None
    if all(len(group) == 1 for group in groups):
        return buffer
    return replace(
        buffer,
        shape=tuple(mul(1, *(buffer.shape[d] for d in group)) for group in groups),
        strides=tuple(buffer.strides[group[-1]] for group in groups),
    )
