"""Softmax and its logarithm, whole: one pass for maximum and sum, one rounding."""

import torch

from compiler.ir.expression import Expression
from compiler.ir.scalar import apply, cast, compute_type, type_name

from .builder import Array, Builder, Indices
from .reductions import Reduced
from .registry import lowering

aten = torch.ops.aten


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
