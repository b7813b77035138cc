"""Which operators are taken apart before lowering, and which are kept whole."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compiler.torch_api import core_decompositions, decompositions_of

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
    aten.roll,
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
    aten.detach,
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
    aten.ldexp,
    aten.upsample_bicubic2d,
    aten.upsample_bilinear2d,
    aten.native_group_norm_backward,
)
"""Are taken apart, though they belong to core ATen."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table for AOTAutograd: operator -> function of simpler ones.

    PyTorch's table into core ATen, less what has lowerings of its own, more what has
    none. Softmax, normalisations, gelu, dropout, pooling stay whole.
    """
    table: dict[Any, Callable[..., Any]] = dict(core_decompositions())
    table.update(decompositions_of(_ADDED))
    for packet in (*_CALLED, *_KEPT):
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    table[aten.roll.default] = _strided_roll
    return table


def _strided_roll(x: torch.Tensor, shifts: Any, dims: Sequence[int] = ()) -> Any:
    """Roll in the order of memory, where PyTorch's fake result has other strides.

    Eager mode keeps the strides of a dense array, the fake result is contiguous.
    """
    strides = x.stride()
    order = sorted(range(x.dim()), key=lambda dim: -strides[dim])
    if x.is_contiguous() or not dims or not x.permute(order).is_contiguous():
        return NotImplemented
    moved = [order.index(dim % x.dim()) for dim in dims]
    rolled = x.permute(order).roll(shifts, moved)
    return rolled.permute([order.index(dim) for dim in range(x.dim())])
