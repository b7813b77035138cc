import re

from compiler.assign import assign
from compiler.codegen.gluon.tile_kernel import tile_kernel
from compiler.ir import scalar
from compiler.ir.index import mul, symbol
from compiler.ir.tile import coordinate
from compiler.ir.tile_builder import TileBuilder

D0 = coordinate(0)


def text_of(b: TileBuilder, warps: int = 4) -> str:
    return tile_kernel(assign(b.graph(), warps)).text


def test_hints_are_on_pointers_and_masks() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [1024])
    b.store("x", [D0], b.load("x", [D0], [512]))
    text = text_of(b)
    assert len(re.findall(r"multiple_of\(pointer\d+, \[1, 16\]\)", text)) == 2


def test_one_of_all_copies_stores() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [32])
    b.store("x", [D0], b.load("x", [D0], [32]))
    assert re.search(r"speaks\d+ = .* & \d+ == 0", text_of(b))
    b.operators.clear()
    b.buffer("x", "float32", [512])
    b.store("x", [D0], b.load("x", [D0], [512]))
    assert "speaks" not in text_of(b)


def test_programs_are_counted_wide() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [1 << 20])
    place = mul(symbol("program0"), 512)
    from compiler.ir.index import add

    b.store("x", [add(place, D0)], b.full([512], 0.0, "float32"))
    assert "program0.to(gl.int64)" in text_of(b)


def test_indices_come_from_tiles() -> None:
    b = TileBuilder("one")
    b.buffer("at", "int32", [64])
    b.buffer("x", "float32", [4096])
    at = b.load("at", [D0], [64])
    index = scalar.checked_index(scalar.local(at.name, "int32"), 4096, False)
    b.store("x", [D0], b.load("x", [index], [64], operands=[at]))
    assert f"{at.name}_a" in text_of(b)
