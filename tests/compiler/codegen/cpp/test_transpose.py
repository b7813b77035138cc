"""The C++ text of the transposes."""

from pathlib import Path

import pytest

from compiler.codegen.cpp.permute import WIDTHS
from compiler.codegen.cpp.transpose import transpose_source
from compiler.runtime.build import FLAGS, load_library


def test_one_function_for_each_width() -> None:
    source = transpose_source()
    assert all(f"transpose_{width}(" in source for width in WIDTHS)


def test_compiles_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    load_library("strict", transpose_source(), (*FLAGS, "-Wall", "-Wextra", "-Werror"))
