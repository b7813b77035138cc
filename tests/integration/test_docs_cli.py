"""The console examples of docs/cli.md print what they say and make the picture.

To make the picture again: run the command that docs/cli.md gives, inside docs/.
"""

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tilewright.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
EXAMPLES = [
    block.split("\n", 1)
    for block in re.findall(r"```console\n\$ (.*?)```", PAGE.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("line", "printed"), EXAMPLES)
def test_example(
    line: str,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("weight.npy", np.zeros((8, 4), dtype=np.float32))
    program, *words = shlex.split(line)
    assert program == "tilewright"
    assert main(words) == 0
    out = "".join(f"{row.rstrip()}\n" for row in capsys.readouterr().out.splitlines())
    assert doctest.OutputChecker().check_output(printed, out, doctest.ELLIPSIS), out


def test_the_picture_is_what_the_command_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = (line for line, _ in EXAMPLES if "--svg layout.svg" in line)
    assert main(shlex.split(line)[1:]) == 0
    assert (tmp_path / "layout.svg").read_text() == (
        PAGE.parent / "layout.svg"
    ).read_text()
