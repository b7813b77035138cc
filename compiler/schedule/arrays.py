"""Who reads and writes which array, and whose memory it is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compiler.ir.expression import Expression, loads, make
from compiler.ir.index import constant_value, digit, index
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Product,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
    written,
)


def values_of(node: Node) -> tuple[Expression, ...]:
    """Return the expressions of a node."""
    if isinstance(node, (Map, Scan, Assign)):
        return (node.value,)
    if isinstance(node, Reduce):
        return node.values
    if isinstance(node, Product):
        return (node.left, node.right, *node.values)
    if isinstance(node, Scatter):
        last = () if node.condition is None else (node.condition,)
        return (*node.target, node.value, *last)
    return ()


def with_values(node: Node, change: Callable[[Expression], Expression]) -> Node:
    """Return the node with each of its expressions changed."""
    if isinstance(node, Reduce):
        return replace(node, values=tuple(map(change, node.values)))
    if isinstance(node, Product):
        return replace(
            node,
            left=change(node.left),
            right=change(node.right),
            values=tuple(map(change, node.values)),
        )
    if isinstance(node, Scatter):
        return replace(
            node,
            target=tuple(map(change, node.target)),
            value=change(node.value),
            condition=None if node.condition is None else change(node.condition),
        )
    if isinstance(node, (Map, Scan, Assign)):
        return replace(node, value=change(node.value))
    return node


def space_of(node: Node) -> tuple[Axis, ...]:
    """Return all axes that a node's expressions run over."""
    if isinstance(node, Reduce):
        return (*node.axes, *node.reduced)
    if isinstance(node, Product):
        return (*node.axes, node.term)
    return node.axes if isinstance(node, (Map, Scan, Assign, Scatter)) else ()


def references(argument: Any) -> Iterator[str]:
    """Yield the names of the arrays that an extern's argument names."""
    if isinstance(argument, Reference):
        yield argument.name
    elif isinstance(argument, Mapping):
        for part in argument.values():
            yield from references(part)
    elif isinstance(argument, (tuple, list)):
        for part in argument:
            yield from references(part)


def referring(argument: Any, renamed: Mapping[str, str]) -> Any:
    """Return an extern's argument with arrays named anew."""
    if isinstance(argument, Reference):
        return Reference(renamed.get(argument.name, argument.name))
    if isinstance(argument, Mapping):
        return {key: referring(part, renamed) for key, part in argument.items()}
    if isinstance(argument, (tuple, list)):
        return type(argument)(referring(part, renamed) for part in argument)
    return argument


def reads(node: Node) -> list[str]:
    """Return the arrays that a node reads, each once, in order."""
    if isinstance(node, Extern):
        names = [*references(node.args), *references(node.kwargs)]
    elif isinstance(node, Alias):
        names = [node.base]
    else:
        names = [str(load.data) for load in loads(*values_of(node))]
        if isinstance(node, Scatter):
            names.append(node.base)
    return list(dict.fromkeys(names))


def mutated(node: Node) -> tuple[str, ...]:
    """Return the arrays that exist before the node and that it writes."""
    if isinstance(node, Assign):
        return (node.target,)
    return tuple(node.mutates) if isinstance(node, Extern) else ()


def loaded(buffer: Buffer, base: str, order: Sequence[int] | None = None) -> Map:
    """Return the map that copies an array, or shows it where strides allow that.

    Args:
        buffer: What it makes.
        base: Name of the array.
        order: For each dim of the base the dim of the buffer that it is; None: the
            same.
    """
    axes = tuple(Axis(digit(f"i{n}"), extent) for n, extent in enumerate(buffer.shape))
    place = [
        index(0) if constant_value(axis.extent) == 1 else axis.digit for axis in axes
    ]
    args = tuple(place[dim] for dim in (range(len(axes)) if order is None else order))
    return Map(buffer, axes, make("load", args, buffer.dtype, base))


def _without_unread(node: Node, alive: set[str]) -> Node:
    """Return a call that keeps only those of its results that are read."""
    if not isinstance(node, Extern):
        return node
    outputs = tuple(b if b and b.name in alive else None for b in node.outputs)
    aliases = {n: bases for n, bases in node.aliases.items() if n in alive}
    return replace(node, outputs=outputs, aliases=aliases)


class Storages:
    """Which arrays share memory: a forest of names, one tree for each storage."""

    def __init__(self, program: Program) -> None:
        """Read the aliases that a program declares."""
        self._parent: dict[str, str] = {}
        for node in program.nodes:
            if isinstance(node, Alias):
                self.join(node.buffer.name, node.base)
            elif isinstance(node, Extern):
                for name, bases in node.aliases.items():
                    for base in bases:
                        self.join(name, base)

    def join(self, name: str, base: str) -> None:
        """Let two arrays share memory."""
        mine, theirs = self.root(name), self.root(base)
        if mine != theirs:
            self._parent[mine] = theirs

    def root(self, name: str) -> str:
        """Return the name that stands for an array's storage."""
        while name in self._parent:
            name = self._parent[name]
        return name


def without_dead(program: Program) -> Program:
    """Return the program without the nodes that nobody can see.

    An extern call stays if it may do more than return arrays: where it mutates, and
    where it returns none. Results of a call that nobody reads become None.
    """
    alive = {name for name in program.outputs if isinstance(name, str)}
    kept: list[Node] = []
    for node in reversed(program.nodes):
        names = [buffer.name for buffer in written(node)]
        seen = any(name in alive for name in names)
        if seen or mutated(node) or not names:
            kept.append(_without_unread(node, alive) if seen else node)
            alive.update(reads(node))
    return replace(program, nodes=tuple(kept[::-1]))
