"""Loops that copy ahead: which loads, and the order of what the PTX does."""

import re

import pytest

from compiler.assign import assign
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import tile_kernel
from compiler.codegen.gluon.tile_pipeline import streams_of
from compiler.codegen.gluon.tile_printer import FilePrinter
from compiler.ir.index import add, floordiv, mul, symbol
from compiler.ir.tile import TileGraph, TileLoop, coordinate
from compiler.ir.tile_builder import TileBuilder
from compiler.triton_api import compile_gluon

D0, D1 = coordinate(0), coordinate(1)


def matmul(transposed: bool = False, dtype: str = "float16") -> TileGraph:
    b = TileBuilder("matmul")
    m, n, k = (b.size(name, divisible=64, typical=1024) for name in "mnk")
    b.buffer("a", dtype, [m, k])
    b.buffer("b", dtype, [n, k] if transposed else [k, n])
    b.buffer("c", "float32", [m, n])
    row = add(mul(symbol("program0"), 64), D0)
    with b.loop("step", floordiv(k, 64), b.full([64, 64], 0.0, "float32")) as inside:
        start = mul(inside.counter, 64)
        left = b.load("a", [row, add(start, D1)], [64, 64])
        column = mul(symbol("program1"), 64)
        if transposed:
            right = b.load("b", [add(column, D0), add(start, D1)], [64, 64])
            right = b.transpose(right, [1, 0])
        else:
            right = b.load("b", [add(start, D0), add(column, D1)], [64, 64])
        if dtype == "int8":
            left, right = b.cast(left, "float16"), b.cast(right, "float16")
        inside.yields(b.dot(left, right, inside.arguments[0]))
    at = [row, add(mul(symbol("program1"), 64), D1)]
    b.store("c", at, inside.results[0])
    return b.graph()


def loop_of(graph: TileGraph) -> TileLoop:
    return next(o for o in graph.operators if isinstance(o, TileLoop))


@pytest.mark.parametrize("transposed", [False, True])
def test_factors_are_copied_ahead(transposed: bool) -> None:
    graph = matmul(transposed)
    printer = FilePrinter(assign(graph), 3)
    streams = streams_of(printer, loop_of(graph))
    assert [len(stream.views) for stream in streams] == [0, int(transposed)]
    assert streams[1].tile is not streams[0].tile


def test_what_is_computed_is_not_copied() -> None:
    graph = matmul(dtype="int8")
    printer = FilePrinter(assign(graph), 3)
    assert streams_of(printer, loop_of(graph)) == []


@pytest.mark.parametrize("transposed", [False, True])
def test_factors_of_8_bits_are_copied_where_they_lie_along_k(transposed: bool) -> None:
    graph = matmul(transposed, "float8_e5m2")
    printer = FilePrinter(assign(graph), 3)
    found = [stream.load.buffer for stream in streams_of(printer, loop_of(graph))]
    assert found == (["a", "b"] if transposed else ["a"])
    if transposed:
        kernel = tile_kernel(assign(graph), 3)
        function = getattr(load_module(kernel.text), kernel.name)
        compiled = compile_gluon(
            function, kernel.parameters, {}, aligned=list(kernel.parameters)
        )
        assert ".f32.e5m2.e5m2" in compiled.asm["ptx"]


@pytest.mark.parametrize("transposed", [False, True])
def test_ptx_waits_meets_copies_and_multiplies_in_order(transposed: bool) -> None:
    kernel = tile_kernel(assign(matmul(transposed)), 3)
    function = getattr(load_module(kernel.text), kernel.name)
    names = list(kernel.parameters)
    compiled = compile_gluon(
        function, kernel.parameters, {}, aligned=names, num_warps=kernel.warps
    )
    kinds = (
        r"cp\.async\.wait_group|cp\.async\.commit_group|cp\.async\.c[ag]|bar\.sync|"
        r"fence\.proxy\.async|wgmma\.mma_async|wgmma\.wait_group"
    )
    found = re.findall(kinds, compiled.asm["ptx"])
    # two rounds' copies before the loop, eight copies each; a barrier does no harm
    before = ["cp.async.cg"] * 8 + ["cp.async.commit_group"]
    start = found.index("cp.async.wait_group")
    assert [kind for kind in found[:start] if kind != "bar.sync"] == before * 2
    loop = found[start:]
    first = loop[: loop.index("wgmma.wait_group") + 1]
    assert first[:2] == ["cp.async.wait_group", "bar.sync"]
    assert first[2:11] == before
    assert first[11] == "fence.proxy.async"
    assert set(first[12:-1]) <= {"bar.sync", "wgmma.mma_async"}


def test_one_stage_loads_to_registers() -> None:
    text = tile_kernel(assign(matmul())).text
    assert "wait_group" not in text and ".store(" in text
