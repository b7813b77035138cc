from dataclasses import replace

import pytest

from algebra.errors import UnsupportedLayoutError
from compiler.assign import assign
from compiler.assign.laws import layout_of
from compiler.codegen.gluon.tile_dot import choice_of, to_tensor
from compiler.codegen.gluon.tile_printer import FilePrinter
from compiler.ir.tile import TileDot, coordinate
from compiler.ir.tile_builder import TileBuilder


def printer() -> tuple[FilePrinter, TileDot]:
    b = TileBuilder("product")
    at = [coordinate(0), coordinate(1)]
    b.buffer("a", "float16", [16, 16])
    left = b.load("a", at, [16, 16])
    b.dot(left, left, b.full([16, 16], 0.0, "float32"))
    graph = b.graph()
    step = graph.operators[-1]
    assert isinstance(step, TileDot)
    return FilePrinter(assign(graph, 1)), step


def test_the_instruction_is_the_assignments() -> None:
    found, step = printer()
    assert choice_of(found, step).parent.warps_per_cta == (1, 1)
    wrong = layout_of([16, 16], [1, 2, 4], [8, 16, 32, 64, 128], [])
    given = replace(found.given, layouts={**found.given.layouts, step.result: wrong})
    with pytest.raises(UnsupportedLayoutError, match="fragments"):
        choice_of(FilePrinter(given), step)


def test_copies_in_threads_have_no_tensor() -> None:
    found, _ = printer()
    with pytest.raises(UnsupportedLayoutError, match="copies"):
        to_tensor(found, "x", layout_of([4], [], [1, 2, 0, 0, 0], []))
