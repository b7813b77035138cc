"""Shrinking keeps the failure and little else."""

from collections.abc import Callable

import torch

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.campaign.shrink import shrink
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
