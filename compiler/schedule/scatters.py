"""What a write in place needs first: a copy of the base, or of an assigned value."""

from dataclasses import replace

from compiler.ir.expression import loads, make
from compiler.ir.index import constant_value, digit, index
from compiler.ir.node import (
    Assign,
    Axis,
    Buffer,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
    written,
)

from .arrays import reads, values_of


def with_bases_copied(program: Program, notes: list[str]) -> Program:
    """Return the program where each scatter works in place.

    A scatter's buffer is written by a map first, which copies the base, unless the
    base is an array of ours that nobody else reads: that one takes the scatter's name.
    In the result ``scatter.base == scatter.buffer.name``.
    """
    readers: dict[str, int] = {}
    for node in program.nodes:
        for name in reads(node):
            readers[name] = readers.get(name, 0) + 1
    for output in program.outputs:
        if isinstance(output, str):
            readers[output] = readers.get(output, 0) + 1
    out: list[Node] = []
    made: dict[str, int] = {}
    for node in program.nodes:
        if isinstance(node, Scatter) and node.base != node.buffer.name:
            place = made.get(node.base)
            old = None if place is None else out[place]
            alone = readers.get(node.base) == 1 and not any(
                load.data == node.base for load in loads(*values_of(node))
            )
            if place is not None and old is not None and alone and _free(old, node):
                out[place] = _renamed(old, node.base, node.buffer)
                if isinstance(old, Scatter):
                    _rename_copy(out, node.base, node.buffer)
                notes.append(f"{node.buffer.name} changes {node.base} in place")
            else:
                out.append(_copy(node))
                notes.append(f"{node.buffer.name} starts as a copy of {node.base}")
            made[node.buffer.name] = len(out)
            out.append(replace(node, base=node.buffer.name))
            continue
        if isinstance(node, (Map, Reduce, Scan)):
            buffers = (node.buffer,) if isinstance(node, Map) else node.buffers
            for buffer in buffers:
                made[buffer.name] = len(out)
        out.append(node)
    return replace(program, nodes=tuple(out))


def _free(old: Node, node: Scatter) -> bool:
    """Return whether the base's strides are ours to choose."""
    if isinstance(old, (Map, Scatter)):
        base = old.buffer
    elif isinstance(old, (Reduce, Scan)):
        base = next(b for b in old.buffers if b.name == node.base)
    else:
        return False
    return base.strides is None and base.dtype == node.buffer.dtype


def _renamed(old: Node, name: str, buffer: Buffer) -> Node:
    if isinstance(old, Map):
        return replace(old, buffer=buffer)
    if isinstance(old, Scatter):
        return replace(old, buffer=buffer, base=buffer.name)
    assert isinstance(old, (Reduce, Scan))
    buffers = tuple(buffer if b.name == name else b for b in old.buffers)
    return replace(old, buffers=buffers)


def _rename_copy(out: list[Node], name: str, buffer: Buffer) -> None:
    """Rename all that wrote a scatter's buffer before it."""
    for place, node in enumerate(out):
        if name in [made.name for made in written(node)]:
            out[place] = _renamed(node, name, buffer)


def _copy(node: Scatter) -> Map:
    axes = tuple(
        Axis(digit(f"i{number}"), extent)
        for number, extent in enumerate(node.buffer.shape)
    )
    place = tuple(
        index(0) if constant_value(axis.extent) == 1 else axis.digit for axis in axes
    )
    return Map(node.buffer, axes, make("load", place, node.buffer.dtype, node.base))


def with_temporaries(program: Program, notes: list[str]) -> Program:
    """Return the program where no assignment reads what it writes elsewhere.

    An assignment whose value reads its target at another point goes through an array
    of its own.
    """
    buffers = program.buffers()
    out: list[Node] = []
    for node in program.nodes:
        if isinstance(node, Assign) and _shifts(node):
            target = buffers[node.target]
            name = f"{node.target}_next_{len(out)}"
            fresh = Buffer(name, target.dtype, target.shape, target.device)
            place = tuple(
                index(0) if constant_value(a.extent) == 1 else a.digit
                for a in node.axes
            )
            out.append(Map(fresh, node.axes, node.value))
            load = make("load", place, target.dtype, name)
            node = Assign(node.target, node.axes, load)
            notes.append(f"{name}: {node.target} is read at other points than written")
        out.append(node)
    return replace(program, nodes=tuple(out))


def _shifts(node: Assign) -> bool:
    place = [
        index(0) if constant_value(axis.extent) == 1 else axis.digit
        for axis in node.axes
    ]
    return any(
        load.data == node.target
        and any(a is not b for a, b in zip(load.args, place, strict=True))
        for load in loads(node.value)
    )
