"""The C++ text of the permutation kernels."""

from pathlib import Path

import pytest

from compiler.codegen.cpp.permute import BUFFER_BYTES, WIDTHS, permute_source
from compiler.permuting.cpp_backend import _LINE_BITS
from compiler.runtime.build import FLAGS, load_library


def test_one_function_for_each_width() -> None:
    source = permute_source()
    assert all(f"permute_{width}(" in source for width in WIDTHS)
    assert "#include" not in source


@pytest.mark.parametrize("width", WIDTHS)
def test_the_largest_tile_fits_the_buffer(width: int) -> None:
    assert width << 2 * _LINE_BITS[width] <= BUFFER_BYTES


def test_compiles_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    load_library("strict", permute_source(), (*FLAGS, "-Wall", "-Wextra", "-Werror"))
