import ast

from algebra import LinearLayout
from compiler.codegen.gluon.conversion import hardware_function, identity_layout
from compiler.convert import plan
from compiler.convert.hardware import Hardware, hardware_of

LANES = [1, 2, 4, 8, 16]


def layout(registers: list[int], lanes: list[int]) -> LinearLayout:
    total = max(c.bit_length() for c in [*registers, *lanes])
    return LinearLayout.from_columns(
        {"register": len(registers), "lane": len(lanes)},
        {"dim0": total},
        [*registers, *lanes],
    )


def text(src: LinearLayout, dst: LinearLayout, bits: int) -> str:
    found = plan(src, dst, bits)
    made = hardware_function(found.steps, hardware_of(found.src), bits)
    ast.parse(made.text)
    return made.text


def test_no_op() -> None:
    assert "return x" in text(layout([32], LANES), layout([32], LANES), 32)


def test_files_of_different_sizes_are_cut_and_joined() -> None:
    swapped = [32, *LANES[1:]]
    fewer = text(layout([32, 0, 0], LANES), layout([1], swapped), 32)
    assert fewer.count("gl.split") == 3 and "gl.join" not in fewer
    more = text(layout([32], LANES), layout([1, 0, 0], swapped), 32)
    assert more.count("gl.join") == 3 and "gl.split" not in more
    assert "dtype=(gl.int32, gl.int32, gl.int32, gl.int32)" in more


def test_identity_layout_of_two_warps() -> None:
    assert identity_layout(Hardware(1, 1, 1, 0)) == (
        "gl.DistributedLinearLayout([[1]], [[2]], [[4]], [], [8])"
    )
