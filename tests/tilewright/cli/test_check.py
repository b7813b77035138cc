# ruff: noqa: E501 - operations stand on one line
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewright.cli.check import (
    read_argument,
    read_constant,
    read_kernel,
    split_outside_brackets,
)
from tilewright.cli.failures import InputError
from verify import Scalar

Command = Callable[..., Any]
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n) * 2, mask=o < n)

@triton.jit
def bad(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o) * 2)
"""
WORDS = (
    "-a",
    "x=fp32[n]",
    "-a",
    "y=fp32[n]!",
    "-a",
    "n=i32",
    "-c",
    "B=64",
    "--grid",
    "cdiv(n, B)",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels_of_a_test.py"
    path.write_text(KERNEL)
    return path


def test_a_good_kernel_is_proved(command: Command, file: Path) -> None:
    answer = command("check", f"{file}::scale", *WORDS)
    assert answer.code == 0
    assert answer.out.startswith("scale: proved\n")


def test_a_bad_one_is_refuted_with_a_launch(command: Command, file: Path) -> None:
    answer = command("check", f"{file}::bad", *WORDS, "--json")
    assert answer.code == 1
    record = json.loads(answer.out)
    assert record["obligations"]["in_bounds"]["verdict"] == "refuted"
    assert record["precondition"] == "n % 64 == 0"
    assert command("check", f"{file}::bad", *WORDS, "--assume", "n % 64 == 0").code == 0


def test_a_file_of_ttir(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "k.ttir"
    path.write_text(
        "tt.func @k(%y: !tt.ptr<i32>, %n: i32) {\n  tt.store %y, %n : !tt.ptr<i32>\n  tt.return\n}"
    )
    assert command("check", str(path), "-a", "y=i32[1]!", "-a", "n=i32").code == 0
    path.write_text("module {")
    answer = command("check", str(path))
    assert answer.code == 2 and "line 2" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("::nope",), "scale"),
        (("",), "FILE::KERNEL"),
        (("::scale", "-a", "x"), "NAME=TYPE"),
        (("::scale", "-a", "x=*fp32"), "the shape of x"),
        (("::scale", "-c", "B"), "NAME=VALUE"),
        (("::scale", "-a", "x=fp32[n]"), "'y'"),
    ],
)
def test_unusable_input(
    command: Command, file: Path, words: tuple[str, ...], said: str
) -> None:
    answer = command("check", f"{file}{words[0]}", *words[1:])
    assert answer.code == 2 and said in answer.err


def test_a_file_that_cannot_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "broken_for_a_test.py"
    with pytest.raises(InputError, match="no such file"):
        read_kernel(f"{path}::k")
    path.write_text("1 / 0")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        read_kernel(f"{path}::k")


def test_arguments() -> None:
    assert read_argument("n=i32:1:64") == ("n", Scalar("i32", 1, 64))
    assert read_argument("x=fp32[4, M*N]")[1].extents == (4, "M*N")  # type: ignore[union-attr]
    assert read_constant("F=True") == ("F", True) and read_constant("D=tf32") == (
        "D",
        "tf32",
    )
    assert split_outside_brackets("a, f(b, c),") == ("a", "f(b, c)")
