"""Operators that write their first argument, seen as operators that do not."""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Written:
    """What an operator in place writes.

    Attributes:
        root: The node whose memory it is.
        whole: Nodes that stand for all of that memory: the root, and results of
            earlier operators in place.
        views: Nodes that show a part, or show it in another order, from before the
            write, and are used by it or after it.
    """

    root: fx.Node
    whole: tuple[fx.Node, ...]
    views: tuple[fx.Node, ...]


def written_array(node: fx.Node) -> Written:
    """Return what an operator in place writes, and who sees that."""
    target: Any = node.args[0]
    root = target
    while root.op == "call_function" and (
        root.target in VIEWS or functional(root.target) is not None
    ):
        root = root.args[0]
    order = {other: place for place, other in enumerate(node.graph.nodes)}
    whole, views = [root], []
    pending = [(root, False)]
    while pending:
        made, partial = pending.pop()
        for user in made.users:
            if user.op != "call_function" or user is node or user.args[0] is not made:
                continue
            if user.target not in VIEWS and functional(user.target) is None:
                continue
            shown = partial or user.target in VIEWS
            pending.append((user, shown))
            if order[user] > order[node]:
                continue
            if not shown:
                whole.append(user)
            elif any(order[later] >= order[node] for later in user.users):
                views.append(user)
    return Written(root, tuple(whole), tuple(views))
