"""Backends with planted faults, for campaigns to find, and a process to run them.

A subject's process imports this file as the module ``conftest``.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec

HERE = str(Path(__file__).parent)
VECTOR = TensorSpec((4,), (1,), 0, torch.float32)


def make_case(subject: str, *lines: str, spec: TensorSpec = VECTOR) -> Case:
    names = [line.partition(" = ")[0] for line in lines]
    program = Program({"x0": spec}, lines, (names[-1],), ("op",) * len(lines))
    return Case(program, subject)


@pytest.fixture
def case() -> Callable[..., Case]:
    return make_case


@pytest.fixture(scope="session")
def process() -> Iterator[SubjectProcess]:
    with SubjectProcess(timeout=40.0, environment={"PYTHONPATH": HERE}) as made:
        yield made


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
