"""Type promotion of operands, as eager mode does it.

The result's type of an operator is never computed here: it is in the graph's
metadata. What is computed is the common type that operands are cast to, which for a
comparison is not the result's.

Source: ATen/native/TypeProperties.cpp (rules of dims, 0-dim tensors, numbers).
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import Index, add
from compiler.ir.operations import type_class
from compiler.ir.scalar import (
    FLOAT_TYPES,
    HALF_TYPES,
    cast,
    compute_type,
    constant,
    from_index,
    torch_type,
    type_name,
)

from .builder import Array, Indices
from .registry import NotLowered

Operand: TypeAlias = Array | Expression | bool | int | float
"""A tensor, a symbolic size, a number in float64 made of sizes, or a number."""


def number_type(value: Any) -> torch.dtype:
    """Return the type that a number stands for."""
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, int) or (isinstance(value, Expression) and is_size(value)):
        return torch.int64
    if isinstance(value, (float, Expression)):
        return torch.get_default_dtype()
    raise NotLowered(f"an operand of type {type(value).__name__}")


def is_size(value: Expression) -> bool:
    """Return whether a scalar is a size; else it is a number made of sizes."""
    return value.dtype == "index"


def common_type(*operands: Operand) -> str:
    """Return the type that operands are promoted to.

    Example:
        >>> from compiler.ir.index import index
        >>> half = Array("x", "float16", (index(3),), "cpu")
        >>> common_type(half, 2.5), common_type(Array("y", "uint8", (), "cpu"), True, 3)
        ('float16', 'uint8')
    """
    ranks: list[torch.dtype | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, Array):
            place, dtype = (0 if operand.rank else 1), torch_type(operand.dtype)
        else:
            place, dtype = 2, number_type(operand)
        known = ranks[place]
        ranks[place] = dtype if known is None else torch.promote_types(known, dtype)
    found = _combined(ranks[0], _combined(ranks[1], ranks[2]))
    if found is None:
        raise NotLowered("no operand has a type")
    try:
        return type_name(found)
    except ValueError as error:
        raise NotLowered(str(error)) from error


def _combined(high: torch.dtype | None, low: torch.dtype | None) -> torch.dtype | None:
    if high is None or low is None:
        return low if high is None else high
    if high.is_complex or (high.is_floating_point and not low.is_complex):
        return high
    if high == torch.bool or low.is_floating_point or low.is_complex:
        return torch.promote_types(high, low)
    return high


def float_type(*operands: Operand) -> str:
    """Return the common type, the default floating type where that is an integer."""
    found = common_type(*operands)
    if found in FLOAT_TYPES:
        return found
    return type_name(torch.get_default_dtype())


def aligned(
    indices: Sequence[Expression], array: Array, rank: int | None = None
) -> Indices:
    """Return a point of an array that broadcasts against a shape.

    Args:
        indices: Point of the result.
        array: Has at most as many dims; where its extent is 1 it is repeated.
        rank: Number of the result's dims that broadcast, all by default.
    """
    used = indices[len(indices) - array.rank :]
    return tuple(
        add(0) if extent is ONE else place
        for extent, place in zip(array.shape, used, strict=True)
    )


ONE = add(1)
"""The index 1."""


def value_at(
    operand: Operand, indices: Sequence[Expression], dtype: str, *, exact: bool = False
) -> Expression:
    """Return an operand at a point of the result, in the type to compute in.

    It is first cast to the common type, so it rounds there, then up.

    Args:
        operand: Tensor or number.
        indices: Point of the result.
        dtype: Common type.
        exact: Do not round a number, or a scalar in CPU memory, to a half type.
    """
    if isinstance(operand, Array):
        place = aligned(indices, operand)
        scalar = exact and operand.rank == 0 and operand.device == "cpu"
        # a CPU scalar keeps its precision beside a half tensor
        value = operand.at(place, compute_type(dtype) if scalar else dtype)
    elif isinstance(operand, Expression) and is_size(operand):
        value = cast(from_index(operand, "int64"), dtype)
    else:
        kind = compute_type(dtype) if exact and dtype in HALF_TYPES else dtype
        floating = type_class(dtype) == "float"
        if isinstance(operand, Expression):
            if not floating:
                raise NotLowered(f"a number made of sizes as {dtype}")
            return cast(cast(operand, kind), compute_type(dtype))
        if isinstance(operand, float) and not floating and not operand.is_integer():
            raise NotLowered(f"the number {operand} as {dtype}")
        value = constant(operand, kind)
    return cast(value, compute_type(dtype))


def copied_at(
    operand: Operand, indices: Sequence[Expression], dtype: str
) -> Expression:
    """Return an operand at a point of the result in the common type, not cast up."""
    if isinstance(operand, Array):
        return operand.at(aligned(indices, operand), dtype)
    value = value_at(operand, indices, dtype)
    return cast(value, dtype)


def index_of(value: Operand) -> Index:
    """Return a size argument as an index."""
    if isinstance(value, (int, Expression)):
        return value
    raise NotLowered(f"needed a size, got {value!r}")
