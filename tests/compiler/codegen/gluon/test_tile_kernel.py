"""Kernels from assignments: they compile for sm_90, and their PTX is proved."""

import random
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra.verdict import Proved
from benchmarks.fake_triton import loadable
from compiler.assign import Assignment, arbitrary, assign
from compiler.assign.laws import Need
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import TileKernel, tile_kernel
from compiler.errors import BuildError
from compiler.ir.scalar import bits
from compiler.ir.tile import TileGraph, TileStore, coordinate
from compiler.ir.tile_builder import TileBuilder
from compiler.triton_api import compile_gluon
from verify.ptx import prove_conversion
from verify.strategies.tile_graphs import MoveCase, move_graphs, tile_graphs

D0, D1 = coordinate(0), coordinate(1)


def compiled(kernel: TileKernel) -> Any:
    function = getattr(load_module(kernel.text), kernel.name)
    names = list(kernel.parameters)
    return loadable(
        compile_gluon(
            function, kernel.parameters, {}, aligned=names, num_warps=kernel.warps
        )
    )


def ptx_of(given: Assignment) -> str:
    text: str = compiled(tile_kernel(given)).asm["ptx"]
    return text


def proved(case: MoveCase, found: Assignment) -> object:
    store = next(o for o in found.graph.operators if isinstance(o, TileStore))
    origin = case.origin
    need = Need(
        tuple(origin[1 << b] ^ origin[0] for b in range(len(origin).bit_length() - 1)),
        origin[0],
    )
    dst = need.after(found.wanted[store, 0], case.loaded.shape)
    src, width = found.layouts[case.loaded], bits(case.loaded.dtype)
    return prove_conversion(ptx_of(found), src, dst, width)


def each_operator() -> TileGraph:
    b = TileBuilder("each_operator")
    n = b.size("n", divisible=16, typical=64)
    b.buffer("x", "float32", [16, n])
    b.buffer("at", "int32", [16, 16])
    b.buffer("y", "float32", [16, 16])
    x = b.load("x", [D0, D1], [16, 64])
    low, high = b.split(b.reshape(x, [16, 32, 2]))
    pairs = b.reshape(b.join(high, low), [16, 64])
    folded = b.scan("sum", b.apply("maximum", pairs, x), 1)
    at = b.load("at", [D0, D1], [16, 16])
    taken = b.gather(folded, at, 1)
    row = b.expand_dims(b.reduce("maximum", taken, 1), 1)
    b.store("y", [D0, D1], b.transpose(b.apply("sub", taken, row), [1, 0]))
    return b.graph()


def test_every_operator_compiles() -> None:
    ptx = ptx_of(assign(each_operator()))
    assert "ld.global.v4" in ptx and "st.global" in ptx


def test_vectors_survive_masks_and_copies() -> None:
    b = TileBuilder("masked")
    from compiler.ir.tile_builder import less

    n = b.size("n", divisible=16, typical=512)
    b.buffer("x", "float16", [n])
    b.buffer("y", "float16", [4, n])
    x = b.load("x", [D0], [512], less(D0, n))
    b.store("y", [D0, D1], b.fit(x, [4, 512]), less(D1, n))
    ptx = ptx_of(assign(b.graph()))
    assert re.search(r"ld\.global\.v4", ptx) and not re.search(r"ld\.global\.b16", ptx)


def test_loops_compile() -> None:
    b = TileBuilder("looped")
    b.buffer("x", "float32", [1024, 64])
    b.buffer("y", "float32", [64])
    with b.loop("k", b.size("rounds"), b.full([64], 0.0, "float32")) as inside:
        from compiler.ir.index import add, mul

        x = b.load("x", [add(mul(inside.counter, 16), D0), D1], [16, 64])
        inside.yields(b.apply("add", inside.arguments[0], b.reduce("sum", x, 0)))
    b.store("y", [D0], inside.results[0])
    kernel = tile_kernel(assign(b.graph()))
    assert list(kernel.parameters) == ["x", "y", "rounds"]
    assert "for k in range(rounds):" in kernel.text
    assert compiled(kernel).asm["cubin"]


def test_products_compile_to_mma() -> None:
    b = TileBuilder("product")
    b.buffer("a", "float16", [32, 64])
    b.buffer("b", "float16", [64, 32])
    b.buffer("c", "float32", [32, 32])
    left, right = b.load("a", [D0, D1], [32, 64]), b.load("b", [D0, D1], [64, 32])
    b.store("c", [D0, D1], b.dot(left, right, b.full([32, 32], 0.0, "float32")))
    assert "mma.sync" in ptx_of(assign(b.graph()))


def test_what_gluon_lacks_is_named() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [64])
    b.store("x", [D0], b.apply("lgamma", b.load("x", [D0], [64])))
    with pytest.raises(BuildError, match="lgamma"):
        tile_kernel(assign(b.graph()))


@settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None)
@given(move_graphs(most_bits=8, most_operators=3), st.randoms(use_true_random=False))
def test_ptx_of_arbitrary_moves_is_proved(case: MoveCase, rng: random.Random) -> None:
    found = arbitrary(case.graph, lambda count: rng.randrange(count), most_layouts=4)
    assert isinstance(proved(case, found), Proved)


def test_a_wrong_conversion_in_ptx_is_refuted() -> None:
    """The layouts of another assignment than the one that was printed."""
    b = TileBuilder("moved")
    b.buffer("in0", "float32", [16, 16])
    b.buffer("out", "float32", [256])
    x = b.load("in0", [D0, D1], [16, 16])
    from compiler.ir.index import add, mul

    b.store("out", [add(mul(D0, 16), D1)], x)
    rng = random.Random(0)
    case = MoveCase(b.graph(), x, x, tuple(range(256)))
    found = arbitrary(case.graph, lambda count: rng.randrange(count))
    other = arbitrary(case.graph, lambda count: rng.randrange(count))
    assert found.layouts[x] != other.layouts[x]
    verdict = prove_conversion(ptx_of(found), other.layouts[x], other.layouts[x], 32)
    assert not isinstance(verdict, Proved)


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(move_graphs(most_operators=5), st.randoms(use_true_random=False))
def test_ptx_of_100_random_graphs_is_proved(case: MoveCase, rng: random.Random) -> None:
    found = arbitrary(case.graph, lambda count: rng.randrange(count), most_layouts=6)
    assert isinstance(found.prove(), Proved)
    assert isinstance(proved(case, found), Proved)


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(tile_graphs(most_operators=6))
def test_random_graphs_compile(case: Any) -> None:
    assert compiled(tile_kernel(assign(case.graph, most_layouts=6))).asm["cubin"]
