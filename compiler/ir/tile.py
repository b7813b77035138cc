"""Tiles: what one program of a kernel computes, an operator for each step.

The tile-level stage of the IR. A tile is a small tensor that lives in the registers of
one block of threads; its sizes are powers of two. What an operator does to elements is
said here; in which register of which thread an element is, is not: that is a layout,
and ``compiler.assign`` finds one for each tile. Scalar functions are expressions of
the one operation table, whose leaves are the operands as ``local``, the tile's
coordinates as the digits ``d0``, ``d1``, ..., sizes and ``program0``, ``program1``,
``program2``, the place of the program in the grid, as symbols.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from .expression import Expression
from .index import digit
from .node import Buffer

TILE_REDUCERS = ("sum", "maximum", "minimum", "xor")
"""Ways to combine the elements along an axis."""
VIEWS = ("broadcast", "expand_dims", "transpose", "reshape")
"""Kinds of :class:`TileView`."""


def coordinate(axis: int) -> Expression:
    """Return the coordinate of an element along a dim of its tile."""
    return digit(f"d{axis}")


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A value: an edge of the graph.

    Attributes:
        name: Unique in a graph.
        shape: Sizes, powers of two [elements].
        dtype: Value type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class TileLoad:
    """``result[d] = buffer[index]`` where the condition holds, else ``other``.

    Attributes:
        result: What is loaded.
        buffer: Name of an array.
        index: One index for each dim of the buffer.
        condition: Bool; None: everywhere.
        other: What stands where nothing is loaded.
        operands: Tiles of the result's shape that the index or the condition reads.
    """

    result: Tile
    buffer: str
    index: tuple[Expression, ...]
    condition: Expression | None = None
    other: float = 0.0
    operands: tuple[Tile, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TileStore:
    """``buffer[index] = value`` where the condition holds.

    Different elements have different targets. ``operands[0]`` is what is stored, of
    the buffer's type; others have its shape and are read by index or condition.
    """

    buffer: str
    index: tuple[Expression, ...]
    operands: tuple[Tile, ...]
    condition: Expression | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TileMap:
    """``result[d] = value``, at each element on its own.

    Attributes:
        result: Its type is the value's.
        operands: Tiles of the same shape; the leaf ``local`` of their name.
        value: Over locals, digits and symbols.
    """

    result: Tile
    operands: tuple[Tile, ...]
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class TileView:
    """The same elements under other coordinates.

    ``broadcast`` repeats along dims of size 1, ``expand_dims`` inserts dims of size 1,
    ``transpose`` makes source dim ``order[i]`` dim i, ``reshape`` keeps row-major
    positions.
    """

    result: Tile
    operands: tuple[Tile]
    kind: str
    order: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TileJoin:
    """``result[..., 0] = operands[0]`` and ``result[..., 1] = operands[1]``."""

    result: Tile
    operands: tuple[Tile, Tile]


@dataclass(frozen=True, slots=True, eq=False)
class TileSplit:
    """``halves[i] = operands[0][..., i]``, the inverse of a join."""

    halves: tuple[Tile, Tile]
    operands: tuple[Tile]


@dataclass(frozen=True, slots=True, eq=False)
class TileReduce:
    """``result = reducer over one axis``, which vanishes.

    Attributes:
        result: What is left.
        operands: What is reduced.
        axis: Dim that vanishes.
        reducer: One of ``TILE_REDUCERS``.
    """

    result: Tile
    operands: tuple[Tile]
    axis: int
    reducer: str


@dataclass(frozen=True, slots=True, eq=False)
class TileScan:
    """``result = inclusive scan along one axis``; fields as of :class:`TileReduce`."""

    result: Tile
    operands: tuple[Tile]
    axis: int
    reducer: str


@dataclass(frozen=True, slots=True, eq=False)
class TileGather:
    """``result[d] = operands[0][d with d[axis] := operands[1][d]]``.

    The second operand is int32, of the result's shape, with values in range.
    """

    result: Tile
    operands: tuple[Tile, Tile]
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class TileDot:
    """``result = operands[0] @ operands[1] + operands[2]``, in the result's type."""

    result: Tile
    operands: tuple[Tile, Tile, Tile]


@dataclass(frozen=True, slots=True, eq=False)
class TileUpcast:
    """Pairs of fp4 (e2m1, the low nibble first) in bytes as floats, along one axis."""

    result: Tile
    operands: tuple[Tile]
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A tile that a loop hands from one round to the next.

    Attributes:
        operands: What the first round gets; what a round hands on.
        argument: What a round gets.
        result: What the last round handed on.
    """

    operands: tuple[Tile, Tile]
    argument: Tile
    result: Tile


@dataclass(frozen=True, slots=True, eq=False)
class TileLoop:
    """Rounds one after the other.

    Attributes:
        counter: Symbol that counts the rounds from 0.
        rounds: How many, an index expression over symbols.
        body: Operators of a round, in order.
        carried: What rounds hand on.
    """

    counter: Expression
    rounds: Expression
    body: tuple["Operator", ...]
    carried: tuple[Carried, ...]

    @property
    def operands(self) -> tuple[Tile, ...]:
        """What the first round gets."""
        return tuple(one.operands[0] for one in self.carried)


Operator: TypeAlias = (
    TileLoad
    | TileStore
    | TileMap
    | TileView
    | TileJoin
    | TileSplit
    | TileReduce
    | TileScan
    | TileGather
    | TileDot
    | TileUpcast
    | TileLoop
)
Step: TypeAlias = Operator | Carried
"""What has a layout on each of its edges."""


@dataclass(frozen=True, slots=True, eq=False)
class TileGraph:
    """What one program does.

    Attributes:
        name: Of the kernel.
        buffers: Arrays, with strides; the index of a load or store counts their dims.
        operators: In an order that computes before it reads.
        divisible: Symbol's name -> what divides it, promised by who launches.
        typical: Symbol's name -> a typical value, to weigh loops with.
        changed: Buffers whose memory stores may change under another buffer's name:
            nothing of them is loaded a second time.
    """

    name: str
    buffers: Mapping[str, Buffer]
    operators: tuple[Operator, ...]
    divisible: Mapping[str, int] = field(default_factory=dict)
    typical: Mapping[str, int] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()


def results_of(step: Step) -> tuple[Tile, ...]:
    """Return the tiles that a step makes (of a loop: what is left at its end)."""
    match step:
        case TileStore():
            return ()
        case TileSplit():
            return step.halves
        case TileLoop():
            return tuple(one.result for one in step.carried)
        case Carried():
            return (step.argument, step.result)
        case _:
            return (step.result,)


def steps(
    operators: tuple[Operator, ...], loops: tuple[TileLoop, ...] = ()
) -> Iterator[tuple[Step, tuple[TileLoop, ...]]]:
    """Yield each operator but loops, and what loops carry, with the loops around it.

    What a loop carries comes before its body.
    """
    for operator in operators:
        if isinstance(operator, TileLoop):
            inside = (*loops, operator)
            for one in operator.carried:
                yield one, inside
            yield from steps(operator.body, inside)
        else:
            yield operator, loops
