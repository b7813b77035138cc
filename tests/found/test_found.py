"""The faults of docs/found.md are still there: a release that mends one is noticed.

The files in ``finds`` were written by ``tilewright hunt``; each fails as long as its
fault is there. Those whose library is not installed in the version that they name are
left out.
"""

import builtins
import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from torch.backends.cpu import get_cpu_capability

HERE = Path(__file__).parent
FILES = sorted((HERE / "finds").glob("*/test_*.py"))
IN_PROCESS = {"tensor_layouts", "torch_pycute"}
"""Folders whose files need no fresh process: plain Python, a few milliseconds."""

WIDE = {"inductor/test_be93769e0b22.py", "inductor/test_42dc13ae433f.py"}
"""Files with too few elements to show the fault on processors without AVX512."""


def key(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def is_installed(file: Path) -> bool:
    line = re.search(r"^Versions: (.*)\.$", file.read_text(), re.MULTILINE)
    assert line, file
    for part in line.group(1).split(", "):
        name, version = part.split(" ")
        if name in ("python", "numpy"):
            continue
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            return False
        if found.partition("+")[0] != version.partition("+")[0]:
            return False
    return True


def symptom(file: Path) -> str:
    """Name of the exception that shows the fault, from the file's head."""
    found = re.search(r"^Seen: error (\w+)", file.read_text(), re.MULTILINE)
    return found.group(1) if found else "AssertionError"


def require(file: Path) -> None:
    if not is_installed(file):
        pytest.skip(f"{key(file)} is about another release")


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.parent.name in IN_PROCESS], ids=key
)
def test_a_layout_is_still_wrong(file: Path) -> None:
    require(file)
    spec = importlib.util.spec_from_file_location(f"found_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(getattr(builtins, symptom(file))):
        getattr(module, file.stem)()


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", [f for f in FILES if f.parent.name not in IN_PROCESS], ids=key
)
def test_a_program_still_fails(file: Path) -> None:
    require(file)
    if key(file) in WIDE and not get_cpu_capability().startswith("AVX512"):
        pytest.skip(f"{key(file)} has too few elements without AVX512")
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(file.parent), "-c", os.devnull, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, "mended: tell so in docs/found.md"
    # pytest spells a plain assertion without its name
    seen = {"AssertionError": "assert"}.get(symptom(file), symptom(file))
    lines = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    assert any(seen in line.lower() or seen in line for line in lines), done.stdout


@pytest.mark.parametrize("file", FILES, ids=key)
def test_each_find_was_confirmed_and_is_listed(file: Path, repository: Path) -> None:
    results = json.loads(
        (repository / "benchmarks" / "results" / "found.json").read_text()
    )
    answer = results["finds"][key(file)]
    assert answer["failed"] == answer["runs"] == 20
    assert key(file) in (repository / "docs" / "found.md").read_text()
