"""A written file fails as long as the fault is there, and passes without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from verify.libraries.answer import judge
from verify.libraries.campaign import LibraryCampaign
from verify.libraries.operation import Operation
from verify.libraries.regression import cause, symptom, versions, write


def outcome(path: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        capture_output=True,
        check=False,
        cwd=path.parent,
    )
    return done.returncode


def text_of(add: Operation, arguments: tuple[int, int], answer: dict[str, str]) -> str:
    campaign = LibraryCampaign("planted", Path("hunt"))
    found = versions("pytest", "")
    return write("0123", campaign, add, arguments, answer, versions=found, where=(1, 2))


@pytest.mark.slow
def test_a_wrong_value_is_written_down(add: Operation, tmp_path: Path) -> None:
    arguments = (41, 3)
    text = text_of(add, arguments, judge(add, arguments))
    path = tmp_path / "test_find.py"
    path.write_text(text)
    assert outcome(path) == 1
    path.write_text(text.replace("a > 40", "a > 50"))
    assert outcome(path) == 0
    assert "seed 1, case 2" in text


@pytest.mark.slow
def test_an_abort_is_run_in_a_process_of_its_own(
    add: Operation, tmp_path: Path
) -> None:
    died = {"status": "died", "kind": "SIGABRT", "detail": ""}
    path = tmp_path / "test_find.py"
    path.write_text(text_of(add, (97, 0), died))
    assert outcome(path) == 1
    path.write_text(text_of(add, (96, 0), died))
    assert outcome(path) == 0


def test_causes_do_not_depend_on_numbers() -> None:
    first = {"status": "error", "kind": "KeyError", "detail": "no 17 in <at 0x12>"}
    second = {"status": "error", "kind": "KeyError", "detail": "no 4 in <at 0x99>"}
    assert cause("a", "add", first) == cause("a", "add", second)
    assert cause("a", "add", first) != cause("a", "sub", first)


def test_an_assertion_is_the_symptom_of_an_abort() -> None:
    answer = {
        "status": "died",
        "kind": "SIGABRT",
        "detail": "some text\npython: x.cpp:12: Assertion `n > 0' failed.\nmore",
    }
    assert "Assertion" in symptom("add", answer)


def test_not_finite_numbers_can_be_read_back(add: Operation) -> None:
    nan = Operation("add", add.source, add.draw, lambda a, b: [float("nan")], "")
    text = text_of(nan, (1, 2), {"status": "mismatch", "kind": "value"})
    assert "EXPECTED = [float('nan')]" in text
