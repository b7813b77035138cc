"""Views that need no kernel: an array that shows another's memory.

A map that only loads, along strides, is an alias where somebody needs it in memory: an
extern call, or the caller. A caller must not get two arrays that share memory unless
the graph says so, since an in-place change of one would change the other: an output
shows memory only if nothing else that leaves the graph does.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from compiler.ir.expression import Expression
from compiler.ir.index import add, contiguous_strides, index, sub
from compiler.ir.node import (
    Alias,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
    written,
)

from .arrays import Storages, mutated, reads
from .inline import Readers
from .strides import base_strides, is_dense, same_layout, view_strides


def with_views(program: Program, notes: list[str]) -> Program:
    """Return the program with aliases for the maps that can be ones.

    The strides of arrays that an alias shows are decided here.
    """
    views = _Views(program, notes)
    nodes = tuple(views.node(place, node) for place, node in enumerate(program.nodes))
    fixed = tuple(_with_buffers(node, views.decided) for node in nodes)
    return replace(program, nodes=fixed)


class _Views:
    def __init__(self, program: Program, notes: list[str]) -> None:
        self.buffers = program.buffers()
        self.notes = notes
        self.decided: dict[str, Buffer] = {}
        self._storages = Storages(program)
        self._readers = Readers(program)
        self._last: dict[str, int] = {}
        self._end = len(program.nodes)
        self._meant = Storages(program)  # what shares memory in the graph
        for node in program.nodes:
            if isinstance(node, Map) and node.shares:
                self._meant.join(node.buffer.name, node.shares)
        self._outputs = {o for o in program.outputs if isinstance(o, str)}
        self._leaves = {
            self._storages.root(name): self._meant.root(name) for name in self._outputs
        }
        meanings = Counter(self._meant.root(name) for name in self._outputs)
        self._shared = {root for root, count in meanings.items() if count > 1}
        self._inputs = {b.name for b in program.inputs if isinstance(b, Buffer)}
        self._moved: dict[str, Expression] = {}
        self._changed: set[str] = set()
        self._passed_on: set[str] = set()
        for place, node in enumerate(program.nodes):
            for name in reads(node):
                self._last[self._storages.root(name)] = place
            self._changed.update(self._storages.root(n) for n in mutated(node))
            if isinstance(node, Scatter):
                self._changed.add(node.buffer.name)
            if isinstance(node, Extern):
                for bases in node.aliases.values():
                    self._passed_on.update(map(self._storages.root, bases))
        self._producers = {
            b.name: node for node in program.nodes for b in written(node)
        }

    def node(self, place: int, node: Node) -> Node:
        if isinstance(node, Alias) and node.base in self._moved:
            return self._follow(node)
        if not isinstance(node, Map) or node.value.op != "load":
            return node
        reason = self._why_not(place, node)
        if reason is not None:
            self.notes.append(f"{node.buffer.name} is a copy: {reason}")
            return node
        found = self._shown(node)
        if found is None:
            self.notes.append(f"{node.buffer.name} is a copy: no strides show it")
            return node
        name, base = node.buffer.name, str(node.value.data)
        alias = Alias(found, base)
        escapes = self._escapes(name)
        self.buffers[name] = self.decided[name] = found
        self._moved[name] = sub(found.offset or index(0), node.buffer.offset or 0)
        self._storages.join(name, base)
        if escapes:
            self._leaves[self._storages.root(name)] = self._meant.root(name)
        self.notes.append(f"{name} shows {base}: no data moves")
        return alias

    def _follow(self, node: Alias) -> Alias:
        """Return a view of an array that begins elsewhere in its new storage."""
        name, shift = node.buffer.name, self._moved[node.base]
        offset = add(node.buffer.offset or 0, shift)
        found = replace(node.buffer, offset=offset)
        self.buffers[name] = self.decided[name] = found
        self._moved[name] = shift
        return replace(node, buffer=found)

    def _escapes(self, name: str) -> bool:
        """Return whether the caller gets an array, or a declared view of it."""
        root = self._storages.root(name)
        return any(self._storages.root(o) == root for o in self._outputs)

    def _why_not(self, place: int, node: Map) -> str | None:
        name, base = node.buffer.name, str(node.value.data)
        if self.buffers[base].dtype != node.buffer.dtype:
            return "its type differs"
        root = self._storages.root(base)
        meant = self._meant.root(name)
        escapes = self._escapes(name)
        leaves = escapes or meant in self._shared
        if leaves and self._is_shown(root, meant):
            return f"{base} leaves the graph too, and they must not share memory"
        whole = self._storages.root(name)
        if whole in self._changed or whole in self._passed_on:
            return "it may be changed or passed on by a call"
        if root in self._changed:
            last = self._last.get(self._storages.root(name), place)
            if escapes:
                last = self._end
            if self._readers.changed(base, place, last):
                return f"{base} changes while it is read"
            if isinstance(self._producers.get(root), Scatter):
                return None
            return f"{base} changes"
        return None

    def _is_shown(self, root: str, meant: str) -> bool:
        """Return whether anyone but results of one meaning sees an array's memory."""
        own = self._meant.root(root)
        if own == meant:
            return False
        owned = root in self._inputs or own in self._leaves.values()
        return owned or self._leaves.get(root, meant) != meant

    def _shown(self, node: Map) -> Buffer | None:
        """Return the view with strides and offset; decides the base's if free."""
        load, wanted = node.value, node.buffer.strides
        base = self.buffers[str(load.data)]
        options: list[tuple[Expression, ...]] = []
        if base.strides is not None:
            options.append(base.strides)
        else:
            options.append(contiguous_strides(base.shape))
            if wanted is not None:
                inverse = base_strides(load.args, node.axes, wanted)
                if inverse is not None and is_dense(base.shape, inverse):
                    options.append(inverse)
        for strides in options:
            found = view_strides(load.args, node.axes, strides)
            if found is None:
                continue
            if wanted is not None and not same_layout(
                node.buffer.shape, found[0], wanted
            ):
                continue
            if base.strides is None:
                fixed = replace(base, strides=strides)
                self.buffers[base.name] = self.decided[base.name] = fixed
            offset = found[1]
            if base.offset is not None:
                offset = add(offset, base.offset)
            strided = found[0] if wanted is None else wanted
            return replace(node.buffer, strides=strided, offset=offset)
        return None


def _with_buffers(node: Node, decided: Mapping[str, Buffer]) -> Node:
    """Return the node with the decided versions of its arrays."""
    if isinstance(node, (Map, Scatter, Alias)):
        found = decided.get(node.buffer.name)
        return node if found is None else replace(node, buffer=found)
    if isinstance(node, (Reduce, Scan)):
        buffers = tuple(decided.get(b.name, b) for b in node.buffers)
        return replace(node, buffers=buffers)
    return node
