"""Loads a round ahead: which, what the PTX computes, and that no load goes too far."""

import re
from typing import Any

import numpy as np
import pytest

from compiler.assign import assign
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import tile_kernel
from compiler.codegen.gluon.tile_prefetch import early_loads
from compiler.codegen.gluon.tile_printer import FilePrinter
from compiler.ir.index import add, floordiv, mul
from compiler.ir.tile import TileGraph, TileLoop, coordinate
from compiler.ir.tile_builder import TileBuilder
from compiler.triton_api import compile_gluon
from verify.ptx.numeric import run_kernel

D0, D1 = coordinate(0), coordinate(1)
DEPTH = 32


def weighted_sum(dtype: str = "int8", *, stored: bool = False) -> TileGraph:
    """Sum over rounds of matrices, each of whose rows has a weight of its own."""
    b = TileBuilder("weighted_sum")
    k = b.size("k", divisible=DEPTH, typical=1024)
    b.buffer("w", dtype, [k, 32])
    b.buffer("s", "float32", [k])
    b.buffer("c", "float32", [DEPTH, 32])
    zero = b.full([DEPTH, 32], 0.0, "float32")
    with b.loop("step", floordiv(k, DEPTH), zero) as inside:
        start = mul(inside.counter, DEPTH)
        w = b.load("w", [add(start, D0), D1], [DEPTH, 32])
        s = b.load("s", [add(start, D0)], [DEPTH])
        if stored:
            b.store("w", [add(start, D0), D1], w)
        scaled = b.apply("mul", b.cast(w, "float32"), b.expand_dims(s, 1))
        inside.yields(b.apply("add", scaled, inside.arguments[0]))
    b.store("c", [D0, D1], inside.results[0])
    return b.graph()


def compiled(stages: int, dtype: str) -> Any:
    graph = weighted_sum(dtype)
    kernel = tile_kernel(assign(graph, 1), stages)
    function = getattr(load_module(kernel.text), kernel.name)
    names = list(kernel.parameters)
    made = compile_gluon(function, kernel.parameters, {}, aligned=names, num_warps=1)
    return kernel, made.asm["ptx"]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_ptx_computes_the_sum_and_reads_no_further(dtype: str) -> None:
    kernel, ptx = compiled(2, dtype)
    rng = np.random.default_rng(0)
    for rounds in (0, 1, 2, 5):
        k = rounds * DEPTH
        arrays = {
            # arrays end where the last round ends: one load more would be a fault
            "w": rng.integers(-100, 101, (k, 32)).astype(dtype),
            "s": rng.integers(1, 4, k).astype(np.float32),
            "c": np.full((DEPTH, 32), np.nan, np.float32),
        }
        given: dict[str, Any] = {**arrays, "k": k}
        run_kernel(ptx, [given[name] for name in kernel.parameters], (1, 1, 1))
        scaled = arrays["w"].astype(np.float64) * arrays["s"][:, None]
        assert (arrays["c"] == scaled.reshape(rounds, DEPTH, 32).sum(0)).all()


def test_a_rounds_loads_wait_for_nothing() -> None:
    """All loads of the next round come before the first sum of a round."""
    kinds = r"ld\.global\S*\.b\d+|fma\.rn|add\.f32"
    orders = []
    for stages in (1, 2):
        _, ptx = compiled(stages, "int8")
        found = [name.startswith("ld") for name in re.findall(kinds, ptx)]
        orders.append("".join("l" if load else "s" for load in found))
    once = orders[0]
    assert re.fullmatch("l+s+", once)
    assert orders[1] == "l" * once.count("l") + once


def test_what_is_ahead() -> None:
    for stored, ahead in ((False, ["w", "s"]), (True, ["s"])):
        graph = weighted_sum(stored=stored)
        loop = next(o for o in graph.operators if isinstance(o, TileLoop))
        printer = FilePrinter(assign(graph, 1), 2)
        found = early_loads(printer, loop, ())
        assert [load.buffer for load in found] == ahead
        assert early_loads(printer, loop, loop.body) == []
