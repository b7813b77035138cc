"""Write tile graphs: one method an operator, names and shapes by themselves."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import scalar
from .expression import Expression
from .index import Index, add, contiguous_strides, floordiv, index, mod, mul, symbol
from .node import Buffer
from .tile import (
    Carried,
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
    coordinate,
)
from .tile_check import check_tiles

if TYPE_CHECKING:
    from collections.abc import Iterator


class TileBuilder:
    """A tile graph that grows.

    Example:
        >>> from compiler.ir.tile import coordinate
        >>> b = TileBuilder("double")
        >>> b.buffer("x", "float32", [64])
        >>> b.buffer("y", "float32", [64])
        >>> x = b.load("x", [coordinate(0)], [64])
        >>> b.store("y", [coordinate(0)], b.apply("add", x, x))
        >>> [type(operator).__name__ for operator in b.graph().operators]
        ['TileLoad', 'TileMap', 'TileStore']
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.buffers: dict[str, Buffer] = {}
        self.operators: list[Operator] = []
        self.divisible: dict[str, int] = {}
        self.typical: dict[str, int] = {}
        self._made = 0

    def buffer(
        self,
        name: str,
        dtype: str,
        shape: Sequence[Index],
        strides: Sequence[Index] | None = None,
    ) -> None:
        """Declare an array; without strides it is dense, the last dim the fastest."""
        sizes = tuple(index(size) for size in shape)
        steps = contiguous_strides(sizes) if strides is None else strides
        self.buffers[name] = Buffer(
            name, dtype, sizes, "cuda:0", tuple(index(step) for step in steps)
        )

    def size(self, name: str, *, divisible: int = 1, typical: int = 1) -> Expression:
        """Return a size that is known when the kernel runs."""
        self.divisible[name], self.typical[name] = divisible, typical
        return symbol(name)

    def tile(self, shape: Sequence[int], dtype: str) -> Tile:
        """Return a new tile, which an operator must make."""
        self._made += 1
        return Tile(f"t{self._made}", tuple(shape), dtype)

    def load(
        self,
        buffer: str,
        at: Sequence[Index],
        shape: Sequence[int],
        condition: Expression | None = None,
        *,
        other: float = 0.0,
        operands: Sequence[Tile] = (),
    ) -> Tile:
        """Load a tile; see :class:`TileLoad`."""
        result = self.tile(shape, self.buffers[buffer].dtype)
        places = tuple(index(one) for one in at)
        self.operators.append(
            TileLoad(result, buffer, places, condition, other, tuple(operands))
        )
        return result

    def store(
        self,
        buffer: str,
        at: Sequence[Index],
        value: Tile,
        condition: Expression | None = None,
        *,
        operands: Sequence[Tile] = (),
    ) -> None:
        """Store a tile; see :class:`TileStore`."""
        places = tuple(index(one) for one in at)
        self.operators.append(TileStore(buffer, places, (value, *operands), condition))

    def map(self, function: Callable[..., Expression], *operands: Tile | float) -> Tile:
        """Apply a function of scalar expressions to each element.

        Operands of fewer dims or of size 1 are broadcast, dims added in front.
        """
        shape = _common([t.shape for t in operands if isinstance(t, Tile)])
        tiles = [self.fit(t, shape) if isinstance(t, Tile) else t for t in operands]
        used: list[Tile] = []
        for tile in tiles:
            if isinstance(tile, Tile) and tile not in used:
                used.append(tile)
        value = function(*(read(t) if isinstance(t, Tile) else t for t in tiles))
        result = self.tile(shape, value.dtype)
        self.operators.append(TileMap(result, tuple(used), value))
        return result

    def apply(self, op: str, *operands: Tile | float) -> Tile:
        """Apply an operation of the table; numbers take the tiles' type."""
        dtype = next(t.dtype for t in operands if isinstance(t, Tile))

        def function(*values: Expression | float) -> Expression:
            return scalar.apply(
                op,
                *(
                    v if isinstance(v, Expression) else scalar.constant(v, dtype)
                    for v in values
                ),
            )

        return self.map(function, *operands)

    def cast(self, tile: Tile, dtype: str) -> Tile:
        """Round or wrap to another type."""
        if tile.dtype == dtype:
            return tile
        return self.map(lambda value: scalar.cast(value, dtype), tile)

    def counted(self, value: Index, shape: Sequence[int], dtype: str = "int32") -> Tile:
        """Make a tile of an index expression over coordinates and symbols."""
        result = self.tile(shape, dtype)
        expression = scalar.from_index(value, dtype)
        self.operators.append(TileMap(result, (), expression))
        return result

    def full(self, shape: Sequence[int], value: float, dtype: str) -> Tile:
        """Make a tile of one number."""
        result = self.tile(shape, dtype)
        self.operators.append(TileMap(result, (), scalar.constant(value, dtype)))
        return result

    def view(
        self, kind: str, tile: Tile, shape: Sequence[int], order: Sequence[int] = ()
    ) -> Tile:
        """See :class:`TileView`."""
        result = self.tile(shape, tile.dtype)
        self.operators.append(TileView(result, (tile,), kind, tuple(order)))
        return result

    def reshape(self, tile: Tile, shape: Sequence[int]) -> Tile:
        """Keep row-major positions."""
        return self.view("reshape", tile, shape)

    def transpose(self, tile: Tile, order: Sequence[int]) -> Tile:
        """Make source dim ``order[i]`` dim i."""
        shape = [tile.shape[at] for at in order]
        return self.view("transpose", tile, shape, order)

    def expand_dims(self, tile: Tile, axis: int) -> Tile:
        """Insert a dim of size 1."""
        shape = (*tile.shape[:axis], 1, *tile.shape[axis:])
        return self.view("expand_dims", tile, shape)

    def fit(self, tile: Tile, shape: Sequence[int]) -> Tile:
        """Broadcast to a shape, dims added in front."""
        missing = len(shape) - len(tile.shape)
        if missing:
            wide = (*(1,) * missing, *tile.shape)
            tile = self.view("expand_dims", tile, wide)
        if tile.shape == tuple(shape):
            return tile
        return self.view("broadcast", tile, shape)

    def join(self, low: Tile, high: Tile) -> Tile:
        """Make pairs along a new last dim."""
        result = self.tile((*low.shape, 2), low.dtype)
        self.operators.append(TileJoin(result, (low, high)))
        return result

    def split(self, tile: Tile) -> tuple[Tile, Tile]:
        """Take pairs along the last dim apart."""
        shape = tile.shape[:-1]
        halves = self.tile(shape, tile.dtype), self.tile(shape, tile.dtype)
        self.operators.append(TileSplit(halves, (tile,)))
        return halves

    def reduce(self, reducer: str, tile: Tile, axis: int) -> Tile:
        """Combine along an axis, which vanishes."""
        result = self.tile(tile.shape[:axis] + tile.shape[axis + 1 :], tile.dtype)
        self.operators.append(TileReduce(result, (tile,), axis, reducer))
        return result

    def scan(self, reducer: str, tile: Tile, axis: int) -> Tile:
        """Combine what comes before, inclusively."""
        result = self.tile(tile.shape, tile.dtype)
        self.operators.append(TileScan(result, (tile,), axis, reducer))
        return result

    def gather(self, tile: Tile, at: Tile, axis: int) -> Tile:
        """Take elements by their place along an axis."""
        result = self.tile(at.shape, tile.dtype)
        self.operators.append(TileGather(result, (tile, at), axis))
        return result

    def dot(self, a: Tile, b: Tile, c: Tile) -> Tile:
        """Multiply matrices and add."""
        result = self.tile(c.shape, c.dtype)
        self.operators.append(TileDot(result, (a, b, c)))
        return result

    def upcast(self, tile: Tile, axis: int, dtype: str) -> Tile:
        """Take pairs of fp4 apart."""
        shape = list(tile.shape)
        shape[axis] *= 2
        result = self.tile(shape, dtype)
        self.operators.append(TileUpcast(result, (tile,), axis))
        return result

    @contextmanager
    def loop(self, counter: str, rounds: Index, *first: Tile) -> "Iterator[Round]":
        """Repeat what is written inside; ``yields`` says what a round hands on."""
        arguments = [self.tile(t.shape, t.dtype) for t in first]
        outside, self.operators = self.operators, []
        inside = Round(symbol(counter), arguments)
        yield inside
        body, self.operators = tuple(self.operators), outside
        inside.results = [self.tile(t.shape, t.dtype) for t in first]
        carried = tuple(
            Carried((start, handed), argument, result)
            for start, handed, argument, result in zip(
                first, inside.handed, arguments, inside.results, strict=True
            )
        )
        loop = TileLoop(inside.counter, index(rounds), body, carried)
        self.operators.append(loop)

    def graph(self) -> TileGraph:
        """Return the graph, checked.

        Raises:
            TileError: it breaks a rule.
        """
        found = TileGraph(
            self.name,
            dict(self.buffers),
            tuple(self.operators),
            dict(self.divisible),
            dict(self.typical),
        )
        check_tiles(found)
        return found


