import pytest

from algebra.errors import UnsupportedLayoutError
from compiler.assign import assign
from compiler.codegen.gluon.tile_kernel import tile_kernel
from compiler.ir.tile import coordinate
from compiler.ir.tile_builder import TileBuilder


def gathered(size: int) -> TileBuilder:
    b = TileBuilder("gathered")
    b.buffer("x", "float32", [size])
    b.buffer("at", "int32", [256])
    b.buffer("y", "float32", [256])
    x, at = b.load("x", [coordinate(0)], [size]), b.load("at", [coordinate(0)], [256])
    b.store("y", [coordinate(0)], b.gather(x, at, 0))
    return b


def test_rows_over_warps_go_through_memory() -> None:
    text = tile_kernel(assign(gathered(1024).graph())).text
    assert "st.shared.b32" in text and "declare_tile()" in text


def test_too_much_for_shared_memory_is_named() -> None:
    with pytest.raises(UnsupportedLayoutError, match="smaller tile"):
        tile_kernel(assign(gathered(1 << 14).graph(), most_layouts=2))
