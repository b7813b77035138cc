import pytest
import torch

from compiler.ir import scalar
from compiler.ir.evaluate_tile import combine, nibbles, run_tiles, upcast
from compiler.ir.index import add, mul, symbol
from compiler.ir.points import EvaluationError
from compiler.ir.tile import Tile, coordinate
from compiler.ir.tile_builder import TileBuilder, less

D0, D1 = coordinate(0), coordinate(1)


def run(b: TileBuilder, tile: Tile, **arrays: torch.Tensor) -> torch.Tensor:
    return run_tiles(b.graph(), arrays, {"program0": 1, "n": 6})[tile]


def test_operators_are_torchs() -> None:
    x = torch.arange(32.0)
    b = TileBuilder("one")
    b.buffer("x", "float32", [4, 8])
    tile = b.load("x", [D0, D1], [4, 8])
    whole = x.reshape(4, 8)
    cases = [
        (b.transpose(tile, [1, 0]), whole.T),
        (b.reshape(tile, [2, 16]), whole.reshape(2, 16)),
        (b.reduce("maximum", tile, 1), whole.amax(1)),
        (b.scan("sum", tile, 0), whole.cumsum(0)),
        (b.join(tile, tile), torch.stack([whole, whole], -1)),
        (b.split(b.reshape(tile, [16, 2]))[1], x[1::2]),
    ]
    values = run_tiles(b.graph(), {"x": x}, {})
    for made, expected in cases:
        assert torch.equal(values[made], expected)


def test_masks_offsets_and_stores() -> None:
    b = TileBuilder("one")
    n = b.size("n")
    b.buffer("x", "float32", [2, n])
    inside = less(D0, n)
    x = b.load("x", [symbol("program0"), D0], [8], inside, other=-1.0)
    b.store("x", [symbol("program0"), D0], b.apply("neg", x), inside)
    memory = torch.arange(12.0)
    found = run(b, x, x=memory)
    assert found.tolist() == [6, 7, 8, 9, 10, 11, -1, -1]
    assert memory[6:].tolist() == [-6, -7, -8, -9, -10, -11]


def test_accesses_outside_are_errors() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [8])
    x = b.load("x", [add(D0, 4)], [8])
    with pytest.raises(EvaluationError, match="leaves x"):
        run(b, x, x=torch.zeros(8))


def test_gathers_check_their_indices() -> None:
    b = TileBuilder("one")
    at = b.counted(mul(D0, 2), [4])
    found = b.gather(b.counted(D0, [8]), at, 0)
    assert run(b, found).tolist() == [0, 2, 4, 6]
    b.gather(b.counted(D0, [4]), at, 0)
    with pytest.raises(EvaluationError, match="index"):
        run(b, found)


def test_loops_hand_on() -> None:
    b = TileBuilder("one")
    first, second = b.counted(D0, [4]), b.full([4], 1, "int32")
    with b.loop("k", 3, first, second) as inside:
        x, y = inside.arguments
        inside.yields(y, b.apply("add", x, y))
    graph = b.graph()
    values = run_tiles(graph, {}, {})
    # (d, 1), (1, d + 1), (d + 1, d + 2), (d + 2, 2 d + 3)
    assert values[inside.results[1]].tolist() == [2 * d + 3 for d in range(4)]


def test_fp4_values_are_e2m1() -> None:
    every = torch.arange(16, dtype=torch.uint8)
    half = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    assert nibbles(every, torch.float32).tolist() == half + [-v for v in half]
    found = upcast(torch.tensor([[0x21, 0xF0]], dtype=torch.uint8), 1, torch.float16)
    assert found.tolist() == [[0.5, 1.0, 0.0, -6.0]]


def test_products_and_reducers() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float16", [2, 2])
    x = b.load("x", [D0, D1], [2, 2])
    made = b.dot(x, x, b.full([2, 2], 1.0, "float32"))
    assert run(b, made, x=torch.tensor([1.0, 2, 3, 4]).half()).tolist() == [
        [8, 11],
        [16, 23],
    ]
    assert combine("xor", torch.tensor(5), torch.tensor(3)) == 6
    assert combine("minimum", torch.tensor(5), torch.tensor(3)) == 3
    assert scalar.constant(1, "int32") is not None
