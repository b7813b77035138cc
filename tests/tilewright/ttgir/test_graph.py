from collections.abc import Callable

import pytest

from compiler.ir.tile import (
    TileJoin,
    TileLoad,
    TileLoop,
    TileReduce,
    TileScan,
    TileSplit,
    TileStore,
    steps,
)
from tilewright.ttgir.graph import NotModelledError, graph_of
from verify.mlir import read_module

Dump = Callable[[str], str]


def test_addresses_and_masks_become_expressions(dump: Dump) -> None:
    graph = graph_of(read_module(dump("transposed")))
    loads = [o for o in graph.operators if isinstance(o, TileLoad)]
    assert [one.buffer for one in loads] == ["x", "y"]
    assert loads[0].condition is not None and loads[1].condition is None
    text = repr(loads[0].index)
    assert "d0" in text and "d1" in text and "n" in text
    assert graph.divisible["n"] == 16 and graph.divisible["m"] == 1


def test_loops_carry_tiles_and_not_addresses(dump: Dump) -> None:
    graph = graph_of(read_module(dump("summed")))
    (loop,) = (o for o in graph.operators if isinstance(o, TileLoop))
    assert len(loop.carried) == 1
    kinds = {type(step) for step, _ in steps(graph.operators)}
    assert {TileLoad, TileReduce, TileStore} <= kinds


def test_loaded_addresses_pairs_and_scans(dump: Dump) -> None:
    graph = graph_of(read_module(dump("picked")))
    kinds = [type(o) for o in graph.operators]
    assert {TileJoin, TileSplit, TileScan} <= set(kinds)
    assert any(o.operands for o in graph.operators if isinstance(o, TileLoad))


def test_what_has_no_operator_is_named(dump: Dump) -> None:
    with pytest.raises(NotModelledError, match=r"tt\.atomic_rmw"):
        graph_of(read_module(dump("counted")))
