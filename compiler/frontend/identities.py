"""Calls that eager mode answers with their argument itself.

Dropout that drops nothing returns its input, not a copy; what is written to the result
is written to the input. AOTAutograd makes a copy of it, so such calls go before it
looks. Source: ATen's ``dropout`` against its decomposition.
"""

from typing import Any

import torch
from torch import fx

_DROPOUT = (torch.nn.functional.dropout, torch.dropout)


def without_identities(graph: fx.GraphModule) -> None:
    """Take dropout that drops nothing out of a graph of Dynamo's.

    Args:
        graph: As Dynamo captured it; it is changed.
    """
    for node in list(graph.graph.nodes):
        if node.op != "call_function" or node.target not in _DROPOUT:
            continue
        given = _arguments(node)
        idle = given["training"] is False or _is_zero(given["p"])
        if idle and given["inplace"] is False and isinstance(given["input"], fx.Node):
            node.replace_all_uses_with(given["input"])
            graph.graph.erase_node(node)
    graph.recompile()


def _arguments(node: fx.Node) -> dict[str, Any]:
    names = ("input", "p", "training", "inplace")
    given: dict[str, Any] = {"p": 0.5, "training": True, "inplace": False}
    given.update(zip(names, node.args, strict=False))
    keywords = dict(node.kwargs)
    if "train" in keywords:  # as torch.dropout calls it
        keywords["training"] = keywords.pop("train")
    return {**given, **keywords}


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 0
