from collections.abc import Callable

import pytest

from compiler.ir import scalar
from compiler.ir.tile import Tile, TileJoin, TileMap, TileReduce, coordinate
from compiler.ir.tile_builder import TileBuilder
from compiler.ir.tile_check import TileError


def stranger(b: TileBuilder) -> None:
    b.apply("neg", Tile("nowhere", (4,), "float32"))


def odd_size(b: TileBuilder) -> None:
    b.full([3], 0.0, "float32")


def no_buffer(b: TileBuilder) -> None:
    x = b.full([4], 0.0, "float32")
    b.store("z", [coordinate(0)], x)


def wrong_type(b: TileBuilder) -> None:
    b.store("x", [coordinate(0)], b.full([4], 0, "int32"))


def wrong_rank(b: TileBuilder) -> None:
    b.store("x", [0, 0], b.full([4], 0.0, "float32"))


def wrong_view(b: TileBuilder) -> None:
    b.view("broadcast", b.full([4], 0.0, "float32"), [8])


def wrong_order(b: TileBuilder) -> None:
    b.view("transpose", b.full([4, 2], 0.0, "float32"), [2, 4], [1, 1])


def wrong_reducer(b: TileBuilder) -> None:
    b.reduce("median", b.full([4, 2], 0.0, "float32"), 0)


def unknown_local(b: TileBuilder) -> None:
    b.operators.append(
        TileMap(b.tile([4], "float32"), (), scalar.local("y", "float32"))
    )


def unknown_digit(b: TileBuilder) -> None:
    b.counted(coordinate(3), [4])


def wrong_join(b: TileBuilder) -> None:
    x = b.full([4], 0.0, "float32")
    b.operators.append(TileJoin(b.tile([4, 4], "float32"), (x, x)))


def twice(b: TileBuilder) -> None:
    x = b.full([4, 2], 0.0, "float32")
    made = b.reduce("sum", x, 0)
    b.operators.append(TileReduce(made, (x,), 0, "sum"))


def index_type(b: TileBuilder) -> None:
    b.gather(b.full([4], 0.0, "float32"), b.full([4], 0, "int64"), 0)


def uneven_loop(b: TileBuilder) -> None:
    with b.loop("k", 2, b.full([4], 0.0, "float32")) as inside:
        inside.yields(b.full([2], 0.0, "float32"))


FAULTS = [
    *(stranger, odd_size, no_buffer, wrong_type, wrong_rank, wrong_view, wrong_order),
    *(wrong_reducer, unknown_local, unknown_digit, wrong_join, twice, index_type),
    uneven_loop,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_are_named(fault: Callable[[TileBuilder], None]) -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [4])
    fault(b)
    with pytest.raises(TileError, match="the tile"):
        b.graph()
