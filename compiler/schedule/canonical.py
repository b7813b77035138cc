"""Digits named by their place, so that equal accesses are equal expressions.

The outer axes of each node run over ``i0``, ``i1``, ..., reduced ones over ``r0``,
``r1``, ...; a digit whose extent is 1 is the constant 0. A load at the reader's own
point then names its producer's own digits, and taking the producer's value in costs
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, digit, index
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
)
from compiler.ir.ranges import Ranges

from .arrays import with_values
from .simplify import simplified


def canonical(program: Program) -> Program:
    """Return the program with canonical digits."""
    return replace(
        program,
        nodes=tuple(canonical_node(node, program.least) for node in program.nodes),
    )


def canonical_axes(
    axes: Sequence[Axis], letter: str
) -> tuple[tuple[Axis, ...], dict[Expression, Expression]]:
    """Return axes over canonical digits, and old digit -> new digit or 0."""
    renamed: dict[Expression, Expression] = {}
    fresh = []
    for number, axis in enumerate(axes):
        name = digit(f"{letter}{number}")
        fresh.append(Axis(name, axis.extent))
        renamed[axis.digit] = index(0) if constant_value(axis.extent) == 1 else name
    return tuple(fresh), renamed


def canonical_node(node: Node, least: Mapping[Expression, int]) -> Node:
    """Return the node with canonical digits and simplified expressions."""
    if not isinstance(node, (Map, Reduce, Scan, Scatter, Assign)):
        return node
    axes, renamed = canonical_axes(node.axes, "i")
    reduced: tuple[Axis, ...] = ()
    if isinstance(node, Reduce):
        reduced, more = canonical_axes(node.reduced, "r")
        renamed |= more
    ranges = Ranges({a.digit: a.extent for a in (*axes, *reduced)}, least)
    done: dict[int, Expression] = {}
    # all digits at once: an old name may be another axis's new name
    node = with_values(node, lambda value: simplified(value, ranges, renamed, done))
    if isinstance(node, Reduce):
        return replace(node, axes=axes, reduced=reduced)
    assert not isinstance(node, (Alias, Extern))
    return replace(node, axes=axes)
