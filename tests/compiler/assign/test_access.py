from compiler.assign.access import FAR, access_of, divisor, position
from compiler.assign.laws import layout_of
from compiler.ir import scalar
from compiler.ir.index import add, floordiv, mod, mul, symbol
from compiler.ir.tile import TileGraph, TileLoad, coordinate
from compiler.ir.tile_builder import TileBuilder, less

D0, D1 = coordinate(0), coordinate(1)


def graph_of(divisible: int, masked: bool = False) -> tuple[TileGraph, TileLoad]:
    b = TileBuilder("one")
    n = b.size("n", divisible=divisible, typical=512)
    b.buffer("x", "float16", [1024, n])
    row = add(mul(symbol("program0"), 4), D0)
    b.load("x", [row, D1], [4, 64], less(D1, n) if masked else None)
    graph = b.graph()
    step = graph.operators[0]
    assert isinstance(step, TileLoad)
    return graph, step


def test_alignment_comes_from_what_the_launcher_promises() -> None:
    for divisible, aligned in ((16, 8), (4, 4), (1, 1)):
        for masked in (False, True):
            found = access_of(*graph_of(divisible, masked))
            assert (found.axis, found.aligned) == (1, aligned)


def test_a_mask_that_changes_within_a_vector_narrows_it() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [64])
    for limit, aligned in ((48, 4), (50, 2), (51, 1)):
        b.load("x", [D0], [64], less(D0, limit))
        step = b.operators[-1]
        assert isinstance(step, TileLoad)
        assert access_of(b.graph(), step).aligned == aligned


def test_steps_are_those_of_typical_sizes() -> None:
    found = access_of(*graph_of(16))
    assert found.steps[:2] == (512, 1024) and found.steps[2:5] == (1, 2, 4)


def test_indices_that_are_loaded_are_far_apart() -> None:
    b = TileBuilder("one")
    b.buffer("at", "int32", [32])
    b.buffer("x", "float32", [1 << 12])
    at = b.load("at", [D0], [32])
    index = scalar.checked_index(scalar.local(at.name, "int32"), 1 << 12, False)
    b.load("x", [index], [32], operands=[at])
    step = b.operators[-1]
    assert isinstance(step, TileLoad)
    found = access_of(b.graph(), step)
    assert found.axis is None and set(found.steps) == {FAR}


def test_vectors_are_registers_that_own_the_low_bits() -> None:
    found = access_of(*graph_of(16))
    rows = layout_of([4, 64], [8, 4, 16], [32, 64, 128, 1, 2], [])
    assert found.vector(rows) == (1, 0, 2)
    shared = layout_of([4, 64], [4, 8, 16], [36, 64, 128, 1, 2], [])
    assert found.vector(shared) == ()


def test_coalesced_costs_less() -> None:
    found = access_of(*graph_of(16))
    good = layout_of([4, 64], [4, 8, 16], [32, 64, 128, 1, 2], [])
    scattered = layout_of([4, 64], [1, 2, 128], [4, 8, 16, 32, 64], [])
    assert found.cost(good) < found.cost(scattered)


def test_copies_in_registers_cost_nothing() -> None:
    found = access_of(*graph_of(16))
    one = layout_of([4, 64], [4, 8, 16], [32, 64, 128, 1, 2], [])
    two = layout_of([4, 64], [4, 8, 16, 0], [32, 64, 128, 1, 2], [])
    assert found.cost(one) == found.cost(two)


def test_divisor() -> None:
    graph, _ = graph_of(16)
    n = symbol("n")
    assert divisor(mul(n, 4), graph) == 64
    assert divisor(add(n, 8), graph) == 8
    assert divisor(mod(mul(D0, 8), 12), graph) == 4
    assert divisor(floordiv(n, 3), graph) == 1


def test_position_adds_strides() -> None:
    graph, step = graph_of(16)
    assert repr(position(graph.buffers["x"], step.index)).count("n") == 2
