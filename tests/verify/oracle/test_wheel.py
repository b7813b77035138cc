from pathlib import Path

import pytest

from verify.oracle import Wheel
from verify.oracle import wheel as module

LAYOUT = {"bases": [["lane", [[1], [2]]]], "out_dims": [["dim0", 4]]}
GOOD = ["algebra", "num_in_dims", [{**LAYOUT, "surjective": True}]]
FATAL = ["algebra", "make", [{**LAYOUT, "out_dims": [["dim0", 8]], "surjective": True}]]


def test_an_abort_costs_one_case_and_loses_none(wheel: Wheel) -> None:
    before = wheel.restarts
    answers = list(wheel.ask([GOOD, FATAL, GOOD, GOOD, FATAL]))
    assert [sorted(answer) for answer in answers] == [
        ["value"],
        ["abort"],
        ["value"],
        ["value"],
        ["abort"],
    ]
    assert wheel.restarts == before + 2
    assert "exit status" in answers[1]["abort"]
    assert next(wheel.ask([GOOD]))["value"] == 1


def test_more_jobs_than_a_batch(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    assert [a["value"] for a in wheel.ask([GOOD] * 10)] == [1] * 10
    assert list(wheel.ask([])) == []


def test_the_version_is_the_wheels(wheel: Wheel) -> None:
    import importlib.metadata

    assert wheel.version == importlib.metadata.version("triton")


def test_a_silent_child_is_ended() -> None:
    with Wheel(timeout=0.0) as impatient:
        answer = next(impatient.ask([GOOD]))
    assert "abort" in answer


def test_a_folder_without_a_wheel_is_an_abort(tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("raise SystemExit('no wheel')")
    with Wheel(tmp_path) as broken:
        answer = next(broken.ask([GOOD]))
    assert "no wheel" in answer["abort"]


def test_closing_twice_is_harmless() -> None:
    judge = Wheel()
    judge.close()
    judge.close()
