"""Strangers of one shape in one kernel: fewer launches, no byte more or less.

Casting the weights of a layer to half precision is a handful of tiny kernels, each
gone before its launch is paid for. Pointwise nests with the same loops and the same
strides, none of which needs another, run in one, as long as they are near each other
in the program, so that no array lives much longer.
"""

from collections.abc import Hashable, Iterable, Mapping

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value
from compiler.ir.node import Buffer

from .assemble import needed_arrays
from .groups import SMALL, Graph, Group
from .loops import accesses
from .nest import Nest
from .work import BYTES, points

NEAR = 48
"""Nodes of the program between two that may share a kernel, at most."""

MOST_BYTES = 1 << 26
"""Bytes that a kernel of strangers moves, at most [bytes]."""

IN_PLACE = 4
"""How many times the bytes, nodes, stages and arrays of another kernel one may have
that changes its caller's arrays on a GPU, as an optimizer's step does.

It makes no array that would live longer. A GPU moves that much in 60 microseconds, of
which starting and draining take 2. A core, though, follows only so many arrays at once.
"""

IN_PARTS = 12
"""As :data:`IN_PLACE`, where each program changes the arrays of one of the strangers.

Pointers to that many arrays fill the 4 KiB that a kernel's arguments may take.
"""


def with_siblings(graph: Graph, buffers: Mapping[str, Buffer]) -> None:
    """Fuse independent pointwise groups of one shape that are near each other."""
    recent: dict[Hashable, int] = {}
    needed = needed_arrays(graph.program, list(graph.groups.values()))
    inputs = {value.name for value in graph.program.inputs if isinstance(value, Buffer)}
    for number in sorted(graph.groups):
        group = graph.groups.get(number)
        if group is None or group.nest is None or group.alone:
            continue
        on_gpu = group.device.startswith("cuda")
        in_place = all(graph.root(name) in inputs for name in needed[number])
        more = 1
        if on_gpu and in_place:
            more = IN_PARTS if _in_parts(group, needed[number], graph) else IN_PLACE
        most = more * MOST_BYTES
        key = shape_of(group.nest, buffers, most)
        if key is None:
            continue
        key = (group.device, more, key)
        other = recent.get(key)
        if other is not None and other in graph.groups:
            partner = graph.groups[other]
            if more == IN_PARTS and not _apart(partner, group, graph):
                more = IN_PLACE
            near = number - max(other, graph.latest(partner)) <= NEAR
            few = _bytes(partner, graph) + _bytes(group, graph) <= more * MOST_BYTES
            fit = near and few and are_strangers(partner, group)
            if fit and graph.join(partner, group, more):
                continue
        recent[key] = number


def shape_of(nest: Nest, buffers: Mapping[str, Buffer], most: int) -> Hashable | None:
    """Return loops and strides of a pointwise nest; None where it moves too much.

    Args:
        nest: Its loops.
        buffers: Its arrays.
        most: What it may move [bytes].
    """
    if nest.inner:
        return None
    moved = 0
    steps: set[tuple[Expression | None, ...]] = set()
    for access in accesses(nest, buffers):
        moved += access.bytes
        steps.add(tuple(access.steps.get(axis.digit) for axis in nest.outer))
    for name in nest.stores():
        if buffers[name].strides is None:
            moved += points(nest.outer) * BYTES[buffers[name].dtype]
    if moved > most:
        return None
    return tuple(axis.extent for axis in nest.outer), frozenset(steps)


def _in_parts(group: Group, made: Iterable[str], graph: Graph) -> bool:
    """Return whether a nest changes many points of arrays, and reads each of them."""
    assert group.nest is not None
    read = {graph.root(name) for name in group.reads}
    changed = {graph.root(name) for name in made} <= read
    return changed and points(group.nest.axes) > SMALL


def _apart(left: Group, right: Group, graph: Graph) -> bool:
    """Return whether both touch no array but single numbers."""
    shared = (left.reads | left.writes) & (right.reads | right.writes)
    return all(
        constant_value(extent) == 1
        for name in shared
        for extent in graph.buffers[name].shape
    )


def _bytes(group: Group, graph: Graph) -> int:
    return sum(graph.sizes.get(name, 0) for name in group.reads | group.writes)


def are_strangers(left: Group, right: Group) -> bool:
    """Return whether neither needs the other."""
    return not (
        left.ancestors >> right.number & 1 or right.ancestors >> left.number & 1
    )
