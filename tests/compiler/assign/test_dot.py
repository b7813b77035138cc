import torch

from algebra.verdict import Proved
from compiler.assign import assign
from compiler.assign.dot import dot_choices
from compiler.assign.simulate import simulate
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.tile import TileDot, TileGraph, coordinate
from compiler.ir.tile_builder import TileBuilder


def product_graph() -> TileGraph:
    b = TileBuilder("product")
    at = [coordinate(0), coordinate(1)]
    b.buffer("a", "float16", [32, 64])
    b.buffer("b", "float16", [64, 32])
    b.buffer("c", "float32", [32, 32])
    left, right = b.load("a", at, [32, 64]), b.load("b", at, [64, 32])
    b.store("c", at, b.dot(left, right, b.full([32, 32], 0.0, "float32")))
    return b.graph()


def test_choices_are_fragments_of_every_split_of_warps() -> None:
    step = next(o for o in product_graph().operators if isinstance(o, TileDot))
    found = dot_choices(step, 2)
    assert [choice.parent.warps_per_cta for choice in found] == [(1, 4), (2, 2)]
    for choice in found:
        for layout in (*choice.operands, choice.result):
            assert layout.is_surjective and layout.in_bits[1:] == (5, 2, 0)


def test_products_are_proved_and_simulated_right() -> None:
    graph = product_graph()
    given = assign(graph)
    assert isinstance(given.prove(), Proved)
    generator = torch.Generator().manual_seed(0)
    memory = {
        "a": torch.randn(2048, generator=generator).half(),
        "b": torch.randn(2048, generator=generator).half(),
        "c": torch.full((1024,), float("nan")),
    }
    expected = {name: value.clone() for name, value in memory.items()}
    run_tiles(graph, expected, {})
    simulate(given, memory, {})
    assert torch.equal(memory["c"], expected["c"])
    a, b = memory["a"].reshape(32, 64).double(), memory["b"].reshape(64, 32).double()
    torch.testing.assert_close(memory["c"].reshape(32, 32), (a @ b).float())
