"""Programs as text."""

from dataclasses import replace

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


def test_random_places_follow_names_and_writes() -> None:
    def places(*steps: tuple[str, str], returns: tuple[str, ...]) -> list[int]:
        lines, operations = zip(*steps, strict=True)
        program = Program({"x0": X}, lines, returns, operations)
        return sorted(program.random_places())

    drawn = ("v0 = torch.rand_like(x0)", "rand_like")
    assert places(("v0 = x0 + 1", "add_number"), returns=("v0",)) == []
    plus = ("v1 = v0 + 1", "add_number")
    other = ("v2 = x0 * 2", "mul_number")
    assert places(drawn, plus, other, returns=("v1", "v2")) == [0, 3]
    write = ("x0.copy_(v0)", "copy_")
    assert places(drawn, other, write, returns=("v2",)) == [0, 1, 2]
    alone = ("v0 = torch.rand(3)", "rand")
    changed = ("v0.clamp_(0, 1)", "clamp_")
    assert places(alone, changed, other, returns=("v0", "v2")) == [0, 3]
    view = ("v0 = x0[1:]", "slice")
    drawn_into = ("v0.uniform_()", "uniform_")
    assert places(view, drawn_into, returns=("v0",)) == [0, 1, 2]


def test_random_numbers_reach_tensors_in_one_storage() -> None:
    program = Program({"x0": X, "x1": X}, ("x0.uniform_()",), ("x1",), ("uniform_",))
    assert program.random_places() == {1, 3}
    later = {"x0": X, "x1": replace(X, base="x0")}
    assert replace(program, others=(later,)).random_places() == {0, 1, 2, 3}


def test_arguments_that_are_objects_are_made_anew() -> None:
    objects = {"m0": "filled(torch.nn.Linear(2, 1))", "s0": "[1]"}
    lines = ("v0 = m0(x0)", "s0.append(2)")
    program = Program({"x0": X}, lines, ("v0",), ("op", "op"), objects)
    first = program.build()
    program.function()(*first)
    assert first[2] == [1, 2] and program.build()[2] == [1]
    assert "def filled" in program.source


def test_a_statement_of_several_lines_is_one_block() -> None:
    lines = ("if x0.shape[0] > 1:\n    v0 = x0 + 1\nelse:\n    v0 = x0",)
    program = Program({"x0": X}, lines, ("v0",), ("op",))
    (value,) = program.function()(*program.build())
    assert value.shape == (2,)
