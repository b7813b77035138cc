"""The fusing compiler's arithmetic in Gluon: Triton's texts, and numbers apart."""

import struct

import pytest

from compiler.codegen.gluon.fused_reductions import COARSE
from compiler.codegen.gluon.fused_scalars import FusedArithmetic
from compiler.ir.expression import make
from compiler.ir.scalar import apply, constant, local

X = local("x", "float32")


def test_functions_of_the_library_are_remembered_as_gluon() -> None:
    found = FusedArithmetic()
    assert found.text(apply("erf", X), ["x"]) == "erf(x)"
    names = [text.split("def ")[1].split("(")[0] for text in found.sources()]
    assert names == ["erf", "exp2_flushed"]
    assert all(text.startswith("@gluon.jit") for text in found.sources())


def test_an_exponential_is_fast_where_it_is_marked() -> None:
    found = FusedArithmetic()
    assert found.text(apply("exp", X), ["x"]) == "libdevice.exp(x)"
    marked = make("exp", (X,), "float32", COARSE)
    assert found.text(marked, ["x"]) == "exp_fast(x)"


def test_the_error_function_plus_one_takes_one_operand() -> None:
    found = FusedArithmetic()
    node = apply("add", apply("erf", X), constant(1.0, "float32"))
    assert found.operands(node) == (X,)
    assert found.text(node, ["x"]) == "erf_plus_one(x)"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.5, "float32", "0.5"),
        (3, "int32", "3"),
        (True, "bool", "gl.to_tensor(True)"),
        (1 << 40, "int64", f"gl.to_tensor({1 << 40}).to(tl.int64)"),
        (1.0, "bfloat16", "gl.to_tensor(16256).to(tl.uint16).to(tl.bfloat16"),
        (1.0, "float16", "gl.to_tensor(15360).to(tl.uint16).to(tl.float16"),
        (
            0.1,
            "float64",
            f"gl.to_tensor({int.from_bytes(struct.pack('<d', 0.1), 'little')})",
        ),
    ],
)
def test_numbers_keep_their_type(value: float, dtype: str, text: str) -> None:
    assert FusedArithmetic().constant(constant(value, dtype)).startswith(text)
