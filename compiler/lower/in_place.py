"""Operators that write their first argument, seen as operators that do not."""

from typing import Any

import torch
from torch import fx

from compiler.torch_api import is_overload, written_arguments

from .families import VIEWS


def functional(target: Any) -> Any:
    """Return the operator that computes what another writes in place, or None.

    Example:
        >>> functional(torch.ops.aten.add_.Tensor)
        <OpOverload(op='aten.add', overload='Tensor')>
    """
    if not is_overload(target) or target.namespace != "aten":
        return None
    names = str(target).split(".")
    if not names[1].endswith("_") or names[1].endswith("__"):
        return None
    if written_arguments(target) != ("self",):
        return None
    packet = getattr(torch.ops.aten, names[1].removesuffix("_"), None)
    return getattr(packet, names[2], None)


def written_array(node: fx.Node) -> tuple[Any, list[fx.Node]]:
    """Return what an operator in place writes, and older views that are read later.

    A write through a view counts as such a view: it is not the whole array.
    """
    target: Any = node.args[0]
    root = target
    while root.op == "call_function" and root.target in VIEWS:
        root = root.args[0]
    order = {other: place for place, other in enumerate(node.graph.nodes)}
    views: list[fx.Node] = [target] if target is not root else []
    pending = [root]
    while pending:
        for user in pending.pop().users:
            if user.op == "call_function" and user.target in VIEWS:
                pending.append(user)
                early = order[user] < order[node]
                if early and any(order[u] > order[node] for u in user.users):
                    views.append(user)
    return root, views
