from typing import Any

import pytest
import torch

from algebra.errors import DimMismatchError, LayoutError, OutOfRangeError
from compiler import preshuffle
from compiler.errors import NotATensorError

CODES = torch.zeros(32, 128, dtype=torch.uint8)
ONES = torch.ones(32, 1)
NAN8 = torch.full((32, 128), 0x7F, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        ((CODES, ONES), {"format": "int5"}, OutOfRangeError, "int5"),
        ((CODES, ONES), {"dtype": torch.float32}, OutOfRangeError, "float32"),
        ((CODES.float(), ONES), {}, NotATensorError, "quantise it"),
        (([1], ONES), {}, NotATensorError, "list"),
        ((CODES[0], ONES), {}, DimMismatchError, "axes n"),
        ((CODES + 16, ONES), {}, OutOfRangeError, "16"),
        ((CODES, ONES[0]), {}, NotATensorError, "scales"),
        ((CODES, ONES[:16]), {}, DimMismatchError, r"\(32, 1\)"),
        ((CODES, ONES), {"group": 64}, DimMismatchError, r"\(32, 2\)"),
        ((CODES, ONES * torch.inf), {}, OutOfRangeError, "32 others"),
        ((CODES, ONES, ONES * 16), {}, OutOfRangeError, "16 to 16"),
        ((CODES, ONES, ONES[:1]), {}, DimMismatchError, "zeros"),
        ((CODES, ONES, ONES), {"format": "int8"}, LayoutError, "zero points"),
        ((CODES[:, :100], ONES), {}, DimMismatchError, "k=100"),
        ((NAN8, ONES), {"format": "fp8e4m3"}, OutOfRangeError, "finite"),
        ((CODES, ONES), {"format": "mxfp4", "group": 128}, DimMismatchError, "32"),
        ((CODES, torch.ones(32, 4)), {"format": "mxfp4"}, NotATensorError, "codes"),
        (
            (CODES, torch.full((32, 4), 255, dtype=torch.uint8)),
            {"format": "mxfp4"},
            OutOfRangeError,
            "128 others",
        ),
        ((CODES, ONES), {"format": "int8", "halves": True}, OutOfRangeError, "int8"),
    ],
    ids=lambda value: None,
)
def test_bad_input(
    arguments: Any, options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        preshuffle(*arguments, **{"format": "int4"} | options)


def test_halves() -> None:
    codes = torch.randint(0, 16, (32, 128), dtype=torch.uint8)
    two = codes[:, ::2] | codes[:, 1::2] << 4
    one = preshuffle(codes, ONES, format="int4")
    assert torch.equal(
        preshuffle(two, ONES, format="int4", halves=True).weight, one.weight
    )
    scales = torch.full((32, 4), 127, dtype=torch.uint8)
    floats = preshuffle(two.view(torch.float4_e2m1fn_x2), scales, format="mxfp4")
    assert torch.equal(floats.unpack()[0], codes)


def test_group_comes_from_the_scales() -> None:
    assert preshuffle(CODES, torch.ones(32, 2), format="int8").problem.group == 64
