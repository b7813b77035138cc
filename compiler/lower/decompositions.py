"""Which operators are taken apart before lowering, and which are kept whole."""

from collections.abc import Callable
from typing import Any

import torch

from compiler.torch_api import (
    core_decompositions,
    decompositions_of,
    suggested_format,
)

from .eager_strides import iterated
from .foreach import foreach_decompositions
from .softmax import log_softmax, softmax

aten = torch.ops.aten

_CALLED = (
    # its decomposition gives a logsumexp that the backward pass cannot use
    aten._scaled_dot_product_flash_attention_for_cpu,
    aten.baddbmm,
)
"""Are calls into libraries, though PyTorch's table would take them apart."""

_KEPT = (
    # sums of these are shared in one kernel, or round once where eager mode does
    aten.addcmul,
    aten.addcdiv,
    aten.diagonal,
    aten.expand_copy,
    aten.eye,
    aten.floor_divide,
    aten.index_add,
    aten.linspace,
    aten.rsub,
    aten.square,
    aten.sgn,
    aten.all,
    aten.std,
    aten.split,
    aten.split_with_sizes,
    aten.t,
    aten.transpose,
    aten.triu,
    aten.tril,
    aten.unbind,
    aten.unfold,
    aten.view_copy,
    aten.zeros,
    aten.zeros_like,
    aten.ones,
    aten.ones_like,
    aten.new_full,
    aten.new_zeros,
    aten.new_ones,
    aten.new_empty,
    aten.empty_like,
    aten.fill,
    aten.zero,
    aten.stack,
    aten.bernoulli,
    aten.rand_like,
    aten.randn_like,
    aten.uniform,
    aten.exponential,
    aten.select_scatter,
    aten.masked_fill,
    aten.embedding_dense_backward,
    aten.avg_pool2d_backward,
    aten.silu,
    aten.silu_backward,
    aten.gelu_backward,
    aten.hardswish,
    aten.hardsigmoid,
    aten.threshold_backward,
    aten.tanh_backward,
    aten.sigmoid_backward,
    aten.full_like,
)
"""Have lowerings of their own, though PyTorch's table would take them apart."""

_ADDED = (
    aten._adaptive_avg_pool2d,
    aten.dropout,
    aten.grid_sampler_2d,
    aten.upsample_bicubic2d,
    aten.upsample_nearest2d,
    aten.upsample_bilinear2d,
    aten.native_group_norm_backward,
)
"""Are taken apart, though they belong to core ATen."""


def _rolled(x: torch.Tensor, shifts: Any, dims: Any = ()) -> torch.Tensor:
    """Return a roll made as eager mode makes it, so that strides are the same."""
    if x.numel() == 0:
        return x.clone()
    if not dims:
        flat = _rolled(x.contiguous().view(x.numel()), shifts, (0,))
        return flat.view(x.shape)
    if x.device.type != "cpu":
        x = x.contiguous()
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        start = (size - shift) % size
        first, last = x.narrow(dim, start, size - start), x.narrow(dim, 0, start)
        x = torch.cat((first, last), dim)
    return x


def _log_sigmoid(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log(sigmoid(x)) and what its derivative needs, with eager's strides.

    On a CPU both are row-major whatever x is; elsewhere the second is empty.
    """
    on_cpu = x.device.type == "cpu"
    wide = x.contiguous() if on_cpu else x
    if x.dtype in (torch.float16, torch.bfloat16):
        wide = wide.float()
    shrunk = torch.exp(-torch.abs(wide))
    value = torch.clamp_max(wide, 0) - torch.log1p(shrunk)
    buffer = shrunk.to(x.dtype) if on_cpu else x.new_zeros((0,))
    return value.to(x.dtype), buffer


def _index_filled(x: torch.Tensor, dim: int, at: torch.Tensor, value: Any) -> Any:
    """Return a choice by a mask of positions, dense in x's order as eager mode's."""
    if x.dim() == 0 or at.dim() != 1:
        return NotImplemented
    truth = torch.zeros(x.shape[dim], dtype=torch.bool, device=x.device)
    hit = truth.index_put((at,), torch.ones((), dtype=torch.bool, device=x.device))
    after = x.dim() - 1 - dim % x.dim()
    number = torch.full((), value, dtype=x.dtype, device=x.device)
    return torch.where(hit.view(-1, *[1] * after), number, x)


def _nll_loss_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignored: int,
    total: torch.Tensor,
) -> torch.Tensor:
    """Return the gradient as a choice by the class; no array is cleared and written.

    A class out of range has no place: the forward pass has raised.
    """
    dim = 0 if x.dim() < 2 else 1
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    if reduction == 1:
        grad = grad / total
    if x.dim() > grad.dim() > 0:
        grad = grad.unsqueeze(dim)
    if weight is not None:
        grad = grad * weight.view(shape)
    target = target.unsqueeze(dim)
    classes = torch.arange(x.shape[dim], device=x.device).view(shape)
    hit = (classes == target) & (target != ignored)
    return torch.where(hit, -grad, 0)


def _smooth_l1_loss_backward(
    grad: torch.Tensor, x: torch.Tensor, target: torch.Tensor, reduction: int, beta: Any
) -> torch.Tensor:
    """Return the gradient with respect to x; NaN stays NaN, as in eager mode."""
    dtype = x.dtype
    if dtype in (torch.float16, torch.bfloat16):
        grad, x, target = grad.float(), x.float(), target.float()
    if reduction == 1:
        grad = grad * (1.0 / x.numel())
    off = x - target
    slope = torch.where(off.abs() >= beta, grad * off.sign(), grad * off / beta)
    return slope.to(dtype)


def _shuffled(x: torch.Tensor, groups: int) -> torch.Tensor:
    """Return a shuffle of channels in memory of its own, also of one group.

    On a CPU channels that come last stay last.
    """
    shuffle = core_decompositions()[aten.channel_shuffle.default]
    found: torch.Tensor = shuffle(x, groups)
    on_cpu = x.device.type == "cpu"
    form = suggested_format(x) if on_cpu else torch.contiguous_format
    return found.clone(memory_format=form)


_ITERATED = (
    aten.heaviside.default,
    aten.lerp.Scalar,
    aten.lerp.Tensor,
    aten.logaddexp.default,
    aten.logaddexp2.default,
    aten.xlogy.Tensor,
)
"""Are taken apart, and their parts may nest the dims of a broadcast in another way."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table for AOTAutograd: operator -> function of simpler ones.

    PyTorch's table into core ATen, less what has lowerings of its own, more what has
    none. Normalisations, gelu, dropout, pooling stay whole.
    """
    table: dict[Any, Callable[..., Any]] = dict(core_decompositions())
    table.update(decompositions_of(_ADDED))
    table.update(foreach_decompositions())
    table[aten.roll.default] = _rolled
    table[aten.log_sigmoid_forward.default] = _log_sigmoid
    table[aten.index_fill.int_Scalar] = _index_filled
    table[aten.channel_shuffle.default] = _shuffled
    table[aten.native_channel_shuffle.default] = _shuffled
    for overload in _ITERATED:
        table[overload] = iterated(table[overload])
    for packet in (*_CALLED, *_KEPT):
        for name in packet.overloads():
            table.pop(getattr(packet, name), None)
    table[aten.detach.default] = aten.alias.default
    table[aten._softmax.default] = softmax
    table[aten._log_softmax.default] = log_softmax
    table[aten.smooth_l1_loss_backward.default] = _smooth_l1_loss_backward
    table[aten.nll_loss_backward.default] = _nll_loss_backward
    table[aten.nll_loss2d_backward.default] = _nll_loss_backward
    return table
