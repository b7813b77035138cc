"""Entire functions that replace sine and cosine of a square root.

``c_k(x) = sum over i of (-x)^i / (k + 2i)!``. So ``c_0(x) = cos(sqrt x)``, ``c_1(x) =
sin(sqrt x) / sqrt x``, and for negative x the hyperbolic ones. They are smooth at zero,
where the square root is not, and their derivatives are of their own kind.

Source: K. Stumpff, Himmelsmechanik I (1959), section 41.
"""

import math
from typing import Any

import torch
from torch import Tensor

_SERIES_BELOW = 4.0
_TERMS = 16


def stumpff(order: int, x: Tensor) -> Tensor:
    """Return ``c_order(x)`` of each element, differentiable any number of times.

    Law: ``c_k(x) + x c_(k+2)(x) == 1/k!``; ``c_k' == (k c_(k+2) - c_(k+1)) / 2``.

    Args:
        order: k, at least 0.
        x: Real, any shape.

    Returns:
        The same shape.

    Example:
        >>> x = torch.tensor([0.0, torch.pi ** 2])
        >>> stumpff(0, x).round(decimals=5).tolist()
        [1.0, -1.0]
    """
    result: Tensor = _Stumpff.apply(order, x)  # type: ignore[no-untyped-call]
    return result


class _Stumpff(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, order: int, x: Tensor) -> Tensor:
        ctx.order = order
        ctx.save_for_backward(x)
        return evaluate(order, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        (x,) = ctx.saved_tensors
        k = ctx.order
        return None, gradient * (k * stumpff(k + 2, x) - stumpff(k + 1, x)) / 2


def evaluate(order: int, x: Tensor) -> Tensor:
    """Return ``c_order(x)``: by its series near zero, else by trigonometry.

    Example:
        >>> evaluate(2, torch.zeros(1)).tolist()
        [0.5]
    """
    series = torch.zeros_like(x)
    near = x.clamp(-_SERIES_BELOW, _SERIES_BELOW)
    for i in reversed(range(_TERMS)):
        series = 1 / math.factorial(order + 2 * i) - near * series
    return torch.where(x.abs() < _SERIES_BELOW, series, _far(order, x))


def _far(order: int, x: Tensor) -> Tensor:
    root = x.abs().sqrt().clamp(min=1)
    if order == 0:
        return torch.where(x > 0, root.cos(), root.cosh())
    if order == 1:
        return torch.where(x > 0, root.sin(), root.sinh()) / root
    safe = torch.where(x.abs() < 1, torch.ones_like(x), x)
    return (1 / math.factorial(order - 2) - _far(order - 2, x)) / safe
