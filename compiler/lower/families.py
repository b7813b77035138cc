"""All families of lowerings: importing this module fills the table."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from compiler.ir.expression import INDEX, Expression
from compiler.ir.scalar import apply, constant, from_index

from . import (
    activations,
    conversions,
    creation,
    indexing,
    joining,
    max_pooling,
    normalisation,
    pointwise,
    pooling,
    random,
    reductions,
    scans,
    softmax,
    views,
)
from .registry import lowering

aten = torch.ops.aten

FAMILIES = (
    activations,
    conversions,
    creation,
    indexing,
    joining,
    max_pooling,
    normalisation,
    pointwise,
    pooling,
    random,
    reductions,
    scans,
    softmax,
    views,
)
"""Modules whose import registered their lowerings."""

VIEWS = frozenset(
    {
        aten.alias.default,
        aten.as_strided.default,
        aten.detach.default,
        aten.diagonal.default,
        aten.expand.default,
        aten.permute.default,
        aten.select.int,
        aten.slice.Tensor,
        aten.split.Tensor,
        aten.split_with_sizes.default,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.t.default,
        aten.transpose.int,
        aten.unbind.int,
        aten.unfold.default,
        aten.unsqueeze.default,
        aten.view.default,
        aten.view.dtype,
        aten._unsafe_view.default,
    }
)
"""Operators whose result shares its first argument's storage in eager mode."""

STORAGE = frozenset({aten.as_strided.default, aten.as_strided_scatter.default})
"""Operators that reach storage by strides; the graph's walk lowers them."""


@lowering(*STORAGE)
def _by_strides(*_: Any) -> None:
    raise AssertionError("lowered by the walk over the graph")


_ARITHMETIC: Mapping[Any, str] = {
    operator.truediv: "truediv",
    operator.mul: "mul",
    operator.add: "add",
    operator.sub: "sub",
    operator.pow: "pow",
}


def scalar(target: Any, args: Sequence[Any]) -> Expression | None:
    """Return a number made of sizes, in float64; None where it is not arithmetic."""
    values = [_number(arg) for arg in args]
    if any(value is None for value in values):
        return None
    known = [value for value in values if value is not None]
    name = getattr(target, "__name__", "")
    if target in _ARITHMETIC and len(known) == 2:
        return apply(_ARITHMETIC[target], *known)
    if name == "sym_float" and len(known) == 1:
        return known[0]
    if "sqrt" in name and len(known) == 1:
        return apply("sqrt", known[0])
    return None


def _number(value: Any) -> Expression | None:
    if isinstance(value, Expression):
        return from_index(value, "float64") if value.dtype == INDEX else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return constant(float(value), "float64")
    return None
