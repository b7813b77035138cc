import pytest

from algebra import ParseError
from verify.ptx.syntax import Instruction, Kernel


def test_the_parts_of_an_opcode() -> None:
    found = Instruction(1, "ld.shared.v2.b32", None, "ld.shared.v2.b32", ())
    assert found.parts == ("ld", "shared", "v2", "b32")


def test_widths_of_families_and_names() -> None:
    kernel = Kernel("k", (), None, {"%r": 32, "x1": 64}, {}, ())
    assert kernel.width("%r17") == 32
    assert kernel.width("x1") == 64
    with pytest.raises(ParseError, match="register='%q1'"):
        kernel.width("%q1")
