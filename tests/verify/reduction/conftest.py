"""Backends with planted faults, which a process imports as the module ``conftest``."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess

HERE = str(Path(__file__).parent)

TRACED = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 6][1, 4]", arg1_1: "i64[4]", arg2_1: "f32[6]"):
        # File: /tmp/model.py:5 in f, code: y = x.exp()
        exp: "f32[4, 6]" = torch.ops.aten.exp.default(arg0_1);  arg0_1 = None
        full = torch.ops.aten.full.default([4, 6], -inf, device = device(type='cpu'))
        maximum: "f32[4, 6]" = torch.ops.aten.maximum.default(exp, full);  full = None
        split = torch.ops.aten.split.Tensor(maximum, 3, 1)
        getitem: "f32[4, 3]" = split[0];  split = None
        sin: "f32[4, 6]" = torch.ops.aten.sin.default(maximum);  maximum = None
        add: "f32[4, 6]" = torch.ops.aten.add.Tensor(sin, arg2_1);  sin = arg2_1 = None
        sum_1: "f32[4]" = torch.ops.aten.sum.dim_IntList(add, [1]);  add = None
        index: "f32[4]" = torch.ops.aten.index.Tensor(sum_1, [arg1_1]);  sum_1 = None
        return (index, getitem, arg1_1)
"""


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """Return a folder with a graph of a trace."""
    (tmp_path / "graph.py").write_text(TRACED)
    return tmp_path


class Pretended(SubjectProcess):
    """Answers in this process: wrong where a rule says so, else as it should be."""

    def __init__(self, wrong: Callable[[Case], bool]) -> None:
        super().__init__()
        self.wrong = wrong
        self.cases: list[Case] = []

    def run(self, case: Case) -> dict[str, Any]:
        self.cases.append(case)
        try:
            with torch.no_grad():
                case.program.function()(*case.program.build())
        except Exception as error:
            return {"status": "skip", "detail": str(error)}
        if case.subject == "tilewright" and self.wrong(case):
            return {"status": "mismatch", "kind": "value", "detail": "1.0, not 2.0"}
        return {"status": "ok"}


@pytest.fixture
def pretended() -> type[Pretended]:
    return Pretended


def wrong_sin(graph: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """sin is computed as cos."""
    for node in graph.graph.nodes:
        if "sin" in str(node.target):
            node.target = torch.cos
    graph.recompile()
    return graph


def dies_on_exp(graph: fx.GraphModule, inputs: Sequence[Any]) -> fx.GraphModule:
    """The process aborts where the program has an exp."""
    if any("exp" in str(node.target) for node in graph.graph.nodes):
        os.abort()
    return graph
