"""Pooling over small windows, unrolled: a window is a handful of guarded loads."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import add, constant_value, floordiv, mul
from compiler.ir.operations import type_class
from compiler.ir.scalar import (
    apply,
    checked_index,
    compute_type,
    constant,
    from_index,
    type_name,
)

from .builder import Array, Builder, Indices
from .joining import within
from .registry import NotLowered, lowering

aten = torch.ops.aten

_LARGEST_WINDOW = 81


def pair(value: int | Sequence[int], default: Sequence[int] = ()) -> tuple[int, int]:
    """Return height and width of one number, of two, or of the default."""
    listed = [value] if isinstance(value, int) else list(value)
    listed = listed or list(default)
    return (listed[0], listed[-1])


class Window:
    """The windows of a two-dimensional pooling.

    Attributes:
        size: Height and width of a window.
    """

    def __init__(
        self,
        x: Array,
        size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
    ) -> None:
        self.x = x
        self.size = pair(size)
        self.stride = pair(stride, self.size)
        self.padding = pair(padding)
        self.dilation = pair(dilation)
        if self.size[0] * self.size[1] > _LARGEST_WINDOW:
            raise NotLowered(f"a window of {self.size[0]} x {self.size[1]}")

    def offsets(self) -> Iterator[tuple[int, int]]:
        """Yield the places in a window, row by row."""
        for row in range(self.size[0]):
            for column in range(self.size[1]):
                yield row, column

    def place(self, i: Indices, offset: tuple[int, int]) -> list[Expression]:
        """Return the row and the column that an offset reads."""
        return [
            add(
                mul(i[dim - 2], self.stride[dim]),
                offset[dim] * self.dilation[dim] - self.padding[dim],
            )
            for dim in range(2)
        ]

    def inside(
        self, i: Indices, offset: tuple[int, int], shape: Sequence[Any]
    ) -> Expression:
        """Return whether that place is in the array."""
        found = constant(True, "bool")
        for dim, place in enumerate(self.place(i, offset)):
            reach = offset[dim] * self.dilation[dim] - self.padding[dim]
            low = 0 if reach < 0 else None
            last = add(mul(add(shape[dim - 2], -1), self.stride[dim]), reach)
            extent = self.x.shape[self.x.rank - 2 + dim]
            room, top = constant_value(extent), constant_value(last)
            fits = room is not None and top is not None and top < room
            high = None if fits else extent
            found = apply("bitwise_and", found, within(place, low, high))
        return found


def _least(dtype: str) -> bool | int | float:
    if type_class(dtype) == "float":
        return -math.inf
    if dtype == "bool":
        raise NotLowered("a pooling of truth values")
    return int(torch.iinfo(getattr(torch, dtype)).min)


def maximum_of(window: Window, shape: Sequence[Any]) -> Callable[[Indices], Expression]:
    """Return what gives the greatest element of a window; NaN is greatest.

    Args:
        window: The windows.
        shape: Of the result.
    """
    x = window.x
    kind = compute_type(x.dtype)
    least = constant(_least(x.dtype), kind)

    def greatest(i: Indices) -> Expression:
        best = least
        for offset in window.offsets():
            value = x.at((*i[:-2], *window.place(i, offset)), kind)
            value = apply("guard", window.inside(i, offset, shape), value, least)
            best = apply("maximum", best, value)
        return best

    return greatest


def place_of_maximum(
    window: Window,
    shape: Sequence[Any],
    label: Callable[[tuple[int, int], Expression, Expression], Expression],
) -> Callable[[Indices], Expression]:
    """Return what gives the label of a window's greatest element.

    It is the first of those that are equal, or the last that is NaN, as in eager mode.

    Args:
        window: The windows.
        shape: Of the result.
        label: Of the place in the window, the row and the column: an int64.
    """
    x = window.x
    kind = compute_type(x.dtype)
    least = constant(_least(x.dtype), kind)

    def walk(i: Indices) -> Expression:
        best, where = least, constant(-1, "int64")
        for offset in window.offsets():
            row, column = window.place(i, offset)
            inside = window.inside(i, offset, shape)
            value = x.at((*i[:-2], row, column), kind)
            value = apply("guard", inside, value, least)
            first = apply("eq", where, constant(-1, "int64"))
            better = apply("bitwise_or", apply("gt", value, best), first)
            if type_class(kind) == "float":
                better = apply("bitwise_or", better, apply("isnan", value))
            better = apply("bitwise_and", better, inside)
            best = apply("where", better, value, best)
            where = apply("where", better, label(offset, row, column), where)
        return where

    return walk


@lowering(aten.max_pool2d_with_indices.default)
def _max_pool(
    b: Builder,
    x: Array,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    values, positions = b.result
    window = Window(x, size, stride, padding, dilation)
    shape = b.shape_of(values)

    def flat(_: Any, row: Expression, column: Expression) -> Expression:
        return from_index(add(mul(row, x.shape[-1]), column), "int64")

    return (
        b.result_map(maximum_of(window, shape), values),
        b.result_map(place_of_maximum(window, shape, flat), positions),
    )


@lowering(aten.max_pool2d_with_indices_backward.default)
def _max_pool_backward(b: Builder, grad: Array, x: Array, *rest: Any) -> Array:
    positions = rest[-1]
    kind = compute_type(grad.dtype)
    area = mul(x.shape[-2], x.shape[-1])
    zeros = b.map(
        (*x.shape[:-2], area),
        kind,
        lambda i: constant(0, kind),
        device=grad.device,
        suffix="zeros",
    )
    total = b.scatter(
        zeros,
        grad.shape,
        lambda i: (*i[:-2], checked_index(positions.at(i), area, False)),
        lambda i: grad.at(i, kind),
        "add",
    )
    width = x.shape[-1]
    return b.result_map(lambda i: total.at((*i[:-2], add(mul(i[-2], width), i[-1]))))


@lowering(aten.avg_pool2d.default)
def _avg_pool(
    b: Builder,
    x: Array,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    dtype = type_name(b.result.dtype)
    if type_class(dtype) != "float":
        raise NotLowered(f"a mean of {dtype}")
    window = Window(x, size, stride, padding)
    shape = b.shape_of(b.result)
    kind = compute_type(dtype)
    zero, one = constant(0, kind), constant(1, kind)
    padded = any(window.padding)

    def counted(i: Indices, offset: tuple[int, int]) -> Expression:
        """Return whether a place counts: with the padding, up to its far end."""
        if not count_include_pad:
            return window.inside(i, offset, shape)
        found = constant(True, "bool")
        for dim, place in enumerate(window.place(i, offset)):
            end = add(x.shape[x.rank - 2 + dim], window.padding[dim])
            found = apply("bitwise_and", found, within(place, None, end))
        return found

    def mean(i: Indices) -> Expression:
        total, count = zero, zero
        for offset in window.offsets():
            row, column = window.place(i, offset)
            value = x.at((*i[:-2], row, column), kind)
            value = apply("guard", window.inside(i, offset, shape), value, zero)
            total = apply("add", total, value)
            if ceil_mode or (padded and not count_include_pad):
                share = apply("where", counted(i, offset), one, zero)
                count = apply("add", count, share)
        if divisor_override is not None:
            count = constant(divisor_override, kind)
        elif count is zero:
            count = constant(window.size[0] * window.size[1], kind)
        return apply("truediv", total, count)

    return b.result_map(mean)


@lowering(aten.avg_pool2d_backward.default)
def _avg_pool_backward(
    b: Builder,
    grad: Array,
    x: Array,
    size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    window = Window(x, size, stride, padding)
    if ceil_mode or (any(window.padding) and not count_include_pad):
        raise NotLowered("a mean over windows of several sizes")
    if window.stride != window.size or any(window.padding):
        raise NotLowered("a mean over windows that overlap")
    kind = compute_type(grad.dtype)
    area = divisor_override or window.size[0] * window.size[1]

    def spread(i: Indices) -> Expression:
        place = [floordiv(i[dim - 2], window.size[dim]) for dim in range(2)]
        inside = apply(
            "bitwise_and",
            within(place[0], None, grad.shape[-2]),
            within(place[1], None, grad.shape[-1]),
        )
        value = grad.at((*i[:-2], *place), kind)
        value = apply("guard", inside, value, constant(0, kind))
        return apply("truediv", value, constant(area, kind))

    return b.result_map(spread)
