"""Max pooling in training: one byte an element is kept, and nothing is scattered.

Where the gradient goes, a place in the window says as well as a position in the image
does, in int8 instead of int64; and the gradient of a pixel is then a sum over the few
windows that it lies in. The graph of both halves is rewritten before it is cut in two,
so that neither positions nor the image are kept for the backward half.
"""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from compiler.ir.expression import Expression
from compiler.ir.index import add, floordiv, mul
from compiler.ir.scalar import apply, cast, compute_type, constant, from_index

from .builder import Array, Builder, Indices
from .joining import within
from .pooling import Window, maximum_of, pair, place_of_maximum
from .registry import lowering, rewriting_both

aten = torch.ops.aten

_LIBRARY = torch.library.Library("tilewright", "FRAGMENT")
_LIBRARY.define(
    "max_pool2d_offsets(Tensor x, int[] kernel, int[] stride, int[] padding, "
    "bool ceil_mode) -> (Tensor, Tensor)"
)
_LIBRARY.define(
    "max_pool2d_gradient(Tensor gradient, Tensor offsets, int[] size, int[] kernel, "
    "int[] stride, int[] padding, bool channels_last) -> Tensor"
)

offsets_op = torch.ops.tilewright.max_pool2d_offsets.default
gradient_op = torch.ops.tilewright.max_pool2d_gradient.default

_MOST = 81  # places in a window that are walked; they fit one byte


def _origins(
    shape: Sequence[int], stride: Sequence[int], padding: Sequence[int], like: Any
) -> list[torch.Tensor]:
    """Return row [h, 1] and column [w] at which each window begins."""
    rows, columns = (
        torch.arange(extent, device=like.device) * step - pad
        for extent, step, pad in zip(shape, stride, padding, strict=True)
    )
    return [rows[:, None], columns]


