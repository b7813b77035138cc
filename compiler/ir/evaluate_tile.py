"""Tile graphs, evaluated in torch on whole tiles: what they mean.

The oracle of layouts and of the printers: it knows no threads. Arithmetic is that of
the one operation table.
"""

from collections.abc import Callable, Mapping

import torch

from .expression import Expression, leaves, substitute
from .index import digit
from .node import Buffer
from .points import EvaluationError, Points, size
from .reducers import reduce, scan
from .scalar import checked_index, local, torch_type
from .tile import (
    Operator,
    Tile,
    TileDot,
    TileGather,
    TileGraph,
    TileJoin,
    TileLoad,
    TileLoop,
    TileMap,
    TileReduce,
    TileScan,
    TileSplit,
    TileStore,
    TileUpcast,
    TileView,
)

Tensors = dict[str, torch.Tensor]
Values = dict[Tile, torch.Tensor]
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Magnitudes of e2m1, by their three low bits."""


def run_tiles(graph: TileGraph, buffers: Tensors, symbols: Mapping[str, int]) -> Values:
    """Run one program; its stores change ``buffers``.

    Args:
        graph: What it computes.
        buffers: Name -> one-dimensional tensor, the array's memory.
        symbols: Sizes, and ``program0`` and the like.

    Returns:
        All tiles, those of loops as the last round left them.

    Raises:
        EvaluationError: an access leaves its memory.
    """
    values: Values = {}
    _run(graph, graph.operators, buffers, dict(symbols), values)
    return values


def _run(
    graph: TileGraph,
    operators: tuple[Operator, ...],
    buffers: Tensors,
    symbols: dict[str, int],
    values: Values,
) -> None:
    for operator in operators:
        if isinstance(operator, TileLoop):
            for one in operator.carried:
                values[one.argument] = values[one.operands[0]]
            for number in range(size(operator.rounds, symbols)):
                inside = symbols | {str(operator.counter.data): number}
                _run(graph, operator.body, buffers, inside, values)
                handed = [values[one.operands[1]] for one in operator.carried]
                for one, value in zip(operator.carried, handed, strict=True):
                    values[one.argument] = value
            for one in operator.carried:
                values[one.result] = values[one.argument]
        else:
            _operator(graph, operator, buffers, symbols, values)


def _operator(
    graph: TileGraph,
    operator: Operator,
    buffers: Tensors,
    symbols: Mapping[str, int],
    values: Values,
) -> None:
    def at(tile: Tile) -> Callable[[Expression], torch.Tensor]:
        shape = tile.shape
        grid = torch.meshgrid(*map(torch.arange, shape), indexing="ij")
        given = {one.name: values[one] for one in operator.operands}
        coordinates = {f"d{axis}": place for axis, place in enumerate(grid)}
        return lambda value: everywhere(value, coordinates, given, symbols, shape)

    match operator:
        case TileLoad(result=result):
            values[result] = loaded(graph, operator, buffers, at(result))
        case TileStore(operands=(value, *_)):
            stored(graph, operator, buffers, at(value), values[value])
        case TileMap(result=result, value=expression):
            values[result] = at(result)(expression)
        case TileView(result=result, operands=(operand,)):
            values[result] = _view(operator, values[operand])
        case TileJoin(result=result, operands=(low, high)):
            values[result] = torch.stack([values[low], values[high]], -1)
        case TileSplit(halves=halves, operands=(operand,)):
            values[halves[0]], values[halves[1]] = values[operand].unbind(-1)
        case TileReduce(result=result, operands=(operand,), axis=axis, reducer=name):
            (values[result],) = reduce(name, values[operand].movedim(axis, -1))
        case TileScan(result=result, operands=(operand,), axis=axis, reducer=name):
            values[result] = _scan(name, values[operand], axis)
        case TileGather(result=result, operands=(source, index), axis=axis):
            values[result] = torch.take_along_dim(
                values[source], values[index].long(), axis
            ).clone()
            _check_rows(values[source], values[index], axis)
        case TileDot(result=result, operands=operands):
            values[result] = product(*(values[tile] for tile in operands))
        case TileUpcast(result=result, operands=(operand,), axis=axis):
            values[result] = upcast(values[operand], axis, torch_type(result.dtype))


def everywhere(
    value: Expression,
    coordinates: Mapping[str, torch.Tensor],
    given: Mapping[str, torch.Tensor],
    symbols: Mapping[str, int],
    shape: tuple[int, ...],
) -> torch.Tensor:
    """Return an expression at elements with these coordinates.

    Args:
        value: Over digits, locals and symbols.
        coordinates: Digit's name -> its value at each element.
        given: Local's name -> its value at each element.
        symbols: Symbol's name -> its value.
        shape: Of all of these.
    """
    unread = [digit(f"axis {axis}") for axis in range(len(shape))]
    points = Points(unread, shape, {}, symbols)
    points.locals.update(given)
    replaced = {}
    for leaf in leaves("digit", value):
        name = str(leaf.data)
        points.locals[f"@{name}"] = coordinates[name].to(torch.int64)
        top = int(coordinates[name].max()) + 1
        replaced[digit(name)] = checked_index(local(f"@{name}", "int64"), top, False)
    return points.tensor(substitute(value, replaced))


def loaded(
    graph: TileGraph,
    load: TileLoad,
    buffers: Tensors,
    at: Callable[[Expression], torch.Tensor],
) -> torch.Tensor:
    """Return what a load gives at the elements that ``at`` knows."""
    memory = buffers[load.buffer]
    places = _places(graph.buffers[load.buffer], load.index, at)
    inside = None if load.condition is None else at(load.condition)
    _check_places(places, inside, memory, load.buffer)
    if inside is None:
        return memory[places]
    found = memory[torch.where(inside, places, 0)]
    return torch.where(inside, found, torch.tensor(load.other, dtype=found.dtype))


def stored(
    graph: TileGraph,
    store: TileStore,
    buffers: Tensors,
    at: Callable[[Expression], torch.Tensor],
    value: torch.Tensor,
) -> None:
    """Write what a store gives at the elements that ``at`` knows."""
    memory = buffers[store.buffer]
    places = _places(graph.buffers[store.buffer], store.index, at)
    inside = None if store.condition is None else at(store.condition)
    _check_places(places, inside, memory, store.buffer)
    if inside is not None:
        places, value = places[inside], value[inside]
    memory[places] = value


def _places(
    buffer: Buffer,
    index: tuple[Expression, ...],
    at: Callable[[Expression], torch.Tensor],
) -> torch.Tensor:
    from .index import add, mul

    strides = buffer.strides
    assert strides is not None, "tile graphs have strides"
    parts = (mul(one, step) for one, step in zip(index, strides, strict=True))
    return at(add(0, *parts)).long()


def _check_places(
    places: torch.Tensor,
    inside: torch.Tensor | None,
    memory: torch.Tensor,
    name: str,
) -> None:
    wrong = (places < 0) | (places >= memory.numel())
    if inside is not None:
        wrong = wrong & inside
    if bool(wrong.any()):
        raise EvaluationError(
            f"an access leaves {name}, which has {memory.numel()} elements, at "
            f"{int(places[wrong][0])}"
        )


def _check_rows(source: torch.Tensor, index: torch.Tensor, axis: int) -> None:
    if bool(((index < 0) | (index >= source.shape[axis])).any()):
        raise EvaluationError(
            f"a gather's index leaves its {source.shape[axis]} places"
        )


def _view(view: TileView, value: torch.Tensor) -> torch.Tensor:
    shape = view.result.shape
    if view.kind == "transpose":
        return value.permute(view.order)
    return value.expand(shape) if view.kind == "broadcast" else value.reshape(shape)


def combine(reducer: str, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Combine two values; see ``TILE_REDUCERS``."""
    match reducer:
        case "sum":
            return left + right
        case "maximum":
            return torch.maximum(left, right)
        case "minimum":
            return torch.minimum(left, right)
    return left ^ right


def _scan(reducer: str, value: torch.Tensor, axis: int) -> torch.Tensor:
    if reducer == "xor":
        parts = list(value.unbind(axis))
        for number in range(1, len(parts)):
            parts[number] = parts[number] ^ parts[number - 1]
        return torch.stack(parts, axis)
    return scan(reducer, value, axis)[0]


def product(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Return ``a @ b + c`` in the type of c, products and sums exact as a reference."""
    if c.dtype.is_floating_point:
        return (a.double() @ b.double() + c.double()).to(c.dtype)
    return (a.long() @ b.long() + c.long()).to(c.dtype)


def upcast(value: torch.Tensor, axis: int, dtype: torch.dtype) -> torch.Tensor:
    """Take bytes apart to pairs of e2m1, the low nibble first."""
    pairs = torch.stack([value & 15, value >> 4], axis + 1)
    shape = list(value.shape)
    shape[axis] *= 2
    return nibbles(pairs.reshape(shape), dtype)


def nibbles(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return e2m1 values of four bits each as floats."""
    magnitude = torch.tensor(FP4, dtype=dtype)[(value & 7).long()]
    return torch.where(value >= 8, -magnitude, magnitude)
