"""Cases survive JSON."""

import json

import torch

from verify.campaign.case import Case, from_json
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec


def test_cases_survive_json() -> None:
    spec = TensorSpec((2, 3), (0, 2), 1, torch.bfloat16, "special", 5)
    one = Case(Program({"x0": spec}, ("v0 = x0 + 1",), ("v0",), ("add",)), "inductor")
    assert from_json(json.loads(json.dumps(one.to_json()))) == one
