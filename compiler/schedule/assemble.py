"""Groups as kernels, in an order that computes before it reads."""

import heapq
from dataclasses import replace

from compiler.ir.expression import leaves
from compiler.ir.index import contiguous_strides
from compiler.ir.kernel import Kernel, Prefix, Reduction, Stage, Store
from compiler.ir.node import Alias, Buffer, Extern, Program, Tiling

from .collapse import collapsed
from .groups import Graph, Group
from .loops import accesses, laid_out, loop_order, reordered, tile_of
from .naming import kernel_name
from .nest import Nest, stage_values


def ordered(graph: Graph) -> list[Group]:
    """Return the groups in order: dependencies first, the program's order otherwise."""
    waiting: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    for number, group in graph.groups.items():
        needs = set()
        rest = group.before
        while rest:
            bit = rest & -rest
            rest ^= bit
            needs.add(graph.find(bit.bit_length() - 1))
        needs.discard(number)
        waiting[number] = len(needs)
        for need in needs:
            users.setdefault(need, []).append(number)
    ready = [number for number, count in waiting.items() if not count]
    heapq.heapify(ready)
    out = []
    while ready:
        number = heapq.heappop(ready)
        out.append(graph.groups[number])
        for user in users.get(number, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    assert len(out) == len(graph.groups), "groups depend on each other in a cycle"
    return out


def without_unused(nest: Nest, needed: set[str]) -> Nest:
    """Return the nest without stores and reductions that nobody reads."""
    stages: list[Stage] = []
    used: set[str] = set()
    for stage in reversed(nest.stages):
        if isinstance(stage, Store):
            keep = stage.buffer in needed
        else:
            keep = any(name in used for name in stage.results)
        if keep:
            stages.append(stage)
            used.update(str(x.data) for x in leaves("local", *stage_values(stage)))
    return replace(nest, stages=tuple(stages[::-1]))


def needed_arrays(program: Program, groups: list[Group]) -> dict[int, set[str]]:
    """Return group -> arrays that others read after it or that the caller sees."""
    kept = {name for name in program.outputs if isinstance(name, str)}
    kept |= {b.name for b in program.inputs if isinstance(b, Buffer)}
    touchers: dict[str, set[int]] = {}
    for group in groups:
        for name in group.reads | group.writes:
            touchers.setdefault(name, set()).add(group.number)
    return {
        group.number: {
            name
            for name in group.writes
            if name in kept or touchers[name] - {group.number}
        }
        for group in groups
    }


def assembled(
    graph: Graph, buffers: dict[str, Buffer], notes: list[str]
) -> list[Kernel | Extern | Alias]:
    """Return the program's steps without memory.

    Args:
        graph: The groups.
        buffers: All arrays; the strides of those that kernels make are decided here.
        notes: Gets the reasons of the kernels.
    """
    groups = ordered(graph)
    needed = needed_arrays(graph.program, groups)
    steps: list[Kernel | Extern | Alias] = []
    count = 0
    for group in groups:
        if group.step is not None:
            steps.append(group.step)
            continue
        assert group.nest is not None
        nest = without_unused(group.nest, needed[group.number])
        if not nest.stages:
            continue
        kernel = kernel_of(nest, count, buffers, group.reasons, group.tiling)
        notes.extend(f"{kernel.name}: {reason}" for reason in kernel.reasons)
        steps.append(kernel)
        count += 1
    return steps


def kernel_of(
    nest: Nest,
    number: int,
    buffers: dict[str, Buffer],
    reasons: list[str],
    tiling: Tiling | None = None,
) -> Kernel:
    """Return a nest as a kernel: loops in order, layouts decided, loops merged."""
    if not any(isinstance(stage, (Reduction, Prefix)) for stage in nest.stages):
        nest = _flat(nest)
    order = loop_order(nest, accesses(nest, buffers))
    laid_out(nest, order, buffers)
    nest = reordered(nest, order)
    nest, seen = collapsed(nest, buffers)
    name = kernel_name(nest, number, product=tiling is not None)
    tile = tile_of(accesses(nest, seen))
    return Kernel(
        name,
        nest.outer,
        nest.inner,
        nest.stages,
        seen,
        nest.origins,
        tuple(reasons),
        tile,
        tiling,
    )


def _flat(nest: Nest) -> Nest:
    """Return a nest that lost its reductions with all axes as outer ones."""
    stages = tuple(
        replace(s, inner=False) if isinstance(s, Store) else s for s in nest.stages
    )
    if all(isinstance(s, Store) and s.inner for s in nest.stages):
        return replace(nest, outer=nest.axes, inner=(), stages=stages)
    return replace(nest, inner=nest.inner)


def with_default_strides(buffers: dict[str, Buffer], names: set[str]) -> None:
    """Give row-major strides to arrays that must have some before kernels choose."""
    for name in names:
        buffer = buffers[name]
        if buffer.strides is None:
            strides = contiguous_strides(buffer.shape)
            buffers[name] = replace(buffer, strides=strides)
