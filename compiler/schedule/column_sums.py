"""Sums of columns on the way over rows: one kernel reads what two would.

The nest of a column sum over the rows of chunks becomes part of a nest that runs along
the same rows: its reduction runs over some of the outer axes, which are folded. Each
program keeps its chunk's sums; which program adds what is fixed, so results do not
depend on the order in which programs run.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from compiler.ir.expression import Expression, leaves
from compiler.ir.index import constant_value
from compiler.ir.kernel import Prefix, Reduction, Stage, Store, folded_axes
from compiler.ir.node import Buffer
from compiler.options import Options

from .groups import Graph, Group
from .loops import accesses
from .merge import Refusal, Sizes, merged
from .nest import Nest, stage_loads, stage_values
from .row_chunks import LEAST_PROGRAMS, WIDEST
from .siblings import are_strangers
from .work import points


def with_column_sums(
    graph: Graph, buffers: Mapping[str, Buffer], options: Options
) -> None:
    """Let groups over rows make the column sums of what they read or make.

    Args:
        graph: The groups; those of column sums disappear in others.
        buffers: All arrays.
        options: A deterministic compilation keeps sums apart: how they are cut may
            not depend on the number of rows.
    """
    if options.deterministic:
        return
    for number in sorted(graph.groups):
        group = graph.groups.get(number)
        if group is None or group.nest is None or not _sums_columns(group):
            continue
        for other in _over_rows(group, graph):
            make = partial(
                folded,
                columns=group.nest,
                buffers=buffers,
                least=graph.program.least,
            )
            if graph.join_as(other, group, make):
                break
    for group in list(graph.groups.values()):
        _join_last_sums(group, graph)


def _join_last_sums(group: Group, graph: Graph) -> None:
    """Let one kernel add up all that a group leaves of its chunks."""
    if group.nest is None:
        return
    left = {s.buffer for s in group.nest.stages if isinstance(s, Store) and s.folded}
    if not left:
        return
    kept: Group | None = None
    for number in sorted(graph.groups):
        other = graph.groups[number]
        if other.nest is None or other.alone or not left & other.reads:
            continue
        if kept is None or not are_strangers(kept, other):
            kept = other
        else:
            graph.join(kept, other)


def _sums_columns(group: Group) -> bool:
    """Return whether a group could be folded: it only sums, on a GPU."""
    nest = group.nest
    if nest is None or not nest.inner or group.alone:
        return False
    sums = [s for s in nest.stages if not isinstance(s, Store)]
    return (
        group.device.startswith("cuda")
        and bool(sums)
        and all(
            isinstance(s, Reduction)
            and s.reducer == "sum"
            and not s.folded
            and s.dtypes == ("float32",)
            and s.values[0].dtype == "float32"
            for s in sums
        )
        and all(_is_plain(stage) for stage in nest.stages)
    )


def _is_plain(stage: Stage) -> bool:
    """Return whether nothing is computed from a sum, only stored."""
    if isinstance(stage, Store) and not stage.inner:
        return stage.mode == "set" and stage.value.op == "local"
    return not leaves("local", *stage_values(stage))


def _over_rows(group: Group, graph: Graph) -> list[Group]:
    """Return the groups that touch the same arrays and reduce, most bytes first."""
    found: dict[int, int] = {}
    for other in graph.groups.values():
        if other is group or other.nest is None or not other.nest.inner:
            continue
        if other.alone or other.device != group.device:
            continue
        if any(isinstance(stage, Prefix) for stage in other.nest.stages):
            continue
        both = group.reads & (other.reads | other.writes)
        size = sum(graph.sizes.get(name, 0) for name in both)
        if size:
            found[other.number] = size
    return [graph.groups[n] for n in sorted(found, key=lambda n: (-found[n], n))]


def folded(
    first: Nest,
    second: Nest,
    sizes: Sizes,
    *,
    columns: Nest,
    buffers: Mapping[str, Buffer],
    least: Mapping[Expression, int],
) -> Nest | Refusal:
    """Return one nest over rows that also sums columns, or why there is none.

    Args:
        first: Runs first.
        second: Runs second.
        sizes: Sizes of arrays [bytes].
        columns: Which of the two sums columns over its inner axes.
        buffers: All arrays.
        least: Symbol -> the least that it can be.
    """
    flat = replace(
        columns,
        outer=columns.axes,
        inner=(),
        stages=tuple(map(_folded_stage, columns.stages)),
    )
    pair = (flat, second) if first is columns else (first, flat)
    sums = {s.buffer for s in pair[0].stages if isinstance(s, Store) and s.folded}
    if any(load.data in sums for _, load in stage_loads(pair[1].stages)):
        return Refusal("the one reads what the other sums")
    result = merged(*pair, sizes, least)
    if isinstance(result, Refusal):
        return result
    reason = _unfit(result, buffers)
    return result if reason is None else Refusal(reason)


def _folded_stage(stage: Stage) -> Stage:
    if isinstance(stage, Reduction):
        return replace(stage, folded=True)
    assert isinstance(stage, Store)
    if stage.inner:
        return replace(stage, inner=False)
    return replace(stage, inner=True, folded=True)


def _unfit(nest: Nest, buffers: Mapping[str, Buffer]) -> str | None:
    """Return why a nest with folded axes is not one kernel, None if it is."""
    folds = folded_axes(nest.outer, nest.stages)
    kept = {axis.digit for axis in nest.axes if axis not in folds}
    for stage in nest.stages:
        if not isinstance(stage, Store) or not stage.folded:
            continue
        if set(leaves("digit", *stage.target)) != kept:
            return f"{stage.buffer} is summed over other axes than rows"
    if not folds:
        return "no axis is left to sum over"
    lengths = [constant_value(axis.extent) for axis in nest.inner]
    if None in lengths or points(nest.inner) > WIDEST:
        return f"rows of more than {WIDEST} elements do not fit registers"
    if points(a for a in nest.outer if a not in folds) < LEAST_PROGRAMS:
        return f"fewer than {LEAST_PROGRAMS} chunks of rows"
    along = across = 0
    inner = {axis.digit for axis in nest.inner}
    for access in accesses(nest, buffers):
        ones = {
            leaf for leaf, step in access.steps.items() if constant_value(step) == 1
        }
        if ones & inner:
            along += access.bytes
        elif ones:
            across += access.bytes
    if across > along:
        return "the elements of a column are adjacent, not those of a row"
    return None
