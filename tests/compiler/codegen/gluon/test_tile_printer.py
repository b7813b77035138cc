from compiler.assign import assign
from compiler.assign.laws import layout_of
from compiler.codegen.gluon.tile_printer import FilePrinter
from compiler.ir.tile import TileGraph, coordinate
from compiler.ir.tile_builder import TileBuilder


def small() -> TileGraph:
    b = TileBuilder("small")
    b.buffer("x", "float32", [64])
    b.store("x", [coordinate(0)], b.load("x", [coordinate(0)], [64]))
    return b.graph()


def test_coordinates_are_sums_where_bits_are_apart() -> None:
    printer = FilePrinter(assign(small(), 1))
    printer.coordinates(layout_of([4, 16], [1, 4], [2, 8, 16, 32, 0], []), ["a", "b"])
    assert " + " in printer.lines[-1]
    printer.coordinates(layout_of([64], [1, 4], [3, 8, 16, 32, 0], []), ["a"])
    assert " ^ " in printer.lines[-1]


def test_a_conversion_is_printed_once_and_its_function_shared() -> None:
    graph = small()
    given = assign(graph, 1)
    (load, store) = graph.operators
    other = layout_of([64], [32], [1, 2, 4, 8, 16], [])
    wanted = {**given.wanted, (store, 0): other}
    from dataclasses import replace

    printer = FilePrinter(replace(given, wanted=wanted))
    first = printer.read(store, 0)
    lines = len(printer.lines)
    assert printer.read(store, 0) == first and len(printer.lines) == lines
    assert len(printer.functions) == 1
    assert load.operands == ()
