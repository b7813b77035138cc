"""Which operators are taken apart before lowering.

PyTorch's own table into core ATen, and more where no lowering exists for what it leaves
whole; an operator with a lowering of its own is never taken apart, since lowering knows
how often eager mode rounds.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from compiler.torch_api import core_decompositions, decompositions_of

aten = torch.ops.aten

_MORE = (
    aten.addcdiv,
    aten.addcmul,
    aten.binary_cross_entropy,
    aten.binary_cross_entropy_backward,
    aten.celu,
    aten.cudnn_batch_norm_backward,
    aten.elu,
    aten.elu_backward,
    aten.frac,
    aten.hardsigmoid,
    aten.hardsigmoid_backward,
    aten.hardswish,
    aten.hardswish_backward,
    aten.hardtanh,
    aten.hardtanh_backward,
    aten.huber_loss,
    aten.huber_loss_backward,
    aten.l1_loss,
    aten.leaky_relu,
    aten.leaky_relu_backward,
    aten.lerp,
    aten.linalg_vector_norm,
    aten.logaddexp,
    aten.masked_fill,
    aten.mse_loss,
    aten.mse_loss_backward,
    aten.native_batch_norm_backward,
    aten.native_dropout_backward,
    aten.nll_loss_backward,
    aten.nll_loss_forward,
    aten.nll_loss2d_backward,
    aten.nll_loss2d_forward,
    aten.relu6,
    aten.selu,
    aten.sigmoid_backward,
    aten.silu,
    aten.silu_backward,
    aten.smooth_l1_loss,
    aten.smooth_l1_loss_backward,
    aten.soft_margin_loss,
    aten.softplus,
    aten.softplus_backward,
    aten.stack,
    aten.std,
    aten.tanh_backward,
    aten.threshold,
    aten.threshold_backward,
)


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return operator -> function for AOTAutograd."""
    table: dict[Any, Callable[..., Any]] = {
        **decompositions_of(_MORE),
        **core_decompositions(),
    }
    for target in _lowered():
        table.pop(target, None)
    return table


def _lowered() -> list[Any]:
    """Return the operators that have a lowering."""
    try:
        from compiler.lower.registry import lowered
    except ImportError:
        return []
    return list(lowered())
