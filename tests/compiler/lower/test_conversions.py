from collections.abc import Callable
from typing import Any

import pytest
import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
OTHERS = (torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)


@pytest.mark.parametrize("dtype", [*FLOATS, *OTHERS])
def test_all_pairs_of_types(
    agree: Callable[..., Any],
    values_of: Callable[..., torch.Tensor],
    dtype: torch.dtype,
) -> None:
    special = dtype in OTHERS
    x = values_of((33,), dtype, 1, special=special)
    x = x.abs() if dtype in FLOATS else x  # negative to unsigned is undefined
    agree(lambda x: tuple(x.to(other) for other in (*FLOATS, *OTHERS)), x, ulps=0)


def test_special_values_between_floats(
    agree: Callable[..., Any], values_of: Callable[..., torch.Tensor]
) -> None:
    for dtype in FLOATS:
        x = values_of((60,), dtype, 3)
        agree(lambda x: tuple(x.to(other) for other in FLOATS), x, ulps=0)


def test_an_explicit_round_trip_rounds(agree: Callable[..., Any]) -> None:
    x = torch.randn(64)
    agree(lambda x: (x.half().float(), x.bfloat16().float() - x), x, ulps=0)
    agree(lambda x: (x + 1).half().float() == x + 1, x, ulps=0)


def test_copies(agree: Callable[..., Any]) -> None:
    def copy_into(x: Any, y: Any) -> Any:
        x.copy_(y)
        return x + 1

    agree(copy_into, torch.zeros(3, 4, dtype=torch.bfloat16), torch.randn(4))
