import pytest

from verify.mlir.types import (
    FunctionType,
    OtherType,
    PointerType,
    ScalarType,
    TensorType,
    element_of,
    shape_of,
)


@pytest.mark.parametrize(
    ("name", "bits", "integer"),
    [
        ("i1", 1, True),
        ("i64", 64, True),
        ("index", 64, True),
        ("bf16", 16, False),
        ("f8E4M3FN", 8, False),
        ("none", 0, False),
    ],
)
def test_scalars(name: str, bits: int, integer: bool) -> None:
    kind = ScalarType(name)
    assert (kind.bits, kind.is_integer, str(kind)) == (bits, integer, name)


def test_tensors_and_pointers() -> None:
    kind = TensorType((2, 4), PointerType(ScalarType("f32")))
    assert str(kind) == "tensor<2x4x!tt.ptr<f32>>"
    assert shape_of(kind) == (2, 4) and shape_of(ScalarType("i1")) == ()
    assert element_of(kind) == PointerType(ScalarType("f32"))
    assert str(OtherType("!a.b", "!a.b<c>")) == "!a.b<c>"
    assert FunctionType((), ()).inputs == ()
