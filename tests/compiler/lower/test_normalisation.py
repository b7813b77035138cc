from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

DTYPES = [torch.float32, torch.float64, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_and_group_norm(
    agree: Callable[..., Any], dtype: torch.dtype, affine: bool
) -> None:
    x = (torch.randn(2, 6, 5) * 3 + 1).to(dtype)
    w = torch.randn(6, 5).to(dtype) if affine else None
    c = torch.randn(6).to(dtype) if affine else None
    agree(lambda x, w: functional.layer_norm(x, (6, 5), w, w), x, w, ulps=16)
    agree(lambda x, c: functional.group_norm(x, 3, c, c), x, c, ulps=16)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients(agree: Callable[..., Any], dtype: torch.dtype) -> None:
    aten = torch.ops.aten
    x, g = torch.randn(2, 4, 6, 6, 3).to(dtype)[..., 0], torch.randn(4, 6).to(dtype)
    mask = [True, True, True]

    def layer(x: Any, g: Any) -> Any:
        _, mean, rstd = aten.native_layer_norm(x, [6], g[0], g[1], 1e-5)
        return aten.native_layer_norm_backward(
            x.cos(), x, [6], mean, rstd, g[0], g[1], mask
        )

    def group(x: Any, g: Any) -> Any:
        _, mean, rstd = aten.native_group_norm(x, g[:, 0], g[:, 1], 2, 4, 36, 2, 1e-5)
        return aten.native_group_norm_backward(
            x.cos(), x, mean, rstd, g[:, 0].contiguous(), 2, 4, 36, 2, mask
        )

    agree(layer, x, g, ulps=64)
    if dtype != torch.bfloat16:  # eager mode's sums of products round otherwise
        agree(group, x.contiguous(), g, ulps=64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_norm(agree: Callable[..., Any], dtype: torch.dtype) -> None:
    x = torch.randn(4, 3, 2, 5).to(dtype)
    w, m = torch.randn(3).to(dtype), torch.randn(3).to(dtype)
    v = torch.rand(3).to(dtype)
    agree(lambda x, w, m, v: functional.batch_norm(x, m, v, w, w), x, w, m, v, ulps=16)
    agree(
        lambda x, w, m, v: torch.ops.aten._native_batch_norm_legit_functional(
            x, w, None, m, v, True, 0.1, 1e-5
        ),
        x.to(memory_format=torch.channels_last),
        w,
        m,
        v,
        ulps=16,
    )
    agree(
        lambda x: torch.ops.aten._native_batch_norm_legit.no_stats(
            x, None, None, True, 0.1, 1e-5
        ),
        x,
        ulps=16,
    )


def test_rms_norm(agree: Callable[..., Any]) -> None:
    x = torch.randn(3, 8)
    agree(lambda x: functional.rms_norm(x, (8,), x[0]), x, ulps=8)
