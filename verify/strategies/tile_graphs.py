"""Hypothesis strategy: operator graphs on tiles, with memory to run them on.

Each graph is valid by construction: one load or two, a few operators, a store of every
tile that nothing reads. Numbers are small integers in whatever type, so that sums are
exact in any order. It shrinks to a load and a store.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import torch
from hypothesis import strategies as st

from compiler.assign import Tile, TileBuilder, TileGraph, coordinate, weighted

TYPES = ("int32", "float32", "int16", "float16", "int8")
MOVES = ("transpose", "reshape", "broadcast", "join", "split")
"""Operators that move elements and compute nothing."""
OPERATORS = (*MOVES, "map", "reduce", "scan", "gather", "cast")


@dataclass(frozen=True)
class TileCase:
    """A graph and memory to run it on.

    Attributes:
        graph: The graph, of one program.
        seed: Of the numbers in memory.
        sizes: Array's name -> elements.
        ranges: Array's name -> exclusive bound of its numbers; others are small.
    """

    graph: TileGraph
    seed: int
    sizes: dict[str, int]
    ranges: dict[str, int] = field(default_factory=dict)

    def memory(self) -> dict[str, torch.Tensor]:
        """Return the arrays, new ones at each call; outputs are poisoned."""
        generator = torch.Generator().manual_seed(self.seed)
        found = {}
        for name, size in self.sizes.items():
            dtype = getattr(torch, self.graph.buffers[name].dtype)
            high = self.ranges.get(name, 8)
            numbers = torch.randint(0, high, (size,), generator=generator)
            poison = torch.full((size,), 101)
            found[name] = (poison if name.startswith("out") else numbers).to(dtype)
        return found


class _Drawing:
    def __init__(self, draw: Any, most_bits: int) -> None:
        self.draw = draw
        self.most_bits = most_bits
        self.builder = TileBuilder("random_graph")
        self.sizes: dict[str, int] = {}
        self.ranges: dict[str, int] = {}
        self.tiles: list[Tile] = []
        self.read: set[str] = set()

    def number(self, low: int, high: int) -> int:
        found: int = self.draw(st.integers(low, high))
        return found

    def shape(self, total: int) -> list[int]:
        """Draw sizes with so many bits in all."""
        rank = self.number(1, 3)
        cuts = sorted(self.number(0, total) for _ in range(rank - 1))
        bounds = [0, *cuts, total]
        return [1 << b - a for a, b in pairwise(bounds)]

    def array(self, stem: str, shape: list[int], dtype: str) -> tuple[str, list[Any]]:
        """Declare an array with its dims in some order in memory."""
        name = f"{stem}{len(self.sizes)}"
        order = self.draw(st.permutations(range(len(shape))))
        strides, step = [0] * len(shape), 1
        for axis in order:
            strides[axis] = step
            step *= shape[axis]
        self.builder.buffer(name, dtype, shape, strides)
        self.sizes[name] = prod(shape)
        return name, [coordinate(axis) for axis in range(len(shape))]

    def load(self, shape: list[int], dtype: str, high: int = 0) -> Tile:
        name, at = self.array("in", shape, dtype)
        if high:
            self.ranges[name] = high
        return self.builder.load(name, at, shape)

    def pick(self) -> Tile:
        tile: Tile = self.draw(st.sampled_from(self.tiles))
        self.read.add(tile.name)
        return tile

    def bits(self, tile: Tile) -> int:
        return prod(tile.shape).bit_length() - 1

    def grow(self, kind: str) -> None:
        b, tile = self.builder, self.pick()
        rank = len(tile.shape)
        match kind:
            case "transpose":
                order = self.draw(st.permutations(range(rank)))
                self.tiles.append(b.transpose(tile, order))
            case "reshape":
                self.tiles.append(b.reshape(tile, self.shape(self.bits(tile))))
            case "broadcast":
                room = self.most_bits - self.bits(tile)
                axis = self.number(0, rank)
                wide = b.expand_dims(tile, axis)
                shape = list(wide.shape)
                shape[axis] = 1 << self.number(0, min(2, max(0, room)))
                self.tiles.append(b.fit(wide, shape))
            case "join":
                other = self.draw(
                    st.sampled_from(
                        [
                            one
                            for one in self.tiles
                            if (one.shape, one.dtype) == (tile.shape, tile.dtype)
                        ]
                    )
                )
                self.read.add(other.name)
                if self.bits(tile) < self.most_bits:
                    self.tiles.append(b.join(tile, other))
            case "split":
                if self.bits(tile):
                    half = prod(tile.shape) // 2
                    self.tiles += b.split(b.reshape(tile, [half, 2]))
            case "map":
                same = [t for t in self.tiles if t.shape == tile.shape]
                other = self.draw(st.sampled_from(same))
                self.read.add(other.name)
                op = self.draw(st.sampled_from(["maximum", "minimum", "sub"]))
                left, right = b.cast(other, "float32"), b.cast(tile, "float32")
                self.tiles.append(b.apply(op, left, right))
            case "cast":
                self.tiles.append(b.cast(tile, self.draw(st.sampled_from(TYPES))))
            case "reduce" | "scan":
                axis = self.number(0, rank - 1)
                name = self.draw(st.sampled_from(["sum", "maximum", "minimum"]))
                method = b.reduce if kind == "reduce" else b.scan
                wide = b.cast(tile, self.draw(st.sampled_from(["int32", "float32"])))
                made = method(name, wide, axis)
                self.tiles.append(made if made.shape else b.expand_dims(made, 0))
            case "gather":
                axis = self.number(0, rank - 1)
                shape = list(tile.shape)
                shape[axis] = 1 << self.number(0, 5)
                if prod(shape) <= 1 << self.most_bits:
                    at = self.load(shape, "int32", tile.shape[axis])
                    self.tiles.append(b.gather(tile, at, axis))


@st.composite
def tile_graphs(
    draw: st.DrawFn,
    *,
    most_bits: int = 10,
    most_operators: int = 5,
    operators: tuple[str, ...] = OPERATORS,
) -> TileCase:
    """Draw a graph.

    Args:
        draw: Hypothesis's.
        most_bits: Log2 of the elements of a tile at most [bits].
        most_operators: Operators besides loads and stores.
        operators: Kinds among ``OPERATORS``.
    """
    drawing = _Drawing(draw, most_bits)
    dtype = draw(st.sampled_from(TYPES))
    shape = drawing.shape(drawing.number(3, most_bits))
    drawing.tiles.append(drawing.load(shape, dtype))
    if draw(st.booleans()):
        drawing.tiles.append(drawing.load(shape, dtype))
    for _ in range(drawing.number(0, most_operators)):
        drawing.grow(draw(st.sampled_from(operators)))
    for tile in drawing.tiles:
        if tile.name not in drawing.read:
            name, at = drawing.array("out", list(tile.shape), tile.dtype)
            drawing.builder.store(name, at, tile)
    seed = drawing.number(0, 99)
    return TileCase(drawing.builder.graph(), seed, drawing.sizes, drawing.ranges)


@dataclass(frozen=True)
class MoveCase:
    """A graph that puts every element back where it came from, by detours.

    Attributes:
        graph: One load of ``in0``, views, splits and joins, one store to ``out``.
        stored: Tile that is stored.
        loaded: Tile that is loaded; its array is row-major.
        origin: Packed element of the stored tile -> packed element of the loaded one,
            an F2-affine map.
    """

    graph: TileGraph
    loaded: Tile
    stored: Tile
    origin: tuple[int, ...]


@st.composite
def move_graphs(
    draw: st.DrawFn, *, most_bits: int = 10, most_operators: int = 5
) -> MoveCase:
    """Draw a graph whose output equals its input.

    What it computes is known without running it, so PTX made from it is proved as a
    conversion from the layout of its load to that of its store.

    Args:
        draw: Hypothesis's.
        most_bits: Log2 of the elements of the tile at most [bits].
        most_operators: Views, splits and joins.
    """
    drawing = _Drawing(draw, most_bits)
    b = drawing.builder
    dtype = draw(st.sampled_from(TYPES))
    shape = drawing.shape(drawing.number(5, most_bits))
    b.buffer("in0", dtype, shape)
    tile = b.load("in0", [coordinate(axis) for axis in range(len(shape))], shape)
    loaded, ids = tile, torch.arange(prod(shape)).reshape(shape)
    for _ in range(drawing.number(0, most_operators)):
        rank = len(tile.shape)
        match draw(st.sampled_from(["transpose", "reshape", "halves"])):
            case "transpose":
                order = draw(st.permutations(range(rank)))
                tile, ids = b.transpose(tile, order), ids.permute(order)
            case "reshape":
                wanted = drawing.shape(drawing.bits(tile))
                tile, ids = b.reshape(tile, wanted), ids.reshape(wanted)
            case "halves":
                half = prod(tile.shape) // 2
                low, high = b.split(b.reshape(tile, [half, 2]))
                tile = b.join(high, low)
                ids = ids.reshape(half, 2).flip(1)
    rows = torch.arange(prod(shape)).reshape(shape)
    packed = torch.zeros(prod(shape), dtype=torch.int64)
    flat = rows.permute(*reversed(range(len(shape)))).reshape(-1)
    packed[flat] = torch.arange(prod(shape))  # row-major place -> packed element
    axes = range(len(tile.shape))
    first = int(ids.reshape(-1)[0])
    steps = []
    for axis in axes:
        for bit in range(tile.shape[axis].bit_length() - 1):
            at = [0] * len(tile.shape)
            at[axis] = 1 << bit
            steps.append((axis, bit, int(ids[tuple(at)]) - first))
    b.buffer("out", dtype, [prod(shape)])
    b.store("out", [weighted(first, steps)], tile)
    origin = packed[ids.permute(*reversed(axes)).reshape(-1)]
    return MoveCase(b.graph(), loaded, tile, tuple(int(one) for one in origin))
