from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional


@pytest.mark.parametrize("size", [2, 3, (3, 2)])
@pytest.mark.parametrize(("stride", "padding"), [(2, 0), (1, 1), (3, 1)])
@pytest.mark.parametrize("ceil", [False, True])
def test_pooling(
    agree: Callable[..., Any],
    values_of: Callable[..., torch.Tensor],
    size: Any,
    stride: int,
    padding: int,
    ceil: bool,
) -> None:
    x = values_of((2, 2, 7, 8), torch.float32, 1, special=False)
    agree(
        lambda x: (
            *functional.max_pool2d(
                x, size, stride, padding, ceil_mode=ceil, return_indices=True
            ),
            functional.avg_pool2d(x, size, stride, padding, ceil),
            functional.avg_pool2d(x, size, stride, padding, ceil, False),
            functional.avg_pool2d(x, size, stride, padding, ceil, True, 5),
        ),
        x,
        ulps=4,
    )


def test_special_values_and_types(
    agree: Callable[..., Any], values_of: Callable[..., torch.Tensor]
) -> None:
    for dtype in (torch.bfloat16, torch.float64):
        x = values_of((1, 6, 6), dtype, 4)
        agree(lambda x: functional.max_pool2d(x, 2, return_indices=True), x)
    low = torch.full((1, 1, 4, 4), float("-inf"))
    agree(lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), low)
    agree(lambda x: functional.max_pool2d(x, 3, 1, 1, 2), torch.randn(1, 2, 6, 6))


def test_adaptive_means(agree: Callable[..., Any]) -> None:
    x = torch.randn(2, 3, 6, 7)
    agree(lambda x: functional.adaptive_avg_pool2d(x, 1), x, ulps=8)
    agree(lambda x: functional.adaptive_avg_pool2d(x, (3, 2)), x, ulps=8)


def test_gradients(agree: Callable[..., Any]) -> None:
    aten = torch.ops.aten
    x, g = torch.randn(2, 3, 6, 6), torch.randn(2, 3, 3, 3)

    def greatest(g: Any, x: Any) -> Any:
        _, at = functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        return aten.max_pool2d_with_indices_backward(
            g, x, [3, 3], [2, 2], [1, 1], [1, 1], False, at
        )

    agree(greatest, g, x)
    agree(
        lambda g, x: aten.avg_pool2d_backward(
            g, x, [2, 2], [2, 2], [0, 0], False, True, None
        ),
        g,
        x,
    )
