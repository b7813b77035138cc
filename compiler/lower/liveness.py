"""Which nodes of a program something needs."""

from dataclasses import replace
from typing import Any

import torch

from compiler.ir.check import references
from compiler.ir.expression import Expression, loads
from compiler.ir.node import (
    Alias,
    Assign,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
    written,
)
from compiler.torch_api import is_overload

from .externs import Constant


def read(node: Node) -> set[str]:
    """Return the names of the arrays that a node reads."""
    if isinstance(node, Extern):
        return set(references((node.args, dict(node.kwargs))))
    if isinstance(node, Alias):
        return {node.base}
    roots: list[Expression] = []
    if isinstance(node, (Map, Scan, Assign, Scatter)):
        roots.append(node.value)
    if isinstance(node, Reduce):
        roots += node.values
    found = set()
    if isinstance(node, Scatter):
        found.add(node.base)
        roots += node.target
        if node.condition is not None:
            roots.append(node.condition)
    return found | {str(load.data) for load in loads(*roots)}


def alive(program: Program) -> Program:
    """Return the program without nodes and results of calls that nothing needs.

    Kept are nodes that outputs depend on, and those with an effect: writes into
    inputs, calls that write or that draw random numbers.
    """
    needed = {name for name in program.outputs if isinstance(name, str)}
    kept: list[Node] = []
    for node in reversed(program.nodes):
        effect = isinstance(node, Assign) or (
            isinstance(node, Extern)
            and (bool(node.mutates) or not node.outputs or not _pure(node.target))
        )
        if effect or any(buffer.name in needed for buffer in written(node)):
            needed |= read(node)
            kept.append(_trimmed(node, needed))
    return replace(program, nodes=tuple(kept[::-1]))


def _trimmed(node: Node, needed: set[str]) -> Node:
    """Return a call without results that nothing needs.

    Some operators return no tensor there, whatever their fake result says: attention
    in inference gives no logsumexp.
    """
    if not isinstance(node, Extern):
        return node
    outputs = tuple(
        b if b is not None and b.name in needed else None for b in node.outputs
    )
    aliases = {name: bases for name, bases in node.aliases.items() if name in needed}
    return replace(node, outputs=outputs, aliases=aliases)


def _pure(target: Any) -> bool:
    if isinstance(target, Constant):
        return True
    return is_overload(target) and torch.Tag.nondeterministic_seeded not in target.tags
