"""Graphs that the tests of assignment share."""

import random
from collections.abc import Callable

import pytest
import torch

from algebra import LinearLayout
from algebra.gauss import rank
from compiler.assign.laws import bits_of, layout_of
from compiler.ir import scalar
from compiler.ir.index import add, mul, symbol
from compiler.ir.tile import Step, TileGraph, TileLoop, coordinate
from compiler.ir.tile_builder import TileBuilder, less

D0, D1 = coordinate(0), coordinate(1)


def softmax_graph(rows: int = 4, columns: int = 256) -> TileGraph:
    b = TileBuilder("softmax")
    n = b.size("n", divisible=16, typical=columns)
    b.buffer("x", "float16", [1 << 20, n])
    b.buffer("y", "float16", [1 << 20, n])
    row = add(mul(symbol("program0"), rows), D0)
    inside = less(D1, n)
    x = b.load("x", [row, D1], [rows, columns], inside, other=-60000.0)
    wide = b.cast(x, "float32")
    power = b.apply(
        "exp", b.apply("sub", wide, b.expand_dims(b.reduce("maximum", wide, 1), 1))
    )
    total = b.expand_dims(b.reduce("sum", power, 1), 1)
    y = b.cast(b.apply("truediv", power, total), "float16")
    b.store("y", [row, D1], y, inside)
    return b.graph()


def transposed_graph(size: int = 32) -> TileGraph:
    b = TileBuilder("transposed")
    b.buffer("x", "float32", [size, size])
    b.buffer("y", "float32", [size, size])
    x = b.load("x", [D0, D1], [size, size])
    b.store("y", [D0, D1], b.transpose(b.apply("neg", x), [1, 0]))
    return b.graph()


def looped_graph() -> TileGraph:
    """Sum of the columns of a matrix, some rows a round."""
    b = TileBuilder("looped")
    rounds = b.size("rounds", typical=8)
    b.buffer("x", "float32", [1 << 10, 64])
    b.buffer("y", "float32", [64])
    start = b.full([64], 0.0, "float32")
    with b.loop("k", rounds, start) as inside:
        row = add(mul(inside.counter, 16), D0)
        x = b.load("x", [row, D1], [16, 64])
        inside.yields(b.apply("add", inside.arguments[0], b.reduce("sum", x, 0)))
    b.store("y", [D0], inside.results[0])
    return b.graph()


def all_steps() -> dict[str, Step]:
    """One step of each kind that moves nothing between threads."""
    b = TileBuilder("steps")
    b.buffer("x", "float32", [16, 8, 4])
    x = b.load("x", [D0, D1, coordinate(2)], [16, 8, 4])
    found: dict[str, Step] = {}

    def keep(name: str) -> None:
        operator = b.operators[-1]
        assert not isinstance(operator, TileLoop)
        found[name] = operator

    b.transpose(x, [2, 0, 1])
    keep("transpose")
    b.reshape(x, [4, 32, 4])
    keep("reshape")
    b.expand_dims(x, 1)
    keep("expand_dims")
    b.view("broadcast", b.full([16, 1, 4], 0.0, "float32"), [16, 8, 4])
    keep("broadcast")
    b.join(x, x)
    keep("join")
    b.split(b.full([16, 8, 2], 0.0, "float32"))
    keep("split")
    b.upcast(b.full([16, 8], 0, "uint8"), 1, "bfloat16")
    keep("upcast")
    b.map(lambda v: scalar.apply("neg", v), x)
    keep("map")
    return found


def random_layout(shape: tuple[int, ...], rng: random.Random) -> LinearLayout:
    """Any surjective layout on two warps, xors and copies included."""
    bits = sum(bits_of(shape))
    count = max(0, bits - 6) + rng.randrange(2)
    while True:
        columns = [rng.randrange(1 << bits) for _ in range(count + 6)]
        if rank(columns) == bits:
            return layout_of(
                shape, columns[:count], columns[count : count + 5], columns[count + 5 :]
            )


@pytest.fixture
def softmax() -> TileGraph:
    return softmax_graph()


@pytest.fixture
def transposed() -> TileGraph:
    return transposed_graph()


@pytest.fixture
def looped() -> TileGraph:
    return looped_graph()


@pytest.fixture
def each_step() -> dict[str, Step]:
    return all_steps()


@pytest.fixture
def draw_layout() -> Callable[[tuple[int, ...], random.Random], LinearLayout]:
    return random_layout


Memory = Callable[[TileGraph, int], dict[str, torch.Tensor]]


@pytest.fixture
def memory() -> Memory:
    def make(graph: TileGraph, size: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        return {
            name: torch.randn(size, generator=generator).to(
                scalar.torch_type(buffer.dtype)
            )
            for name, buffer in graph.buffers.items()
        }

    return make
