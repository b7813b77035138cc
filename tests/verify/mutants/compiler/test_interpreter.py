"""Casts of bfloat16 in Triton's interpreter are those of eager mode."""

import pytest
import torch

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.mutants.compiler.changes import probe, tensor

DTYPES = (torch.uint8, torch.int32, torch.bool, torch.float16, torch.float64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_casts_from_and_to_bfloat16_go_by_value(
    dtype: torch.dtype, process: SubjectProcess
) -> None:
    program = probe(
        "v0 = x0.to(torch.bfloat16)",
        "v1 = (v0 * 2).to(x0.dtype)",
        returns="v0, v1",
        x0=tensor(20, dtype=dtype),
    )
    subject = "verify.mutants.compiler.subject:right_triton"
    assert process.run(Case(program, subject))["status"] == "ok"


def test_a_pad_of_bfloat16_is_interpreted(process: SubjectProcess) -> None:
    program = probe(
        "v0 = torch.tril(F.pad(x0, (0, 1, 1, 0), value=0.5), 2)",
        x0=tensor(6, 5, dtype=torch.bfloat16),
    )
    subject = "verify.mutants.compiler.subject:right_triton"
    assert process.run(Case(program, subject))["status"] == "ok"


def test_subnormal_numbers_of_bfloat16_are_kept(process: SubjectProcess) -> None:
    program = probe(
        "v0 = x0.view(torch.bfloat16).float() * 2.0**100",
        x0=tensor(64, dtype=torch.int16, content="integers"),
    )
    subject = "verify.mutants.compiler.subject:right_triton"
    assert process.run(Case(program, subject))["status"] == "ok"
