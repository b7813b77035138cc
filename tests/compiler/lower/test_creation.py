from collections.abc import Callable
from typing import Any

import torch


def test_constants(agree: Callable[..., Any]) -> None:
    x = torch.randn(2, 3)
    agree(
        lambda x: (
            torch.zeros(2, dtype=torch.int8),
            torch.ones_like(x),
            x.new_full((2,), 7),
            torch.full_like(x, float("nan")),
            torch.scalar_tensor(0.1, dtype=torch.float64),
            torch.full((), True),
            x.new_zeros(0, 3),
            torch.eye(3, 2),
            torch.zeros_like(x, dtype=torch.bool),
            torch.tensor(2.5) * x,
        ),
        x,
        ulps=0,
    )


def test_counting(agree: Callable[..., Any]) -> None:
    x = torch.zeros(5)
    agree(
        lambda x: (
            torch.arange(5),
            torch.arange(2, 9, 3, dtype=torch.int32),
            torch.arange(5, -5, -2),
            torch.arange(0.5, 3, 0.7),
            torch.arange(3, dtype=torch.bfloat16),
            torch.linspace(0, 1, 7),
            torch.arange(0, device=x.device),
        ),
        x,
        ulps=1,
    )


def test_triangles(agree: Callable[..., Any]) -> None:
    x = torch.randn(2, 4, 3)
    agree(lambda x: (x.tril(), x.triu(1), x.tril(-2), x.half().triu(-1)), x, ulps=0)
