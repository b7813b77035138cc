from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

SQUARE = {"x": ("M", "N")}
FUNCTIONS: dict[str, tuple[dict[str, tuple[Any, ...]], Callable[..., Any]]] = {
    "layer_norm": (
        {"x": ("M", "N"), "w": ("N",), "b": ("N",)},
        lambda x, w, b: functional.layer_norm(x, (x.shape[1],), w, b, 1e-5),
    ),
    "rms_norm": (SQUARE, lambda x: functional.rms_norm(x, (x.shape[1],), None, 1e-6)),
    "softmax": (SQUARE, lambda x: functional.softmax(x, 1)),
    "log_softmax": (SQUARE, lambda x: functional.log_softmax(x, -1)),
    "gelu": (SQUARE, lambda x: functional.gelu(x)),
    "silu": (SQUARE, lambda x: functional.silu(x)),
    "leaky": (SQUARE, lambda x: functional.leaky_relu(x, 0.1)),
    "clamp": (SQUARE, lambda x: x.clamp(-0.5, 0.5).abs()),
    "var": (SQUARE, lambda x: x.var(0) + x.var(0, correction=0)),
    "mean": (SQUARE, lambda x: x.sum(0) * x.mean(0)),
    "extremes": (SQUARE, lambda x: x.amax(1) - x.max(1)[0] + x.amin(1)),
    "powers": (SQUARE, lambda x: x**2 + x**3 + (x * x + 1) ** 0.5 + (x * x + 1) ** -1),
    "product": (
        {"x": ("M", "N"), "y": ("N", "K"), "b": ("K",)},
        lambda x, y, b: torch.addmm(b, x, y) + x @ y,
    ),
    "masked": (SQUARE, lambda x: x.tril() + torch.where(x > 0, x, 0.5)),
    "alpha": (SQUARE, lambda x: torch.add(x, x, alpha=3) - torch.sub(x, x, alpha=2)),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_element_is_what_pytorch_computes(
    name: str, compared: Callable[..., None]
) -> None:
    shapes, function = FUNCTIONS[name]
    compared(shapes, function)


def test_operations_have_no_overloads_in_their_names() -> None:
    from verify.checking.aten_operations import OPERATIONS

    assert {"add", "sum", "view", "mm"} <= set(OPERATIONS)
    assert not any("." in name for name in OPERATIONS)
