"""Softmax and its logarithm: one pass for maximum and sum, one rounding.

Both are taken apart into maximum, sum and operators of single elements. So the backward
pass of a training graph may compute them again from what they were computed from, of
which the forward pass keeps it, and maximum and sum, which are small. What is lowered
has the two together again, as the operator ``tilewright::softmax_statistics``: also
where a program is written that way.
"""

import operator
from typing import Any

import torch
from torch import fx

from compiler.ir.expression import Expression
from compiler.ir.scalar import apply, cast, compute_type, type_name

from .builder import Array, Builder, Indices
from .reductions import Reduced
from .registry import lowering, rewriting

aten = torch.ops.aten

_LIBRARY = torch.library.Library("tilewright", "FRAGMENT")
_LIBRARY.define(
    "softmax_statistics(Tensor x, int dim, ScalarType dtype) -> (Tensor, Tensor)"
)


def _statistics_of(
    x: torch.Tensor, dim: int, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum m along a dim and the sum of exp(x - m), of extent 1."""
    wide = x.to(dtype)
    if wide.dim() and not wide.shape[dim]:
        total = wide.sum(dim, keepdim=True)
        return torch.full_like(total, float("-inf")), total
    top = wide.amax(dim, keepdim=True)
    return top, (wide - top).exp().sum(dim, keepdim=True)


_LIBRARY.impl("softmax_statistics", _statistics_of, "CompositeExplicitAutograd")
_LIBRARY.impl("softmax_statistics", _statistics_of, "Meta")

_SUM = aten.sum.dim_IntList

statistics = torch.ops.tilewright.softmax_statistics.default


def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    """Return ``aten._softmax`` of simpler operators, row-major as eager mode's."""
    shifted, dtype = _shifted(x, dim, half_to_float)
    value = shifted.exp()
    return (value / value.sum(dim, keepdim=True)).to(dtype)


def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    """Return ``aten._log_softmax`` of simpler operators, row-major as eager mode's."""
    shifted, dtype = _shifted(x, dim, half_to_float)
    return (shifted - shifted.exp().sum(dim, keepdim=True).log()).to(dtype)


def _shifted(
    x: torch.Tensor, dim: int, half_to_float: bool
) -> tuple[torch.Tensor, torch.dtype]:
    """Return x less its maximum along a dim, and the type of the result."""
    x = x.contiguous()
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.to(torch.float32) if half else x
    size = wide.shape[dim] if wide.dim() else 1
    empty = isinstance(size, int) and size == 0
    shifted = wide if empty else wide - wide.amax(dim, keepdim=True)
    return shifted, wide.dtype if half_to_float else x.dtype


@rewriting
def one_pass(module: fx.GraphModule) -> None:
    """Take maximum m and sum of exp(x - m) in one pass, where a graph takes both."""
    for node in list(module.graph.find_nodes(op="call_function", target=_SUM)):
        found = _maximum_of(node)
        if found is None:
            continue
        top, value, x, dim = found
        with module.graph.inserting_before(top):
            both = module.graph.call_function(statistics, (x, dim, x.meta["val"].dtype))
            both.meta |= {**top.meta, "val": (top.meta["val"], node.meta["val"])}
            for place, old in enumerate((top, node)):
                part = module.graph.call_function(operator.getitem, (both, place))
                part.meta |= old.meta
                old.replace_all_uses_with(part)
        for old in (node, value, top):
            if not old.users:
                module.graph.erase_node(old)


def _maximum_of(total: fx.Node) -> tuple[fx.Node, fx.Node, fx.Node, int] | None:
    """Return m, exp(x - m), x and the dim of a sum; None if it is another sum."""
    if len(total.args) != 3 or total.kwargs:
        return None
    value, dims, kept = total.args
    if not (kept and isinstance(dims, (list, tuple)) and len(dims) == 1):
        return None
    shifted = _operand(value, aten.exp.default)
    x = _operand(shifted, aten.sub.Tensor)
    if not isinstance(shifted, fx.Node) or not isinstance(x, fx.Node):
        return None
    top = shifted.args[1]
    same = (
        isinstance(top, fx.Node)
        and top.target is aten.amax.default
        and tuple(top.args) == (x, dims, True)
        and not shifted.kwargs
        and x.meta["val"].dtype in (torch.float32, torch.float64)
    )
    return (top, value, x, int(dims[0])) if same else None  # type: ignore[return-value, arg-type]


def _operand(node: Any, target: Any) -> Any:
    """Return the first argument of a call of an operator, None of anything else."""
    return node.args[0] if isinstance(node, fx.Node) and node.target is target else None


@lowering(statistics)
def _statistics(
    b: Builder, x: Array, dim: int, dtype: torch.dtype
) -> tuple[Array, Array]:
    first, second = b.result
    work = Reduced(b, x, dim)
    name = type_name(dtype)
    top, total = work.run("online_softmax", lambda v: cast(v, name), "softmax")
    return work.finish([top], lambda v: v, first), work.finish(
        [total], lambda v: v, second
    )


def _normalised(b: Builder, x: Array, dim: int, logarithm: bool) -> Array:
    dtype = compute_type(type_name(b.result.dtype))
    work = Reduced(b, x, dim)
    top, total = work.run("online_softmax", lambda v: cast(v, dtype), "softmax")

    def body(i: Indices) -> Expression:
        outer = work.outer(i)
        below = apply("sub", x.at(i, dtype), top.at(outer))
        if logarithm:
            return apply("sub", below, apply("log", total.at(outer)))
        return apply("truediv", apply("exp", below), total.at(outer))

    return b.result_map(body)


@lowering(aten._softmax.default)
def _softmax(b: Builder, x: Array, dim: int, half_to_float: bool) -> Array:
    return _normalised(b, x, dim, logarithm=False)


@lowering(aten._log_softmax.default)
def _log_softmax(b: Builder, x: Array, dim: int, half_to_float: bool) -> Array:
    return _normalised(b, x, dim, logarithm=True)
