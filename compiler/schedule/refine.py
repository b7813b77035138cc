"""Digits split and put together: nests whose indices have no divisions left.

A reshape leaves ``d // c`` and ``d % c``. Where c divides the extent, the digit is two
digits, and the divisions are gone.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from compiler.ir.expression import Expression, nodes
from compiler.ir.index import Index, add, constant_value, digit, floordiv, index, mul
from compiler.ir.kernel import Prefix
from compiler.ir.node import Axis

from .nest import Nest, stage_values, with_stage
from .simplify import simplified


def split_axis(axis: Axis, cuts: Sequence[Index]) -> tuple[list[Axis], Expression]:
    """Return an axis as several, outermost first, and its digit over theirs.

    Args:
        axis: What is split.
        cuts: Ascending, each divides the next and the last one the extent.

    Example:
        >>> axes, value = split_axis(Axis(digit("i0"), index(24)), [4])
        >>> [(a.digit, a.extent) for a in axes], value
        ([(i0_4, 6), (i0_1, 4)], add(i0_1, mul(i0_4, 4)))
    """
    steps = [index(1), *map(index, cuts), index(axis.extent)]
    out: list[Axis] = []
    total: Expression = index(0)
    for step, following in pairwise(steps):
        name = digit(f"{axis.digit.data}_{_spelt(step)}")
        extent = floordiv(following, step)
        if constant_value(extent) == 1:
            continue
        out.append(Axis(name, extent))
        total = add(total, mul(name, step))
    return out[::-1], total


def _spelt(step: Expression) -> str:
    return "".join(c if c.isalnum() else "_" for c in repr(step))


def refined(nest: Nest, least: Mapping[Expression, int]) -> Nest:
    """Return the nest with digits split where indices divide them."""
    for _ in range(4):
        cuts = _cuts(nest)
        if not cuts:
            return nest
        nest = with_cuts(nest, cuts, least)
    return nest


def with_cuts(
    nest: Nest,
    cuts: Mapping[Expression, Sequence[Index]],
    least: Mapping[Expression, int],
) -> Nest:
    """Return the nest with some digits split."""
    replaced: dict[Expression, Expression] = {}

    def split(axes: Sequence[Axis]) -> tuple[Axis, ...]:
        out: list[Axis] = []
        for axis in axes:
            if axis.digit in cuts:
                parts, replaced[axis.digit] = split_axis(axis, cuts[axis.digit])
                out.extend(parts)
            else:
                out.append(axis)
        return tuple(out)

    outer, inner = split(nest.outer), split(nest.inner)
    changed = Nest(outer, inner, nest.stages, nest.members, nest.origins)
    ranges = changed.ranges(least)
    done: dict[int, Expression] = {}
    stages = tuple(
        with_stage(stage, lambda value: simplified(value, ranges, replaced, done))
        for stage in nest.stages
    )
    return Nest(outer, inner, stages, nest.members, nest.origins)


def _cuts(nest: Nest) -> dict[Expression, list[Index]]:
    """Return digit -> where it is cut, for divisions of a digit alone."""
    extents = {axis.digit: axis.extent for axis in nest.axes}
    if any(isinstance(stage, Prefix) for stage in nest.stages):
        for axis in nest.inner:
            del extents[axis.digit]
    wanted: dict[Expression, list[Expression]] = {}
    values = [value for stage in nest.stages for value in stage_values(stage)]
    for node in nodes(*values):
        if node.op not in ("floordiv", "mod") or node.dtype != "index":
            continue
        value, by = node.args
        if value.op == "floordiv" and value.args[0] in extents:
            value, by = value.args[0], mul(value.args[1], by)
        if value in extents and _divides(by, extents[value]):
            wanted.setdefault(value, []).append(by)
    out: dict[Expression, list[Index]] = {}
    for leaf, found in wanted.items():
        chain: list[Index] = []
        for by in sorted(set(found), key=lambda e: (constant_value(e) or 0, repr(e))):
            if (not chain or _divides(chain[-1], by)) and by is not extents[leaf]:
                chain.append(by)
        if chain:
            out[leaf] = chain
    return out


def _divides(by: Index, value: Index) -> bool:
    """Return whether a divisor is known to divide."""
    return mul(floordiv(value, by), by) is index(value)
