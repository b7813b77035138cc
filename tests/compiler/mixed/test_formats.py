import pytest
import torch

from algebra.errors import OutOfRangeError
from compiler.mixed.formats import FORMATS, weight_format


def test_unknown_format() -> None:
    with pytest.raises(OutOfRangeError, match="int3"):
        weight_format("int3")


@pytest.mark.parametrize(
    ("name", "codes", "values"),
    [
        ("int4", [0, 8, 15], [-8, 0, 7]),
        ("int8", [0, 127, 128, 255], [0, 127, -128, -1]),
        ("fp8e4m3", [0x38, 0x7E, 0x81], [1, 448, -(2.0**-9)]),
        ("fp8e5m2", [0x3C, 0x7B, 0x81], [1, 57344, -(2.0**-16)]),
        ("mxfp4", [0, 1, 7, 9, 15], [0, 0.5, 6, -0.5, -6]),
        ("nvfp4", [2, 3, 12], [1, 1.5, -2]),
    ],
)
def test_values(name: str, codes: list[int], values: list[float]) -> None:
    got = FORMATS[name].values(torch.tensor(codes, dtype=torch.uint8))
    assert got.tolist() == values


def test_scales() -> None:
    codes = torch.tensor([0, 126, 127, 128], dtype=torch.uint8)
    assert FORMATS["mxfp4"].scale_values(codes).tolist() == [2.0**-127, 0.5, 1, 2]
    codes = torch.tensor([0x38, 0x40], dtype=torch.uint8)
    assert FORMATS["nvfp4"].scale_values(codes).tolist() == [1, 2]
    assert FORMATS["int4"].scale_values(torch.tensor([0.5])).tolist() == [0.5]
