import pytest
import torch

from algebra.errors import ArgumentError
from verify.checking.arguments import Buffer, Scalar, dtype_name


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("*fp32", "fp32"),
        ("float32", "fp32"),
        (torch.bfloat16, "bf16"),
        (torch.int64, "i64"),
        ("uint8", "u8"),
        ("bool", "i1"),
        (torch.float8_e4m3fn, "fp8e4nv"),
    ],
)
def test_types_have_one_spelling(dtype: object, name: str) -> None:
    assert dtype_name(dtype) == name


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="complex64"):
        dtype_name("complex64")


def test_ranges() -> None:
    assert Scalar("i8").range() == (-128, 127)
    assert Scalar("u8", low=3).range() == (3, 255)
    assert Scalar("i1").range() == (0, 1)
    assert Scalar("fp32").range() is None
    with pytest.raises(ArgumentError, match="low <= high"):
        Scalar("i32", 5, 4).range()


def test_one_extent_may_stand_alone() -> None:
    assert Buffer("fp32", "n").extents == ("n",) and Buffer("fp32", 3).extents == (3,)
    assert Buffer("fp32", ("M", "N")).extents == ("M", "N")
