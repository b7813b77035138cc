import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.reduction import GoneError, Reduction, read
from verify.strategies.programs import Program

from .conftest import HERE, Pretended

Pretend = Callable[[Callable[[Case], bool]], Pretended]


def has_sin(case: Case) -> bool:
    return "sin" in case.program.source


def test_a_graph_is_reduced_to_what_fails(traced: Path, pretended: Pretend) -> None:
    reduction = Reduction(read(traced), "tilewright", traced, pretended(has_sin))
    found = reduction.run()
    assert len(found.case.program.lines) == 1
    assert "aten.sin" in found.case.program.lines[0]
    (spec,) = found.case.program.inputs.values()
    assert spec.storage <= 2
    assert found.stage == "the code of the backend tilewright"
    assert "Reduced by `tilewright reduce" in found.text
    assert "backend='tilewright'" in found.text
    compile(found.text, "test", "exec")


def test_the_same_command_goes_on(traced: Path, pretended: Pretend) -> None:
    def stop(best: Program, tries: int) -> None:
        if tries == 6:
            raise KeyboardInterrupt

    first = Reduction(read(traced), "tilewright", traced, pretended(has_sin), stop)
    with pytest.raises(KeyboardInterrupt):
        first.run()
    assert first.best is not None
    kept = first.best.program
    assert "sin" in first.result().text  # the best so far has a test file
    process = pretended(has_sin)
    Reduction(read(traced), "tilewright", traced, process).run()
    assert process.cases[0].program == kept
    (traced / "reduced.json").write_text("{")
    process = pretended(has_sin)
    Reduction(read(traced), "tilewright", traced, process).run()
    assert len(process.cases[0].program.lines) == 9


def test_another_failure_is_not_taken(traced: Path, pretended: Pretend) -> None:
    class Two(Pretended):
        def run(self, case: Case) -> dict[str, object]:
            answer = super().run(case)
            if answer["status"] == "mismatch" and "exp" not in case.program.source:
                return {"status": "error", "kind": "OtherError", "detail": "other"}
            return answer

    found = Reduction(read(traced), "tilewright", traced, Two(has_sin)).run()
    assert "exp" in found.case.program.source and "sin" in found.case.program.source
    assert len(found.case.program.lines) == 2


def test_a_failure_that_is_gone_is_named(traced: Path, pretended: Pretend) -> None:
    process = pretended(lambda case: False)
    with pytest.raises(GoneError, match=r"with drawn inputs: ok; .*reduction\.save"):
        Reduction(read(traced), "tilewright", traced, process).run()


def test_a_failure_that_does_not_come_again_is_named(
    traced: Path, pretended: Pretend
) -> None:
    class Forgetful(Pretended):
        def close_child(self) -> None:
            self.wrong = lambda case: False

    with pytest.raises(GoneError, match="fails in one process and not in the next"):
        Reduction(read(traced), "tilewright", traced, Forgetful(has_sin)).run()
    assert json.loads((traced / "reduced.json").read_text())["case"]["lines"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status", "operation"),
    [("wrong_sin", "mismatch", "sin"), ("dies_on_exp", "died", "exp")],
)
def test_a_planted_fault_in_processes(
    traced: Path, fault: str, status: str, operation: str
) -> None:
    if status == "died":  # each death costs a start
        (traced / "graph.py").write_text(
            'class G:\n def forward(self, a: "f32[2]"):\n'
            "  b = torch.ops.aten.neg.default(a)\n"
            "  c = torch.ops.aten.exp.default(b)\n  return (c,)\n"
        )
    with SubjectProcess(30.0, {"PYTHONPATH": HERE}) as process:
        found = Reduction(read(traced), f"conftest:{fault}", traced, process).run()
    assert found.answer["status"] == status
    assert len(found.case.program.lines) == 1
    assert operation in found.case.program.lines[0]
    file = traced / "test_reduced.py"
    file.write_text(found.text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", str(file)],
        cwd=traced,
        env={"PYTHONPATH": HERE, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "error" not in done.stdout.splitlines()[-1:]
