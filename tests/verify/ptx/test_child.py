import json
import subprocess
import sys

import pytest

from verify.oracle import Wheel
from verify.ptx.campaign import CHILD


def test_answers_in_order(wheel: Wheel) -> None:
    answers = list(wheel.ask([["version"], ["ptx", "no module", 90], ["version"]]))
    assert answers[0] == answers[2]
    assert "error" in answers[1]


def test_a_batch_a_line() -> None:
    pytest.importorskip("triton")
    run = subprocess.run(
        [sys.executable, "-P", str(CHILD)],
        input=json.dumps([["version"]]) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(run.stdout)) == {"value"}
