import json
from collections.abc import Callable
from typing import Any

import pytest

import tilewright.main_job as job

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("good", "code", "last"), [(True, 0, "PASS"), (False, 1, "FAIL")]
)
def test_report_and_exit_code(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    good: bool,
    code: int,
    last: str,
) -> None:
    monkeypatch.setattr(job, "STEPS", {"a step": lambda: (good, ["a line"], {"n": 1})})
    answer = command("run")
    assert answer.code == code
    assert "   a line\n" in answer.out
    assert answer.out.splitlines()[-1].startswith(last)
    as_json = command("run", "--json")
    assert as_json.code == code
    facts = json.loads(as_json.out)
    assert facts["good"] is good
    assert facts["steps"][0]["n"] == 1
