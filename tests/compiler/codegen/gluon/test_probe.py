import ast

import pytest

from algebra import AffineLayout, LinearLayout
from compiler.convert import plan

SRC = LinearLayout.from_bases(
    {"register": [[1, 0], [0, 1]], "lane": [[0, 2], [0, 4], [2, 0], [4, 0], [8, 0]]},
    ["dim0", "dim1"],
)
DST = LinearLayout.from_bases(
    {"register": [[0, 2], [0, 1]], "lane": [[1, 0], [0, 4], [2, 0], [4, 0], [8, 0]]},
    ["dim0", "dim1"],
)


@pytest.mark.parametrize("form", ["hardware", "tensor"])
def test_probes_are_python(form: str) -> None:
    flipped = AffineLayout(DST, {"dim1": 5})
    text = plan(SRC, flipped, 16).emit(form).probe
    ast.parse(text)
    assert "def probe(source, target):" in text
    assert "index ^ 5" in text or "* 0 + 5" in text
