"""Backends with planted faults, for campaigns to find."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx


def _replaced(
    graph: fx.GraphModule, target: object, by: Callable[[fx.Node], None]
) -> fx.GraphModule:
    for node in graph.graph.nodes:
        if node.op in ("call_function", "call_method") and node.target == target:
            by(node)
    graph.recompile()
    return graph


def wrong_sin(graph: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """sin is computed as cos."""

    def change(node: fx.Node) -> None:
        node.target = torch.cos

    return _replaced(graph, torch.sin, change)


def dies_on_exp(graph: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """The process aborts where the program has an exp."""
    if any(node.target is torch.exp for node in graph.graph.nodes):
        os.abort()
    return graph


def hangs_on_exp(graph: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """The process hangs where the program has an exp."""
    if any(node.target is torch.exp for node in graph.graph.nodes):
        time.sleep(600)
    return graph


def prints_garbage(graph: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """The compiler prints to standard output."""
    print("garbage {", flush=True)
    os.write(1, b"\x00\xff more garbage\n")
    sys.stdout.flush()
    return graph
