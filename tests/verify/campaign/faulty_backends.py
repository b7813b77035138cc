"""Backends with planted faults, for campaigns to find."""

import os
import sys
import time

import torch
from torch import fx


def _replaced(graph: fx.GraphModule, target, by) -> fx.GraphModule:
    for node in graph.graph.nodes:
        if node.op in ("call_function", "call_method") and node.target == target:
            by(node)
    graph.recompile()
    return graph


def wrong_sin(graph, inputs):
    """sin is computed as cos."""

    def change(node):
        node.target = torch.cos

    return _replaced(graph, torch.sin, change)


def dies_on_exp(graph, inputs):
    """The process aborts where the program has an exp."""
    if any(node.target is torch.exp for node in graph.graph.nodes):
        os.abort()
    return graph


def hangs_on_exp(graph, inputs):
    """The process hangs where the program has an exp."""
    if any(node.target is torch.exp for node in graph.graph.nodes):
        time.sleep(600)
    return graph


def prints_garbage(graph, inputs):
    """The compiler prints to standard output."""
    print("garbage {", flush=True)
    os.write(1, b"\x00\xff more garbage\n")
    sys.stdout.flush()
    return graph
