from compiler.assign import assign
from compiler.assign.laws import layout_of
from compiler.codegen.gluon.tile_printer import FilePrinter
from compiler.convert.plan import plans
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


def test_memory_in_common_is_waited_for_by_all_warps() -> None:
    """A conversion within warps must not overwrite what another one still reads."""
    rows = layout_of([8, 128], [1, 2, 4], [8, 16, 32, 64, 128], [256, 512])
    columns = layout_of([8, 128], [8, 16, 32], [1, 2, 4, 64, 128], [256, 512])
    found = [
        one
        for one in plans(rows, columns, 32)
        if one.shared_bytes and "bar.sync" not in one.counts
    ]
    assert found, "a way through memory that stays within warps"
    for tile, waits in (("", False), ("tile", True)):
        made = found[0].emit("hardware", tile=tile).function.block
        assert made is not None
        first = made.text.split("st.shared")[0].split("stmatrix")[0]
        assert ("bar.sync 0" in first) == waits
