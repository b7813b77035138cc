import random
from collections.abc import Callable

import torch

from algebra import LinearLayout
from compiler.assign.assignment import Assignment
from compiler.assign.choices import Threads
from compiler.assign.scan import fetched, scan_cost
from compiler.assign.simulate import simulate
from compiler.cost import device
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.tile import TileScan, coordinate, results_of, steps
from compiler.ir.tile_builder import TileBuilder

Draw = Callable[[tuple[int, ...], random.Random], LinearLayout]


def test_any_layout_scans(draw_layout: Draw) -> None:
    """Xors and copies included: simulated right, and proved."""
    b = TileBuilder("scan")
    b.buffer("x", "int32", [8, 16])
    b.buffer("y", "int32", [8, 16])
    at = [coordinate(0), coordinate(1)]
    for axis in (0, 1):
        b.operators.clear()
        b.store("y", at, b.scan("sum", b.load("x", at, [8, 16]), axis))
        graph = b.graph()
        for seed in range(4):
            layout = draw_layout((8, 16), random.Random(seed))
            layouts = {
                t: layout for s, _ in steps(graph.operators) for t in results_of(s)
            }
            wanted = {
                (s, n): layout
                for s, _ in steps(graph.operators)
                for n in range(len(s.operands))
            }
            given = Assignment(
                graph, Threads(1, device("sm_90")), layouts, wanted, 0.0, False
            )
            assert type(given.prove()).__name__ == "Proved"
            memory = {"x": torch.arange(128, dtype=torch.int32) % 7}
            memory["y"] = torch.zeros(128, dtype=torch.int32)
            other = {name: value.clone() for name, value in memory.items()}
            run_tiles(graph, memory, {})
            simulate(given, other, {})
            assert torch.equal(memory["y"], other["y"])


def test_what_a_round_fetches() -> None:
    layout = LinearLayout.from_bases(
        {"register": [[1], [2]], "lane": [[4]], "warp": [], "block": []}, ["dim0"]
    )
    found = fetched(layout, [8], 0, 1)
    # element 6 = 0b110 takes the last of its lower half, 5 = 0b101
    assert found({"register": 2, "lane": 1, "warp": 0, "block": 0}) == {"dim0": 5}


def test_scans_in_registers_cost_less() -> None:
    b = TileBuilder("scan")
    b.scan("sum", b.full([4, 32], 0, "int32"), 0)
    step = b.operators[-1]
    assert isinstance(step, TileScan)

    def layout(register: list[list[int]], lane: list[list[int]]) -> LinearLayout:
        bases = {"register": register, "lane": lane, "warp": [], "block": []}
        return LinearLayout.from_bases(bases, {"dim0": 4, "dim1": 32})

    rows = [[0, 1 << bit] for bit in range(5)]
    own = layout([[1, 0], [2, 0]], rows)
    spread = layout([[0, 1], [0, 2]], [[1, 0], [2, 0], *rows[2:]])
    machine = device("sm_90")
    assert scan_cost(own, step, machine) < scan_cost(spread, step, machine)
