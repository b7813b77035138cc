import random

from compiler.assign import arbitrary, assign
from compiler.ir.tile import TileGraph


def test_edges_of_one_layout_are_one(transposed: TileGraph) -> None:
    found = arbitrary(transposed, random.Random(1).randrange)
    keys = [(edge.tile, edge.dst) for edge in found.edges()]
    assert len(set(keys)) == len(keys)
    for edge in found.conversions():
        assert found.plan(edge).cost > 0
        for step, number in edge.users:
            assert step.operands[number] is edge.tile


def test_explain_names_tiles_and_conversions(transposed: TileGraph) -> None:
    rng = random.Random(0)
    found = arbitrary(transposed, rng.randrange)
    while not found.conversions():
        found = arbitrary(transposed, rng.randrange)
    text = found.explain()
    assert "conversion of" in text and "TileLoad" in text and "greedy" in text
    assert "greedy" not in assign(transposed).explain()


def test_flat_layouts_are_one_for_each_tile(softmax: TileGraph) -> None:
    found = assign(softmax)
    for tile, layout in found.layouts.items():
        assert tuple(layout.out_dims.values()) == tile.shape
