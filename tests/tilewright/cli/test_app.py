"""What every subcommand has in common, above all the errors."""

import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tilewright.cli import app as module
from tilewright.cli import main
from tilewright.cli.app import app

Command = Callable[..., Any]

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [4, 8], "
    "warpsPerCTA = [1, 1], order = [1, 0]}>"
)
SINGULAR = "#ttg.linear<{register = [[1]], lane = [[1], [2]], warp = [], block = []}>"

BAD: dict[str, tuple[list[str], list[str]]] = {
    "no such command": (["shwo"], ["shwo"]),
    "no argument": (["show"], ["encoding"]),
    "no shape": (["show", BLOCKED], ["--shape"]),
    "no such option": (["show", BLOCKED, "--shap", "4x4"], ["--shap"]),
    "unknown attribute": (
        ["show", "#ttg.blokced<{order = [0]}>", "--shape", "4"],
        ["#ttg.blokced", "blocked"],
    ),
    "unknown parameter": (
        ["show", BLOCKED.replace("order", "odrer"), "--shape", "4x16"],
        ["odrer"],
    ),
    "malformed attribute": (["show", BLOCKED[:-5], "--shape", "4x16"], ["line 1"]),
    "no encoding at all": (["show", "module {}", "--shape", "4"], ["encoding"]),
    "a size that is no power of two": (
        ["show", BLOCKED, "--shape", "4x12"],
        ["power of two", "12"],
    ),
    "a parameter that is no power of two": (
        ["show", BLOCKED.replace("[4, 8]", "[3, 8]"), "--shape", "4x16"],
        ["power of two", "3"],
    ),
    "a shape of another rank": (
        ["show", BLOCKED, "--shape", "4x4x4"],
        ["rank 2", "[4, 4, 4]"],
    ),
    "a shape that is none": (["show", BLOCKED, "--shape", "axb"], ["axb", "64x64"]),
    "a negative size": (["show", BLOCKED, "--shape", "4x-16"], ["4x-16"]),
    "an empty shape": (["show", BLOCKED, "--shape", ""], ["64x64"]),
    "an unknown release": (
        ["show", BLOCKED, "--shape", "4x16", "--release", "9.9"],
        ["9.9", "3.9"],
    ),
    "an unknown colour": (
        ["show", BLOCKED, "--shape", "4x16", "--svg", "x.svg", "--color-by", "bank"],
        ["bank", "lane"],
    ),
    "colours without a picture": (
        ["show", BLOCKED, "--shape", "4x16", "--color-by", "lane"],
        ["--color-by lane", "--svg"],
    ),
    "one file for two pictures": (
        ["show", BLOCKED, "--shape", "4x16", "--svg", "x", "--html", "x"],
        ["'x'", "a file each"],
    ),
    "no rows": (["show", BLOCKED, "--shape", "4x16", "--rows", "0"], ["--rows", "'0'"]),
    "an element of 12 bits": (
        ["show", BLOCKED, "--shape", "4x16", "--svg", "x", "--element-bits", "12"],
        ["element_bits=12"],
    ),
    "a file that is missing": (["show", "@nowhere", "--shape", "4"], ["nowhere"]),
    "a file that is no text": (["show", "@bytes", "--shape", "4"], ["UTF-8"]),
    "a folder": (["show", "@.", "--shape", "4"], ["cannot read '.'"]),
    "a folder that is missing": (
        ["show", BLOCKED, "--shape", "4x16", "--svg", "no/where.svg"],
        ["cannot write 'no/where.svg'"],
    ),
    "output to a folder": (
        ["show", BLOCKED, "--shape", "4x16", "--html", "."],
        ["cannot write '.'", "folder"],
    ),
    "two tensors of other shapes": (
        ["explain", BLOCKED, BLOCKED.replace("[1, 1]", "[2, 1]"), "--shape", "8x16"],
        ["warp", "1 in src and 2 in dst"],
    ),
    "explain memory": (
        [
            "explain",
            BLOCKED,
            "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, "
            "order = [1, 0]}>",
            "--shape",
            "4x16",
        ],
        ["distributed", "offset"],
    ),
    "an unknown theorem": (["prove", "swizzle_is_nice"], ["swizzle_is_nice"]),
    "no theorem": (["prove", "--only", "nonsense*"], ["nonsense*"]),
    "two encodings": (["prove", BLOCKED, BLOCKED, "--shape", "4x16"], ["got 2"]),
    "prove another rank": (["prove", BLOCKED, "--shape", "4"], ["rank 2"]),
    "a limit of nothing": (["prove", "--timeout", "0"], ["timeout"]),
    "a limit that is no number": (["prove", "--timeout", "soon"], ["soon"]),
    "columns that are no number": (
        ["show", BLOCKED, "--shape", "4x16", "--columns", "some"],
        ["some", "--columns"],
    ),
    "a note that is none": (["prove", "--resume", "note"], ["note", "line 1"]),
    "no .npy": (["permute", "note", "--map", "2,1", "-o", "o.npy"], ["numpy.save"]),
    "an empty file": (["permute", "empty", "--map", "2,1", "-o", "o.npy"], ["b''"]),
    "a truncated .npy": (
        ["permute", "short.npy", "--map", "2,1", "-o", "o.npy"],
        ["short.npy"],
    ),
    "only the magic": (
        ["permute", "magic.npy", "--map", "2,1", "-o", "o.npy"],
        ["magic.npy"],
    ),
    "a broken header": (
        ["permute", "header.npy", "--map", "2,1", "-o", "o.npy"],
        ["header.npy"],
    ),
    "objects": (["permute", "objects.npy", "--map", "2,1", "-o", "o.npy"], ["pickle"]),
    "elements of 3 bytes": (
        ["permute", "text.npy", "--map", "2,1", "-o", "o.npy"],
        ["3 bytes"],
    ),
    "an array that is missing": (
        ["permute", "nowhere.npy", "--map", "2,1", "-o", "o.npy"],
        ["cannot read 'nowhere.npy'"],
    ),
    "no output": (["permute", "four.npy", "--map", "2,1"], ["--output"]),
    "no map": (["permute", "four.npy", "-o", "o.npy"], ["--map"]),
    "output that cannot be": (
        ["permute", "four.npy", "--map", "2,1", "-o", "no/where.npy"],
        ["cannot write 'no/where.npy'"],
    ),
    "a singular map": (
        ["permute", "four.npy", "--map", "1,1", "-o", "o.npy"],
        ["invertible", "kernel vector 3"],
    ),
    "a map that is not square": (
        ["permute", "four.npy", "--map", "{'index': [[0]]}", "-o", "o.npy"],
        ["in_bits=1, out_bits=0"],
    ),
    "bases that are not surjective": (
        ["permute", "four.npy", "--map", "{'index': [[2], [2]]}", "-o", "o.npy"],
        ["invertible"],
    ),
    "an encoding with copies": (
        ["permute", "four.npy", "--map", BLOCKED, "--shape", "2x2", "-o", "o.npy"],
        ["in_bits=6, out_bits=2"],
    ),
    "bases that are none": (
        ["permute", "four.npy", "--map", "{'index': 7}", "-o", "o.npy"],
        ["bases"],
    ),
    "a map that is nothing": (
        ["permute", "four.npy", "--map", "nonsense", "-o", "o.npy"],
        ["nonsense", "transpose"],
    ),
    "a map for more elements": (
        ["permute", "four.npy", "--map", "1,2,4", "-o", "o.npy"],
        ["8", "numel=4"],
    ),
    "an image out of range": (
        ["permute", "four.npy", "--map", "1,9", "-o", "o.npy"],
        ["columns[1]=9"],
    ),
    "sizes of a name": (
        ["permute", "four.npy", "--map", "transpose(3, 4)", "-o", "o.npy"],
        ["power of two", "3"],
    ),
    "a result of another size": (
        ["permute", "four.npy", "--map", "2,1", "--out-shape", "3", "-o", "o.npy"],
        ["4 elements"],
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with some good files and many bad ones."""
    monkeypatch.chdir(tmp_path)
    np.save("four.npy", np.arange(4))
    np.save("objects.npy", np.array([1, "two"], dtype=object))
    np.save("text.npy", np.array([b"abc"] * 4))
    good = Path("four.npy").read_bytes()
    Path("short.npy").write_bytes(good[:-3])
    Path("magic.npy").write_bytes(good[:6])
    Path("header.npy").write_bytes(good[:10] + b"{'descr': [[[" + good[23:])
    Path("bytes").write_bytes(b"\xff\xfe\x00")
    Path("note").write_text("to be or not to be\n")
    Path("empty").touch()
    return tmp_path


@pytest.mark.parametrize(("words", "named"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(
    command: Command, folder: Path, words: list[str], named: list[str]
) -> None:
    before = sorted(folder.iterdir())
    answer = command(*words)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("tilewright: error: ")
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    for fact in named:
        assert fact in answer.err
    assert sorted(folder.iterdir()) == before


def test_debug_shows_where(command: Command) -> None:
    with pytest.raises(Exception, match="power of two"):
        command("show", BLOCKED, "--shape", "4x12", "--debug")


def test_an_error_of_ours_is_one_line_too(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(module, "app", broken)
    answer = command("show")
    assert answer.code == 1
    assert answer.err == (
        "tilewright: error: internal error: ZeroDivisionError: by zero "
        "(--debug shows where)\n"
    )


def test_version_help_and_nothing(command: Command) -> None:
    assert command("--version").out.startswith("tilewright ")
    assert command("--version").code == 0
    nothing = command()
    assert nothing.code == 0
    for name in ("show", "explain", "prove", "permute", "run"):
        assert f"  {name} " in nothing.out
        told = CliRunner().invoke(app, [name, "--help"])
        assert told.exit_code == 0
        assert "--json" in told.output


def test_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"#a = {BLOCKED}\n"))
    answer = command("show", "-", "--shape", "4x16", "--json")
    assert json.loads(answer.out)["encoding"]["kind"] == "blocked"


def test_standard_input_that_is_no_text(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    answer = command("show", "-", "--shape", "4")
    assert answer.code == 2
    assert "standard input" in answer.err


def test_interrupted(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewright.cli.show.read_encoding", interrupted)
    answer = command("show", BLOCKED, "--shape", "4x16")
    assert answer.code == 130
    assert answer.err == "tilewright: interrupted\n"
    monkeypatch.setattr(module, "main", interrupted)
    assert command("show", BLOCKED, "--shape", "4x16") == answer


def test_words_come_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tilewright", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("tilewright ")


def run(repository: Path, *words: str, **more: Any) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "tilewright", *words],
        cwd=repository,
        capture_output=True,
        text=True,
        **more,
    )


def test_as_a_module(repository: Path) -> None:
    done = run(repository, "show", BLOCKED, "--shape", "4x16")
    assert done.returncode == 0
    assert "lane:register" in done.stdout
    failed = run(repository, "show", BLOCKED, "--shape", "4x12")
    assert failed.returncode == 2
    assert failed.stdout == ""


def test_a_reader_that_leaves_early(repository: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "show", BLOCKED, "--shape", "4x16"],
            cwd=repository,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(repository: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tilewright", "show", BLOCKED, "--shape", "4x16"],
            cwd=repository,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("tilewright: error: the system refused: [Errno 28]")
    assert done.stderr.count("\n") == 1


def test_a_closed_output_is_one_line(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    answer = command("show", BLOCKED, "--shape", "4x16")
    assert answer.code == 2
    assert "standard output is closed" in answer.err


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned(*_: object, **__: object) -> int:
        warnings.warn("slow\nway", RuntimeWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(module, "app", warned)
    answer = command("show")
    assert answer.code == 0
    assert answer.err == "tilewright: warning: slow way\n"
