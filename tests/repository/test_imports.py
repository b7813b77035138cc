"""What an import costs and pulls in, asked of a new interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = """\
import json, sys, time
before = set(sys.modules)
started = time.process_time()
import {package}
seconds = time.process_time() - started
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""


def import_alone(package: str, repository: Path) -> tuple[float, set[str]]:
    """Seconds of CPU, and the top-level names of all modules that came with it.

    Bytecode may be written, as it is for a user from the second import on.
    """
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(package=package)],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    answer: list[Any] = json.loads(done.stdout)
    seconds, names = answer
    return float(seconds), {str(name).partition(".")[0] for name in names}


def test_algebra_needs_the_standard_library_only(repository: Path) -> None:
    _, names = import_alone("algebra", repository)
    assert names - sys.stdlib_module_names == {"algebra"}


def test_algebra_imports_in_50_ms(repository: Path) -> None:
    """The best of five, the first of which may write bytecode."""
    assert min(import_alone("algebra", repository)[0] for _ in range(5)) < 0.050


def test_verify_loads_neither_solver_nor_hypothesis(repository: Path) -> None:
    _, names = import_alone("verify", repository)
    assert "verify" in names
    assert not names & {"bitwuzla", "hypothesis", "torch", "triton", "z3"}


def test_compiler_loads_neither_torch_nor_triton(repository: Path) -> None:
    _, names = import_alone("compiler", repository)
    assert "compiler" in names
    assert not names & {"torch", "triton"}
