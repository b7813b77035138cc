from dataclasses import replace

import pytest

from algebra.verdict import Proved
from compiler.assign import assign
from compiler.assign.access import Access
from compiler.assign.crossing import Crossing, crossing, woven
from compiler.assign.laws import layout_of
from compiler.ir.index import add, mul, symbol
from compiler.ir.tile import TileGraph, TileLoad, TileStore, coordinate, steps
from compiler.ir.tile_builder import TileBuilder

D0, D1 = coordinate(0), coordinate(1)
FAR = 1 << 12


def rows(shape: tuple[int, int], element_bits: int = 32) -> Access:
    """A tile of a matrix whose rows are lines."""
    sizes = [size.bit_length() - 1 for size in shape]
    steps = [FAR << bit for bit in range(sizes[0])]
    steps += [1 << bit for bit in range(sizes[1])]
    return Access(shape, element_bits, tuple(steps), 1, 128 // element_bits)


def turned(shape: tuple[int, int], element_bits: int = 32) -> Crossing:
    """A tile and the transposed one."""
    sizes = [size.bit_length() - 1 for size in shape]
    there = [1 << sizes[1] + bit for bit in range(sizes[0])]
    there += [1 << bit for bit in range(sizes[1])]
    one = rows(shape, element_bits)
    return Crossing(one, rows(shape[::-1], element_bits), tuple(there))


@pytest.mark.parametrize("shape", [(64, 64), (32, 64), (128, 64), (32, 32), (128, 256)])
@pytest.mark.parametrize("element_bits", [8, 16, 32, 64])
def test_squares_hold_every_element_once(
    shape: tuple[int, int], element_bits: int
) -> None:
    given = turned(shape, element_bits)
    found = woven(given, 2, 5)
    square = (128 // element_bits) ** 2
    assert bool(found) is (square << 7 <= shape[0] * shape[1])
    for layout in found:
        assert layout.is_surjective
        assert sum(layout.in_bits) == sum(layout.out_bits)
        assert layout.in_bits[1:] == (5, 2, 0)
    costs = [given.cost(layout) for layout in found]
    assert costs == sorted(costs)


def test_the_best_square_has_vectors_along_both() -> None:
    given = turned((64, 64))
    best = woven(given, 2, 5)[0]
    assert len(given.access.vector(best)) == 2
    assert best.bases["register"][:4] == ((0, 1), (0, 2), (1, 0), (2, 0))


def test_parallel_lines_do_not_cross() -> None:
    given = turned((64, 64))
    same = replace(given, there=tuple(1 << bit for bit in range(12)))
    assert given.is_across() and not same.is_across()
    assert not replace(given, other=replace(given.other, axis=None)).is_across()


def test_crossing_is_seen_in_layouts_of_both() -> None:
    one = layout_of([4, 8], [4, 8], [1, 2, 16], [])
    other = layout_of([8, 4], [1, 2], [8, 16, 4], [])
    left, right = rows((4, 8)), rows((8, 4))
    found = crossing(left, one, right, other)
    assert found is not None
    assert [found.there[bit] for bit in found.access.line()] == [1, 2, 4]
    missing = layout_of([8, 4], [1, 2], [8, 16, 0], [])
    assert crossing(left, one, right, missing) is None


def transposed(dtype: str) -> TileGraph:
    b = TileBuilder("transposed")
    n = b.size("n", divisible=16, typical=4096)
    b.buffer("x", dtype, [n, n])
    b.buffer("y", dtype, [n, n])
    row, column = mul(symbol("program0"), 64), mul(symbol("program1"), 64)
    x = b.load("x", [add(column, D0), add(row, D1)], [64, 64])
    b.store("y", [add(row, D0), add(column, D1)], b.transpose(x, [1, 0]))
    return b.graph()


@pytest.mark.parametrize(("dtype", "warps"), [("float16", 2), ("float32", 4)])
def test_a_transposition_reads_and_writes_vectors(dtype: str, warps: int) -> None:
    found = assign(transposed(dtype), warps)
    assert isinstance(found.prove(), Proved) and not found.conversions()
    for step, _ in steps(found.graph.operators):
        if not isinstance(step, TileLoad | TileStore):
            continue
        tile = step.result if isinstance(step, TileLoad) else step.operands[0]
        width = 32 if dtype == "float32" else 16
        vector = rows((64, 64), width).vector(found.layouts[tile])
        assert width << len(vector) == 128
