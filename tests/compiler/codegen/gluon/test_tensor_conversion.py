import pytest

from algebra import AffineLayout, LinearLayout, UnsupportedLayoutError
from compiler.codegen.gluon.tensor_conversion import (
    memory_function,
    place_bits,
    relabel,
    standard_order,
)


def matrix(register: list[list[int]], lane: list[list[int]]) -> AffineLayout:
    bases = {"register": register, "lane": lane, "warp": [], "block": []}
    layout = LinearLayout.from_bases(bases, {"dim1": 2, "dim0": 4}, False)
    return AffineLayout(layout)


def test_place_bits_are_row_major() -> None:
    assert place_bits(matrix([[1, 0]], [[0, 1], [0, 2]]), "src") == [0, 1, 2]
    assert place_bits(matrix([[0, 2]], [[1, 0], [0, 0]]), "src") is None
    with pytest.raises(UnsupportedLayoutError, match="hardware form"):
        place_bits(matrix([[1, 1]], []), "src")


def test_dims_are_ordered_by_number() -> None:
    names = {f"dim{i}": 0 for i in (10, 2, 0)}
    layout = LinearLayout.from_columns({}, names, [])
    assert standard_order(layout) == ["dim0", "dim2", "dim10"]


def test_runs_of_bits_stay_one_dim() -> None:
    (line,) = relabel("y", [4, 5, 0, 1, 2, 3])
    assert line == "    y = gl.permute(gl.reshape(y, [4, 16]), [1, 0])"


def test_memory() -> None:
    layout = LinearLayout.from_bases({"offset": [[0, 1], [1, 1]]}, ["dim1", "dim0"])
    made = memory_function(layout)
    assert "gl.SharedLinearLayout([[1, 0], [1, 1]])" in made.text
    assert "memory.load(layout)" in made.text
