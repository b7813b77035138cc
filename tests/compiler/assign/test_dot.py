import torch

from algebra.verdict import Proved
from compiler.assign import assign
from compiler.assign.dot import dot_choices, memory_cost, memory_of
from compiler.assign.laws import layout_of
from compiler.assign.simulate import simulate
from compiler.cost import device
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.tile import TileDot, TileGraph, coordinate
from compiler.ir.tile_builder import TileBuilder

MACHINE = device("sm_90")


def product_graph(rows: int = 32) -> TileGraph:
    b = TileBuilder("product")
    at = [coordinate(0), coordinate(1)]
    b.buffer("a", "float16", [rows, 64])
    b.buffer("b", "float16", [64, 32])
    b.buffer("c", "float32", [rows, 32])
    left, right = b.load("a", at, [rows, 64]), b.load("b", at, [64, 32])
    b.store("c", at, b.dot(left, right, b.full([rows, 32], 0.0, "float32")))
    return b.graph()


def test_choices_are_fragments_of_every_split_of_warps() -> None:
    step = next(o for o in product_graph().operators if isinstance(o, TileDot))
    found = dot_choices(step, 2)
    assert [choice.parent.warps_per_cta for choice in found] == [(1, 4), (2, 2)]
    for choice in found:
        assert choice.instruction == "mma" and choice.cost > 0
        for layout in (*choice.operands, choice.result):
            assert (
                layout is not None
                and layout.is_surjective
                and layout.in_bits[1:] == (5, 2, 0)
            )


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


def test_wgmma_reads_memory_where_rows_and_warps_suffice() -> None:
    step = next(o for o in product_graph(64).operators if isinstance(o, TileDot))
    found = [c for c in dot_choices(step, 2, MACHINE) if c.instruction == "wgmma"]
    assert [choice.operands[0] is None for choice in found] == [True, False]
    assert all(choice.operands[1] is None for choice in found)
    assert found[0].parent.instr_shape == (16, 32, 16)
    few = next(o for o in product_graph(32).operators if isinstance(o, TileDot))
    for graph_step, warps in ((few, 2), (step, 1)):
        kinds = {c.instruction for c in dot_choices(graph_step, warps, MACHINE)}
        assert kinds == {"mma"}


def test_wgmma_is_chosen_and_proved() -> None:
    given = assign(product_graph(64))
    assert isinstance(given.prove(), Proved)
    step = next(o for o in given.graph.operators if isinstance(o, TileDot))
    # the factors stay where they are loaded
    for number in range(2):
        assert given.wanted[step, number] == given.layouts[step.operands[number]]


def test_memory_is_turned_as_registers_are() -> None:
    rows = layout_of([64, 64], [64, 128, 256], [512, 1024, 2048, 1, 2], [4, 8])
    columns = layout_of([64, 64], [1, 2, 4], [8, 16, 32, 64, 128], [256, 512])
    assert not memory_of(rows, (64, 64), 16, 1)[0].transposed
    assert memory_of(columns, (64, 64), 16, 1)[0].transposed
    assert memory_cost(rows, (64, 64), 16, 1, MACHINE) > 0


def eight_bits(turned: bool) -> TileGraph:
    """A product of e5m2 whose second factor is contiguous along K, or is not."""
    kind = "float8_e5m2"
    b = TileBuilder("product")
    at = [coordinate(0), coordinate(1)]
    b.buffer("a", kind, [64, 64])
    b.buffer("b", kind, [32, 64] if turned else [64, 32])
    b.buffer("c", "float32", [64, 32])
    left = b.load("a", at, [64, 64])
    right = b.load("b", at, [32, 64] if turned else [64, 32])
    right = b.transpose(right, [1, 0]) if turned else right
    b.store("c", at, b.dot(left, right, b.full([64, 32], 0.0, "float32")))
    return b.graph()


def test_factors_of_8_bits_lie_along_k() -> None:
    for turned in (False, True):
        graph = eight_bits(turned)
        given = assign(graph)
        assert isinstance(given.prove(), Proved)
        step = next(o for o in graph.operators if isinstance(o, TileDot))
        assert {c.instruction for c in dot_choices(step, 2, MACHINE)} == {"wgmma"}
        assert dot_choices(step, 2, MACHINE)[0].parent.instr_shape == (16, 32, 32)
        right = given.wanted[step, 1]
        assert memory_of(right, (64, 32), 8, 1)[0].transposed
        generator = torch.Generator().manual_seed(0)
        memory = {
            "a": torch.randn(4096, generator=generator).to(torch.float8_e5m2),
            "b": torch.randn(2048, generator=generator).to(torch.float8_e5m2),
            "c": torch.full((2048,), float("nan")),
        }
        expected = {name: value.clone() for name, value in memory.items()}
        run_tiles(graph, expected, {})
        simulate(given, memory, {})
        assert torch.equal(memory["c"], expected["c"])
        a = memory["a"].float().reshape(64, 64)
        b = memory["b"].float().reshape((32, 64) if turned else (64, 32))
        exact = a.double() @ (b.T if turned else b).double()
        torch.testing.assert_close(memory["c"].reshape(64, 32), exact.float())
