import pytest

from algebra.errors import ParseError
from verify.mlir.cursor import Cursor
from verify.mlir.read_types import read_type, read_types, starts_type
from verify.mlir.types import (
    FunctionType,
    OtherType,
    PointerType,
    ScalarType,
    TensorType,
)

F32 = ScalarType("f32")


def test_types_of_ttir() -> None:
    assert read_type(Cursor("tensor<64x32x!tt.ptr<f32>>")) == TensorType(
        (64, 32), PointerType(F32)
    )
    assert read_type(Cursor("!tt.ptr<f32, 3>")) == PointerType(F32, 3)
    assert read_type(Cursor("tensor<f32>")) == TensorType((), F32)
    assert read_type(Cursor("<f32>")) == PointerType(F32)
    found = read_type(Cursor("!tt.tensordesc<tensor<64x64xf16>>"))
    assert isinstance(found, OtherType)
    assert found.inner == TensorType((64, 64), ScalarType("f16"))
    found = read_type(Cursor("!tt.tensordesc<64x64xf16>"))
    assert isinstance(found, OtherType)
    assert found.inner == TensorType((64, 64), ScalarType("f16"))


def test_types_of_ttgir() -> None:
    found = read_type(Cursor("tensor<8xi32, #ttg.slice<{dim = 0, parent = #blocked}>>"))
    assert isinstance(found, TensorType)
    assert found.encoding.startswith("#ttg.slice<{dim=") or "slice" in found.encoding
    memory = read_type(Cursor("!ttg.memdesc<4x8xf16, #shared, #smem, mutable>"))
    assert isinstance(memory, TensorType)
    assert (memory.shape, memory.encoding) == ((4, 8), "#shared")


def test_a_memdesc_may_lack_its_name() -> None:
    text = "<64x32xf16, #shared, #smem, mutable>"
    found = read_type(Cursor(text))
    assert found == read_type(Cursor(f"!ttg.memdesc{text}"))
    assert isinstance(found, TensorType) and found.shape == (64, 32)


def test_lists_and_functions() -> None:
    assert read_types(Cursor("(i32, f32)")) == (ScalarType("i32"), F32)
    assert read_types(Cursor("(i32) -> f32")) == (
        FunctionType((ScalarType("i32"),), (F32,)),
    )
    assert not starts_type(Cursor("step"))


@pytest.mark.parametrize("text", ["tensor<?xf32>", "tensor<4xf32", "!tt.ptr", "4", ")"])
def test_malformed_types_are_errors(text: str) -> None:
    with pytest.raises(ParseError, match="line 1"):
        read_type(Cursor(text))
