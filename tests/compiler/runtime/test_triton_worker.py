"""The process that compiles, line by line."""

import json
import subprocess
import sys
from pathlib import Path

from compiler.runtime import triton_worker


def test_modules_are_loaded_by_path(tmp_path: Path) -> None:
    (tmp_path / "seven.py").write_text("seven = 7\n")
    assert triton_worker.load_module(str(tmp_path / "seven.py"), "seven") == 7


def test_it_says_when_it_is_up_and_answers_each_line(tmp_path: Path) -> None:
    job = {"path": str(tmp_path / "none.py"), "name": "none", "arguments": {}}
    done = subprocess.run(
        [sys.executable, "-P", str(triton_worker.__file__)],
        input=json.dumps(job) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    ready, answer = map(json.loads, done.stdout.splitlines())
    assert ready == "ready" and answer.startswith("FileNotFoundError")
