import pytest

from compiler.convert.instructions import Instruction


@pytest.mark.parametrize(
    ("name", "bits", "spelling"),
    [
        ("st.shared", 8, "st.shared.b8"),
        ("st.shared", 32, "st.shared.b32"),
        ("ld.shared", 128, "ld.shared.v4.b32"),
        ("ldmatrix", 128, "ldmatrix.x4"),
        ("stmatrix.trans", 64, "stmatrix.x2.trans"),
    ],
)
def test_spelling(name: str, bits: int, spelling: str) -> None:
    instruction = Instruction(name, max(1, bits // 8), bits, 1, 1, 0)
    assert instruction.spelling == spelling
    assert instruction.is_matrix == ("matrix" in name)
