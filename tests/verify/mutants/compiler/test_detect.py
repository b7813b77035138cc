from itertools import pairwise
from typing import Any

import pytest

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.mutants.compiler import FAULTS
from verify.mutants.compiler.detect import detect, drawn
from verify.strategies.programs import FAMILIES

DETECT = "verify.mutants.compiler.detect"
FAILS = {"status": "mismatch", "kind": "value", "detail": "1, not 2"}
OK = {"status": "ok"}


@pytest.mark.parametrize(
    ("answers", "seen"),
    [
        ({"wrong": [FAILS]}, "kill"),
        ({"wrong": [FAILS, OK]}, "unsteady"),
        ({"wrong": [FAILS], "right_cpp": [FAILS]}, "alarm"),
        ({"wrong": [FAILS], "right_cpp": [FAILS], "aot_eager": [FAILS]}, "before"),
        (
            {
                "wrong": [FAILS],
                "right_cpp": [
                    {"status": "error", "detail": "it could not be compiled: Error"}
                ],
            },
            "fallback",
        ),
        (
            {
                "wrong": [FAILS],
                "right_cpp": [
                    {
                        "status": "error",
                        "kind": "InterpreterError",
                        "detail": "OverflowError('overflow to signed inf')",
                    }
                ],
            },
            "interpreter",
        ),
        ({"wrong": [FAILS], "right_cpp": [{"status": "hung"}]}, "slow"),
    ],
    ids=["kill", "unsteady", "alarm", "before", "fallback", "interpreter", "slow"],
)
def test_failures_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[Any]], seen: str
) -> None:
    left = {name: list(rows) for name, rows in answers.items()}
    asked: list[str] = []

    def run(self: SubjectProcess, case: Case) -> Any:
        asked.append(case.subject.rpartition(":")[2])
        rows = left.get(asked[-1], [OK])
        return rows.pop(0) if len(rows) > 1 else rows[0]

    monkeypatch.setattr(SubjectProcess, "run", run)
    monkeypatch.setattr(f"{DETECT}._used", lambda child: float(len(asked)))
    found = detect("wrong", "cpp", 2.0, families=("views",))
    assert (found.kill is not None) == (seen == "kill")
    assert len(found.alarms) == (seen == "alarm")
    assert dict(found.apart) == ({} if seen in ("kill", "alarm") else {seen: 1})


def test_what_fails_now_and_then_without_a_fault_is_an_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Case] = []

    def run(self: SubjectProcess, case: Case) -> Any:
        asked.append(case)
        return OK if len(asked) % 2 == 0 else FAILS

    monkeypatch.setattr(SubjectProcess, "run", run)
    monkeypatch.setattr(f"{DETECT}._used", lambda child: float(len(asked)))
    found = detect("right_cpp", "cpp", 2.0, families=("views",))
    assert found.kill is None and len(found.alarms) == 1 and not found.apart


def test_a_seed_gives_the_same_programs() -> None:
    first, again = drawn(3, ("views",)), drawn(3, ("views",))
    assert first == again and len(first) > 10
    assert drawn(4, ("views",)) != first


def test_programs_of_a_seed_are_not_like_others_before() -> None:
    seen: set[tuple[str, str]] = set()
    for program in drawn(5, tuple(FAMILIES)):
        pairs = set(pairwise(("", *program.operations)))
        assert pairs - seen
        seen |= pairs


@pytest.mark.slow
def test_a_fault_is_killed_by_what_its_compiler_gets_right() -> None:
    fault = FAULTS["remainder_of_what_is_not_negative_is_dropped"]
    found = detect(fault.name, fault.route, 120.0, families=("views",))
    assert found.kill is not None and not found.alarms
    assert found.programs >= 1 and set(found.kill) == {"how", "case"}
    assert 0 < found.cpu_seconds < 121.0


@pytest.mark.slow
def test_what_has_no_fault_survives() -> None:
    found = detect("right_evaluated", "evaluated", 10.0, families=("pointwise",))
    assert found.kill is None and not found.alarms
