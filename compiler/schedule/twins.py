"""Arrays that are computed twice: one of them is enough."""

from collections.abc import Hashable
from dataclasses import replace

from compiler.ir.expression import Expression, make, rewrite
from compiler.ir.node import (
    Alias,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scatter,
)

from .arrays import Storages, mutated, reads, referring, values_of, with_values


def without_twins(program: Program, notes: list[str]) -> Program:
    """Return the program where equal maps and reductions are one.

    Arrays that leave the graph, that are changed, or that read what is changed keep
    their own memory.

    Args:
        program: With canonical digits: equal values are the same expression.
        notes: Gets a line for each array that is gone.
    """
    own = {name for name in program.outputs if isinstance(name, str)}
    changed = {name for node in program.nodes for name in mutated(node)}
    changed |= {n.buffer.name for n in program.nodes if isinstance(n, Scatter)}
    own |= changed
    for node in program.nodes:
        if isinstance(node, Extern):
            for bases in node.aliases.values():
                own.update(bases)
    own, changed = _with_views(program, own), _with_views(program, changed)
    first: dict[Hashable, Map | Reduce] = {}
    renamed: dict[str, str] = {}
    out: list[Node] = []
    for node in program.nodes:
        node = _with_names(node, renamed)
        if isinstance(node, (Map, Reduce)) and not changed.intersection(reads(node)):
            buffers = node.buffers if isinstance(node, Reduce) else (node.buffer,)
            if changed.intersection(b.name for b in buffers):
                out.append(node)
                continue
            key = _key(node)
            twin = first.setdefault(key, node)
            if twin is not node and not own.intersection(b.name for b in buffers):
                others = twin.buffers if isinstance(twin, Reduce) else (twin.buffer,)
                for mine, theirs in zip(buffers, others, strict=True):
                    renamed[mine.name] = theirs.name
                    notes.append(f"{mine.name} equals {theirs.name}")
                continue
        out.append(node)
    return replace(program, nodes=tuple(out))


def _with_views(program: Program, names: set[str]) -> set[str]:
    """Return arrays, and all that share memory with them by declared views."""
    storages = Storages(program)
    roots = set(map(storages.root, names))
    return names | {n for n in program.buffers() if storages.root(n) in roots}


def _key(node: Map | Reduce) -> Hashable:
    buffers = node.buffers if isinstance(node, Reduce) else (node.buffer,)
    return (
        node.reducer if isinstance(node, Reduce) else "",
        tuple(axis.extent for axis in node.axes),
        tuple(a.extent for a in node.reduced) if isinstance(node, Reduce) else (),
        values_of(node),
        tuple((b.dtype, b.device, b.strides) for b in buffers),
    )


def _with_names(node: Node, renamed: dict[str, str]) -> Node:
    if not renamed or not any(name in renamed for name in reads(node)):
        return node

    def change(part: Expression) -> Expression:
        if part.op == "load" and part.data in renamed:
            return make("load", part.args, part.dtype, renamed[str(part.data)])
        return part

    if isinstance(node, Alias):
        return replace(node, base=renamed.get(node.base, node.base))
    if isinstance(node, Extern):
        kwargs = referring(node.kwargs, renamed)
        return replace(node, args=referring(node.args, renamed), kwargs=kwargs)
    done: dict[int, Expression] = {}
    return with_values(node, lambda value: rewrite(value, change, done))
