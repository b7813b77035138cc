"""The test file of a find fails as long as the fault is there."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.campaign.regression import write
from verify.strategies.tensors import TensorSpec

HERE = str(Path(__file__).parent)
MakeCase = Callable[..., Case]


@pytest.mark.slow
def test_the_test_file_fails_and_names_what_it_needs(
    process: SubjectProcess, case: MakeCase, tmp_path: Path
) -> None:
    wrong = case("conftest:wrong_sin", "v0 = torch.sin(x0)")
    answer = process.run(wrong)
    text = write("sin", wrong, answer, "the backend", "wrong_sin: value")
    file = tmp_path / "test_sin.py"
    file.write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", str(file)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": HERE, "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
    assert torch.__version__ in text and "Found by" in text
    # a backend without the fault: the same file passes
    right = text.replace("import wrong_sin", "import dies_on_exp as wrong_sin")
    file.write_text(right)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": HERE, "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


def test_a_file_with_gradients_needs_no_module_of_ours(case: MakeCase) -> None:
    spec = TensorSpec((4,), (1,), 0, torch.float32, requires_grad=True)
    right = case("eager", "v0 = torch.sin(x0)", spec=spec)
    right = replace(right, program=replace(right.program, gradients=True))
    text = write("sin", right, {"status": "mismatch"}, "none", "right: nothing")
    assert "verify" not in text and "autograd.grad" in text
    room: dict[str, Any] = {}
    exec(text, room)
    room["test_sin"]()  # eager mode has no fault


def test_tensors_in_one_storage_lie_so_in_the_file(case: MakeCase) -> None:
    spec = TensorSpec((4,), (1,), 1, torch.float32)
    right = case("eager", "x0.mul_(2)", "v0 = x0 * x1", spec=spec)
    inputs = {"x0": spec, "x1": replace(spec, offset=2, base="x0")}
    program = replace(right.program, inputs=inputs, returns=("v0",))
    right = replace(right, program=program)
    text = write("one", right, {"status": "mismatch"}, "none", "right: nothing")
    assert "x1 = x0.as_strided((4,), (1,), 2)" in text
    room: dict[str, Any] = {}
    exec(
        compile(
            text.replace("torch.compile(program, ", "(lambda f, **k: f)(program, "),
            "file",
            "exec",
        ),
        room,
    )
    room["test_one"]()
