"""Programs as text."""

import torch

from verify.strategies.programs.program import Program, targets
from verify.strategies.tensors import TensorSpec

X = TensorSpec((2,), (1,), 0, torch.float32)


def test_the_text_runs_and_can_lose_lines() -> None:
    lines = ("v0 = x0 + 1", "v1 = v0 * 2", "x0.zero_()")
    program = Program({"x0": X}, lines, ("v1",), ("add", "mul", "zero_"))
    given = program.build()
    expected = (given[0] + 1) * 2
    (result,) = program.function()(*given)
    assert torch.equal(result, expected) and not given[0].any()
    shorter = program.without([2])
    assert shorter is not None and shorter.operations == ("add", "mul")
    assert program.without([1]) is None


def test_targets() -> None:
    assert targets("v1, v2 = torch.sort(x0)") == ["v1", "v2"]
    assert targets("x0[1:] = 3") == [] and targets("x0.add_(1)") == []
