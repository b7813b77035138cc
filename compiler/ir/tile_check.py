"""The rules of tile graphs, checked: shapes, types, and reading after computing."""

from math import prod

from .expression import Expression, leaves
from .tile import (
    TILE_REDUCERS,
    VIEWS,
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
    results_of,
)


class TileError(ValueError):
    """A tile graph breaks a rule; the message says which tile and what was needed."""


def check_tiles(graph: TileGraph) -> None:
    """Check a graph.

    Raises:
        TileError: a size is no power of two, shapes or types do not fit an operator, a
            tile is read before it is made or made twice, or a buffer is unknown.
    """
    _sequence(graph, graph.operators, {})


def _sequence(
    graph: TileGraph, operators: tuple[Operator, ...], known: dict[str, Tile]
) -> None:
    for operator in operators:
        for tile in operator.operands:
            _known(tile, known)
        if isinstance(operator, TileLoop):
            _loop(graph, operator, known)
            continue
        _operator(graph, operator)
        for tile in results_of(operator):
            _made(tile, known)


def _loop(graph: TileGraph, loop: TileLoop, known: dict[str, Tile]) -> None:
    inside = dict(known)
    for one in loop.carried:
        _made(one.argument, inside)
    _sequence(graph, loop.body, inside)
    for one in loop.carried:
        _known(one.operands[1], inside)
        kinds = {(t.shape, t.dtype) for t in (*one.operands, one.argument, one.result)}
        _need(len(kinds) == 1, one.result, f"one shape and type, got {kinds}")
        _made(one.result, known)


def _known(tile: Tile, known: dict[str, Tile]) -> None:
    _need(known.get(tile.name) is tile, tile, "to be made before it is read")


def _made(tile: Tile, known: dict[str, Tile]) -> None:
    _need(tile.name not in known, tile, "a name of its own")
    _need(
        all(size > 0 and size & size - 1 == 0 for size in tile.shape),
        tile,
        f"sizes that are powers of two, got shape={tile.shape}",
    )
    known[tile.name] = tile


def _need(holds: bool, tile: Tile, what: str) -> None:
    if not holds:
        raise TileError(f"the tile {tile.name} needs {what}")


def _operator(graph: TileGraph, operator: Operator) -> None:
    match operator:
        case TileLoad():
            _access(graph, operator, operator.result, operator.operands)
        case TileStore():
            _access(graph, operator, operator.operands[0], operator.operands)
        case TileMap(result=result, operands=operands, value=value):
            _same(result, operands)
            _need(value.dtype == result.dtype, result, f"a value of {result.dtype}")
            _leaves(result, operands, value)
        case TileView():
            _view(operator)
        case TileJoin(result=result, operands=operands):
            for tile in operands:
                _need((*tile.shape, 2) == result.shape, result, "halves of its shape")
        case TileSplit(halves=halves, operands=(operand,)):
            for half in halves:
                _need((*half.shape, 2) == operand.shape, half, "a pair for each place")
        case TileReduce(result=result, operands=(operand,), axis=axis):
            _reducer(result, operator)
            rest = operand.shape[:axis] + operand.shape[axis + 1 :]
            _need(rest == result.shape, result, f"the shape {rest}")
        case TileScan(result=result, operands=operands):
            _reducer(result, operator)
            _same(result, operands)
        case TileGather(result=result, operands=(source, index), axis=axis):
            _same(result, (index,))
            _need(index.dtype == "int32", index, "the type int32")
            fits = all(
                at == axis or a == b
                for at, (a, b) in enumerate(
                    zip(source.shape, result.shape, strict=True)
                )
            )
            _need(fits, result, f"the shape of {source.name} but for dim {axis}")
        case TileDot(result=result, operands=(a, b, c)):
            good = (a.shape[0], b.shape[1]) == result.shape == c.shape
            _need(good and a.shape[1] == b.shape[0], result, "fitting factors")
        case TileUpcast(result=result, operands=(operand,), axis=axis):
            shape = list(operand.shape)
            shape[axis] *= 2
            _need(result.shape == tuple(shape), result, f"the shape {tuple(shape)}")


def _access(
    graph: TileGraph,
    operator: TileLoad | TileStore,
    tile: Tile,
    operands: tuple[Tile, ...],
) -> None:
    buffer = graph.buffers.get(operator.buffer)
    if buffer is None:
        raise TileError(f"the tile {tile.name} needs a buffer named {operator.buffer}")
    _need(
        len(operator.index) == len(buffer.shape),
        tile,
        f"{len(buffer.shape)} indices into {buffer.name}, got {len(operator.index)}",
    )
    _need(buffer.dtype == tile.dtype, tile, f"the type {buffer.dtype} of {buffer.name}")
    _same(tile, operands)
    extra = () if operator.condition is None else (operator.condition,)
    _leaves(tile, operands, *operator.index, *extra)


def _leaves(tile: Tile, operands: tuple[Tile, ...], *roots: Expression) -> None:
    names = {operand.name for operand in operands}
    for leaf in leaves("local", *roots):
        _need(str(leaf.data) in names, tile, f"the operand {leaf.data} that it reads")
    axes = {f"d{axis}" for axis in range(len(tile.shape))}
    for leaf in leaves("digit", *roots):
        _need(str(leaf.data) in axes, tile, f"coordinates {sorted(axes)}, got {leaf}")


def _same(result: Tile, operands: tuple[Tile, ...]) -> None:
    for tile in operands:
        _need(
            tile.shape == result.shape,
            result,
            f"operands of its shape {result.shape}, got {tile.name} of {tile.shape}",
        )


def _reducer(result: Tile, operator: TileReduce | TileScan) -> None:
    _need(operator.reducer in TILE_REDUCERS, result, f"one of {TILE_REDUCERS}")
    rank = len(operator.operands[0].shape)
    _need(0 <= operator.axis < rank, result, f"an axis below {rank}")


def _view(view: TileView) -> None:
    source, result = view.operands[0].shape, view.result.shape
    if view.kind == "broadcast":
        good = len(source) == len(result) and all(
            a in (1, b) for a, b in zip(source, result, strict=True)
        )
    elif view.kind == "expand_dims":
        good = [s for s in source if s != 1] == [s for s in result if s != 1]
        good = good and len(result) > len(source)
    elif view.kind == "transpose":
        good = sorted(view.order) == list(range(len(source)))
        good = good and result == tuple(source[at] for at in view.order)
    else:
        good = view.kind in VIEWS and prod(source) == prod(result)
    _need(good, view.result, f"a legal {view.kind} of shape {source}, got {result}")
