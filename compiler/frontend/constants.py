"""Tensors that a graph holds become arguments, so that lowering sees no others."""

from typing import Any

import torch
from torch import fx

from compiler.torch_api import fake_mode


def lift_constants(graph: fx.GraphModule) -> list[torch.Tensor]:
    """Turn each tensor that the graph reads from itself into a last placeholder.

    Graphs that it holds (of higher-order operators) stay.

    Args:
        graph: Changed in place; its placeholders keep their order.

    Returns:
        The tensors, in the order of the new placeholders.
    """
    holders: dict[str, fx.Node] = {}
    tensors: list[torch.Tensor] = []
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    mode = fake_mode([node.meta.get("val") for node in placeholders])
    last = placeholders[-1] if placeholders else None
    for node in list(graph.graph.nodes):
        if node.op != "get_attr":
            continue
        value = attribute(graph, str(node.target))
        if not isinstance(value, torch.Tensor):
            continue
        if value.numel() == 1 and not isinstance(value, torch.nn.Parameter):
            continue  # lowering takes a number into the kernels that use it
        name = str(node.target)
        if name not in holders:
            made = _placeholder(graph, f"constant_{len(tensors)}", last)
            made.meta = dict(node.meta)
            if not isinstance(made.meta.get("val"), torch.Tensor):
                made.meta["val"] = (
                    value if mode is None else mode.from_tensor(value.detach())
                )
            last = holders[name] = made
            tensors.append(value)
        node.replace_all_uses_with(holders[name])
        graph.graph.erase_node(node)
    if tensors:
        graph.recompile()
    return tensors


def _placeholder(graph: fx.GraphModule, name: str, last: fx.Node | None) -> fx.Node:
    if last is not None:
        with graph.graph.inserting_after(last):
            return graph.graph.placeholder(name)
    first = next(iter(graph.graph.nodes))
    with graph.graph.inserting_before(first):
        return graph.graph.placeholder(name)


def attribute(module: Any, path: str) -> Any:
    """Return what a dotted name means in a module."""
    for part in path.split("."):
        module = getattr(module, part)
    return module