def _pooled(
    x: torch.Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return greatest elements and their places in the windows, row by row, int8."""
    value, position = aten.max_pool2d_with_indices.default(
        x, kernel, stride, padding, 1, ceil_mode
    )
    row, column = _origins(position.shape[-2:], stride, padding, x)
    width = x.shape[-1]
    place = (position // width - row) * kernel[1] + position % width - column
    return value, torch.empty_like(position, dtype=torch.int8).copy_(place)


def _pooled_gradient(
    gradient: torch.Tensor,
    offsets: torch.Tensor,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    channels_last: bool,
) -> torch.Tensor:
    """Return the gradient of what was pooled."""
    place = offsets.to(torch.int64)
    row, column = _origins(offsets.shape[-2:], stride, padding, gradient)
    position = (row + place // kernel[1]) * size[1] + column + place % kernel[1]
    form = torch.channels_last if channels_last else torch.contiguous_format
    x = gradient.new_empty((*gradient.shape[:-2], *size))
    x = x.contiguous(memory_format=form)
    position = position.contiguous(memory_format=form)
    gradient = gradient.contiguous(memory_format=form)
    found: torch.Tensor = aten.max_pool2d_with_indices_backward.default(
        gradient,
        x,
        kernel,
        stride,
        padding,
        1,
        _ceiled(offsets, size, kernel, stride, padding),
        position,
    )
    return found


def _ceiled(
    offsets: torch.Tensor,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> bool:
    """Return whether there are more windows than fit."""
    return any(
        count > (extent + 2 * pad - reach) // step + 1
        for count, extent, reach, step, pad in zip(
            offsets.shape[-2:], size, kernel, stride, padding, strict=True
        )
    )


for _name, _function in (
    ("max_pool2d_offsets", _pooled),
    ("max_pool2d_gradient", _pooled_gradient),
):
    _LIBRARY.impl(_name, _function, "CompositeExplicitAutograd")


@rewriting_both
def with_offsets(module: fx.GraphModule) -> None:
    """Keep places in windows where a graph pools and has the gradient of it."""
    graph: Any = module.graph
    target = aten.max_pool2d_with_indices.default
    for pool in list(graph.find_nodes(op="call_function", target=target)):
        x: Any = pool.args[0]
        parts = {user.args[1]: user for user in pool.users}
        positions = parts.get(1)
        geometry = _geometry(pool, x.meta.get("val"))
        if geometry is None or positions is None or len(pool.users) > len(parts):
            continue
        kernel, stride, padding, ceil_mode = geometry
        back = list(positions.users)
        if not all(_is_gradient_of(user, pool, positions) for user in back):
            continue
        with graph.inserting_before(pool):
            made = graph.call_function(
                offsets_op, (x, kernel, stride, padding, ceil_mode)
            )
        value, position = pool.meta["val"]
        offset = torch.empty_like(position, dtype=torch.int8)
        made.meta = {**pool.meta, "val": (value, offset)}
        for number, old in parts.items():
            with graph.inserting_before(old):
                part = graph.call_function(operator.getitem, (made, number))
            part.meta = {**old.meta, "val": made.meta["val"][number]}
            if number == 1:
                for user in back:
                    _turn(graph, user, part, x.meta["val"], geometry)
            else:
                old.replace_all_uses_with(part)
            graph.erase_node(old)
        graph.erase_node(pool)
    module.recompile()


def _turn(graph: Any, user: Any, offsets: fx.Node, x: Any, geometry: Any) -> None:
    kernel, stride, padding, _ = geometry
    value = user.meta["val"]
    last = x.dim() == 4 and value.is_contiguous(memory_format=torch.channels_last)
    last = last and not value.is_contiguous()
    size = list(x.shape[-2:])
    with graph.inserting_before(user):
        made = graph.call_function(
            gradient_op, (user.args[0], offsets, size, kernel, stride, padding, last)
        )
    made.meta = dict(user.meta)
    user.replace_all_uses_with(made)
    graph.erase_node(user)


def _geometry(
    pool: fx.Node, x: Any
) -> tuple[list[int], list[int], list[int], bool] | None:
    """Return kernel, stride, padding and rounding; None where places do not serve."""
    given: list[Any] = list(pool.args[1:])
    given += [None, [], 0, 1, False][len(given) :]
    size, stride, padding, dilation, ceil_mode = given
    kernel = list(pair(size))
    if (
        pool.kwargs
        or not isinstance(x, torch.Tensor)
        or not x.is_floating_point()
        or x.layout != torch.strided
        or any(type(extent) is not int for extent in x.shape[-2:])
        or pair(dilation) != (1, 1)
        or kernel[0] * kernel[1] > _MOST
    ):
        return None
    return kernel, list(pair(stride, kernel)), list(pair(padding)), bool(ceil_mode)


def _is_gradient_of(user: fx.Node, pool: fx.Node, positions: fx.Node) -> bool:
    return (
        user.target is aten.max_pool2d_with_indices_backward.default
        and not user.kwargs
        and user.args[1] is pool.args[0]
        and user.args[-1] is positions
        and user.args[0] is not positions
    )


@lowering(offsets_op)
def _offsets(
    b: Builder, x: Array, size: Any, stride: Any, padding: Any, ceil_mode: bool
) -> tuple[Array, Array]:
    values, places = b.result
    window = Window(x, size, stride, padding)
    shape = b.shape_of(values)

    def number(place: tuple[int, int], *_: Any) -> Expression:
        return constant(place[0] * window.size[1] + place[1], "int64")

    walk = place_of_maximum(window, shape, number)
    return (
        b.result_map(maximum_of(window, shape), values),
        b.result_map(lambda i: cast(walk(i), "int8"), places),
    )


@lowering(gradient_op)
def _gradient(
    b: Builder,
    gradient: Array,
    offsets: Array,
    size: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    channels_last: bool,
) -> Array:
    """Sum over the windows that a pixel lies in, first to last."""
    kind = compute_type(gradient.dtype)
    zero = constant(0, kind)
    reach = [-(-kernel[dim] // stride[dim]) for dim in range(2)]

    def total(i: Indices) -> Expression:
        found = zero
        moved = [add(i[dim - 2], padding[dim]) for dim in range(2)]
        for back in _countdown(reach):
            window = [
                add(floordiv(moved[dim], stride[dim]), -back[dim]) for dim in range(2)
            ]
            place = [
                add(moved[dim], mul(window[dim], -stride[dim])) for dim in range(2)
            ]
            inside = constant(True, "bool")
            for dim in range(2):
                extent = offsets.shape[offsets.rank - 2 + dim]
                inside = apply("bitwise_and", inside, within(window[dim], 0, extent))
                inside = apply(
                    "bitwise_and", inside, within(place[dim], None, kernel[dim])
                )
            at = (*i[:-2], *window)
            number = from_index(add(mul(place[0], kernel[1]), place[1]), "int64")
            kept = apply(
                "guard", inside, offsets.at(at, "int64"), constant(-1, "int64")
            )
            value = apply("guard", inside, gradient.at(at, kind), zero)
            hit = apply("bitwise_and", inside, apply("eq", kept, number))
            found = apply("add", found, apply("where", hit, value, zero))
        return found

    return b.result_map(total)


def _countdown(reach: Sequence[int]) -> list[tuple[int, int]]:
    return [
        (row, column)
        for row in reversed(range(reach[0]))
        for column in reversed(range(reach[1]))
    ]
