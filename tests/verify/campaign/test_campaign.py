"""Campaigns: what is planted is found, shrunk and written down; nothing gets lost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from verify.campaign.case import Case, from_json
from verify.campaign.cause import cause, symptom
from verify.campaign.process import SubjectProcess
from verify.campaign.shrink import shrink
from verify.campaign.store import Store
from verify.campaign.test_file import write
from verify.strategies.programs import Program
from verify.strategies.tensors import TensorSpec

HERE = str(Path(__file__).parent)
VECTOR = TensorSpec((4,), (1,), 0, torch.float32)


def case(subject: str, *lines: str, spec: TensorSpec = VECTOR) -> Case:
    names = [line.partition(" = ")[0] for line in lines]
    return Case(
        Program({"x0": spec}, lines, (names[-1],), ("op",) * len(lines)), subject
    )


@pytest.fixture(scope="module")
def process() -> Iterator[SubjectProcess]:
    with SubjectProcess(timeout=8.0, environment={"PYTHONPATH": HERE}) as made:
        yield made


def test_a_right_backend_is_ok(process: SubjectProcess) -> None:
    answer = process.run(case("dynamo", "v0 = torch.sin(x0)"))
    assert answer["status"] == "ok", answer


def test_a_wrong_result_is_a_mismatch(process: SubjectProcess) -> None:
    answer = process.run(case("faulty_backends:wrong_sin", "v0 = torch.sin(x0)"))
    assert (answer["status"], answer["kind"]) == ("mismatch", "value")


def test_a_crash_and_a_hang_are_told_and_survived(process: SubjectProcess) -> None:
    died = process.run(case("faulty_backends:dies_on_exp", "v0 = torch.exp(x0)"))
    assert (died["status"], died["kind"]) == ("died", "SIGABRT")
    assert process.run(case("dynamo", "v0 = torch.exp(x0)"))["status"] == "ok"
    process.timeout = 2.0
    hung = process.run(case("faulty_backends:hangs_on_exp", "v0 = torch.exp(x0)"))
    process.timeout = 8.0
    assert hung["status"] == "hung"
    assert process.run(case("dynamo", "v0 = torch.exp(x0)"))["status"] == "ok"


def test_what_a_subject_prints_does_not_reach_the_protocol(
    process: SubjectProcess,
) -> None:
    answer = process.run(case("faulty_backends:prints_garbage", "v0 = torch.exp(x0)"))
    assert answer["status"] == "ok", answer


def test_shrinking_leaves_the_line_at_fault(process: SubjectProcess) -> None:
    long = case(
        "faulty_backends:wrong_sin",
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


@pytest.mark.slow
def test_the_test_file_fails_and_names_what_it_needs(
    process: SubjectProcess, tmp_path: Path
) -> None:
    wrong = case("faulty_backends:wrong_sin", "v0 = torch.sin(x0)")
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


def test_cases_survive_json() -> None:
    spec = TensorSpec((2, 3), (0, 2), 1, torch.bfloat16, "special", 5)
    one = Case(Program({"x0": spec}, ("v0 = x0 + 1",), ("v0",), ("add",)), "inductor")
    assert from_json(json.loads(json.dumps(one.to_json()))) == one


def test_a_cause_has_no_numbers_of_the_case() -> None:
    one = {"status": "error", "kind": "E", "detail": "E: size 3 of 'x0' at 0x7f12"}
    two = {"status": "error", "kind": "E", "detail": "E: size 44 of 'y' at 0x1234"}
    assert symptom(one) == symptom(two)
    made = case("inductor", "v0 = x0 + 1")
    assert cause(made, one) == cause(made, two)
    assert cause(made, one) != cause(case("tilewright", "v0 = x0 + 1"), one)


def test_a_corrupt_store_loses_only_what_is_corrupt(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("aaa", {"title": "one"}, "def test(): ...")
    store.add("bbb", {"title": "two"}, None)
    (tmp_path / "finds" / "aaa.json").write_text("{ cut")
    (tmp_path / "workers" / "0.json").write_bytes(b"\x00\x01")
    assert [find["title"] for find in store.finds()] == ["two"]
    assert store.progress(0) == {}
    assert (tmp_path / "finds" / "test_aaa.py").exists()
