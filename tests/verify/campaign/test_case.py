"""Cases survive JSON."""

import json
from dataclasses import replace

import torch

from verify.campaign.case import Case, from_json
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec


def test_cases_survive_json() -> None:
    spec = TensorSpec((2, 3), (0, 2), 1, torch.bfloat16, "special", 5)
    one = Case(Program({"x0": spec}, ("v0 = x0 + 1",), ("v0",), ("add",)), "inductor")
    module = {"m0": "filled(torch.nn.Linear(3, 1))"}
    more = replace(one.program, objects=module, others=({"x0": spec},), gradients=True)
    two = replace(one, program=more, has_parity=True)
    assert from_json(json.loads(json.dumps(two.to_json()))) == two
    assert from_json(json.loads(json.dumps(one.to_json()))) == one