class Round:
    """One round of a loop that is being written.

    Attributes:
        counter: Symbol of its number.
        arguments: What it gets.
        results: What the loop leaves, once it is closed.
    """

    def __init__(self, counter: Expression, arguments: list[Tile]) -> None:
        self.counter = counter
        self.arguments = arguments
        self.handed: tuple[Tile, ...] = ()
        self.results: list[Tile] = []

    def yields(self, *tiles: Tile) -> None:
        """Hand tiles on to the next round."""
        self.handed = tiles


def read(tile: Tile) -> Expression:
    """Return an element of a tile, as the leaf of an expression."""
    return scalar.local(tile.name, tile.dtype)


def weighted(start: int, steps: Sequence[tuple[int, int, int]]) -> Expression:
    """Return an index that each bit of the coordinates moves by a step of its own.

    Args:
        start: Index of coordinates zero.
        steps: Dim, bit of its coordinate, step.

    Example:
        >>> weighted(3, [(0, 0, 8)])
        add(mul(mod(d0, 2), 8), 3)
    """
    parts = (
        mul(mod(floordiv(coordinate(axis), 1 << bit), 2), step)
        for axis, bit, step in steps
    )
    return add(start, *parts)


def less(left: Index, right: Index) -> Expression:
    """Return whether an index is smaller than another, as a condition."""
    return scalar.apply(
        "lt", scalar.from_index(left, "int32"), scalar.from_index(right, "int32")
    )


def both(*conditions: Expression) -> Expression:
    """Return whether all hold."""
    found, *others = conditions
    for other in others:
        found = scalar.apply("bitwise_and", found, other)
    return found


def _common(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    wide = [(*(1,) * (rank - len(shape)), *shape) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*wide, strict=True))
