"""Shrinking keeps the failure and little else."""

from collections.abc import Callable

import torch

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.campaign.shrink import shrink, sliced
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec

MakeCase = Callable[..., Case]


def test_shrinking_leaves_the_line_at_fault(
    process: SubjectProcess, case: MakeCase
) -> None:
    long = case(
        "conftest:wrong_sin",
        "v0 = torch.abs(x0)",
        "v1 = v0 + 1",
        "v2 = torch.sin(v1)",
        "v3 = v2 * 2",
        spec=TensorSpec((3, 4), (1, 5), 2, torch.float64, "normal", 7),
    )

    def fails(program: Program) -> bool:
        status: str = process.run(Case(program, long.subject))["status"]
        return status == "mismatch"

    small = shrink(long.program, fails)
    assert small.lines == ("v2 = torch.sin(x0)",)
    assert small.inputs["x0"].is_plain
    assert small.inputs["x0"].dtype == torch.float32


def test_gradients_calls_objects_and_blocks_are_left_out() -> None:
    spec = TensorSpec((4,), (1,), 0, torch.float32, requires_grad=True)
    loop = "for n in range(3):\n    v0 = x0 + n\n    s0.append(n)\n    x0.sin()"
    program = Program(
        {"x0": spec},
        ("s0.append(9)", loop),
        ("x0",),
        ("append", "for_range"),
        {"s0": "[CALL]", "o0": "Box(x0, 1)", "m0": "filled(torch.nn.PReLU())"},
        ({"x0": spec},),
        gradients=True,
    )
    small = shrink(program, lambda one: "x0.sin()" in one.source)
    assert small.lines == ("x0.sin()",)
    assert small.calls == 1 and not small.gradients and not small.objects


def test_tensors_that_lie_in_one_storage_part_where_that_does_not_matter() -> None:
    spec = TensorSpec((4,), (1,), 0, torch.float32)
    program = Program(
        {"x0": spec, "x1": TensorSpec((4,), (1,), 0, torch.float32, base="x0")},
        ("v0 = x0 + x1",),
        ("v0",),
        ("add",),
    )
    small = shrink(program, lambda one: "x0 + x1" in one.source)
    assert not any(one.base for one in small.inputs.values())


def test_one_result_is_left_with_what_leads_to_it() -> None:
    program = Program(
        {"x0": TensorSpec((4,), (1,), 0, torch.float32)},
        ("v0 = x0 + 1", "x0.add_(1)", "v2 = x0 * 2", "v3 = v2.sin()"),
        ("v0", "v3"),
        ("add", "add_", "mul", "sin"),
    )
    asked: list[Program] = []

    def fails(one: Program) -> bool:
        asked.append(one)
        return "sin" in one.source

    small = sliced(program, fails)
    assert small.lines == ("x0.add_(1)", "v2 = x0 * 2", "v3 = v2.sin()")
    assert small.returns == ("v3",) and len(asked) == 2
    assert sliced(small, lambda one: False) == small
