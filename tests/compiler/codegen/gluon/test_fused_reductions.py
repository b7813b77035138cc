"""Reductions whose reads lie across, as tile graphs: what they compute."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra.verdict import Proved
from benchmarks.fake_triton import loadable
from compiler.assign import assign, simulate
from compiler.codegen.gluon.fused_kernel import print_assigned
from compiler.codegen.gluon.fused_reductions import quotient
from compiler.codegen.gluon.fused_tiles import fused_tiles
from compiler.codegen.triton import print_kernel
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.tile import Plan, lies_across
from compiler.errors import NotTiledError
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, digit, index
from compiler.ir.kernel import Kernel, Reduction, Stage, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, cast, constant, load, local
from compiler.ir.tile import TileMap
from compiler.runtime.triton_kernel import TritonKernel

X, R = digit("i"), digit("j")
A, B = load("a", (X, R), "float32"), load("b", (X, R), "float32")


def kernel_of(
    stages: Sequence[Stage], points: int, terms: int, types: dict[str, str]
) -> Kernel:
    """Arrays named ``b...`` have adjacent points, others adjacent terms."""
    buffers = {}
    for name, dtype in types.items():
        shape: tuple[int, ...] = (points, terms)
        steps: tuple[int, ...] = (terms, 1)
        if name.startswith("b"):
            steps = (1, points)
        if name.startswith("s"):
            shape, steps = (points,), (1,)
        sizes, strides = tuple(map(index, shape)), tuple(map(index, steps))
        buffers[name] = Buffer(name, dtype, sizes, "cuda:0", strides)
    outer, inner = (Axis(X, index(points)),), (Axis(R, index(terms)),)
    return Kernel("rows", outer, inner, tuple(stages), buffers)


def reduced(kind: str, value: Expression, dtype: str, count: int = 1) -> Reduction:
    names = tuple(f"l{number}" for number in range(count))
    return Reduction(names, kind, (value,), (dtype,) * count)


def out(number: int, dtype: str = "float32", name: str = "s") -> Store:
    value = local(f"l{number}", dtype)
    return Store(f"{name}{number}", (X,), value, False)


def run(
    chosen: Plan, memory: dict[str, torch.Tensor], programs: Sequence[int], judge: bool
) -> None:
    names = {name: name for name in chosen.kernel.buffers}
    graph = fused_tiles(chosen, names, {}, "k")
    found = assign(graph, chosen.num_warps, most_layouts=6, most_cells=0)
    if judge:
        assert isinstance(found.prove(), Proved)
    for program in programs:
        symbols = {"program0": program}
        if judge:
            simulate(found, memory, symbols)
        else:
            run_tiles(graph, memory, symbols)


def arrays(points: int, terms: int, dtype: str = "float32") -> Any:
    generator = torch.Generator().manual_seed(points * terms)
    a = torch.randint(-9, 9, (points, terms), generator=generator).to(
        getattr(torch, dtype)
    )
    b = torch.randint(-9, 9, (terms, points), generator=generator).to(
        getattr(torch, dtype)
    )
    return a, b


@pytest.mark.parametrize("terms", [8, 20, 64])
@pytest.mark.parametrize("points", [16, 45])
@pytest.mark.parametrize(
    ("kind", "reference"),
    [("sum", torch.sum), ("maximum", torch.amax), ("minimum", torch.amin)],
)
def test_columns(terms: int, points: int, kind: str, reference: Any) -> None:
    for dtype in ("float32", "bfloat16", "int32"):
        value = load("b", (X, R), dtype)
        wide = value if dtype == "int32" else cast(value, "float32")
        stages: list[Stage] = [reduced(kind, wide, wide.dtype), out(0, wide.dtype)]
        types = {"b": dtype, "s0": wide.dtype}
        chosen = plan(kernel_of(stages, points, terms, types))
        assert lies_across(chosen) and chosen.persistent
        _, b = arrays(points, terms, dtype)
        s = torch.full((points,), 99).to(getattr(torch, wide.dtype))
        count = constant_value(chosen.tiles) or 0
        judge = terms == 20 and dtype != "bfloat16"
        run(chosen, {"b": b.ravel(), "s0": s}, range(count), judge)
        assert torch.equal(s, reference(b.to(s.dtype), 0).to(s.dtype))


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([17, 24, 70]),
    st.sampled_from(["sum", "maximum", "any"]),
    st.sampled_from(["float32", "float16", "int8"]),
    st.booleans(),
)
def test_rows_of_which_one_array_lies_across(
    terms: int, kind: str, dtype: str, judge: bool
) -> None:
    points = 4224 * 2 + 3
    a, b = (cast(load(n, (X, R), dtype), "float32") for n in "ab")
    value = apply("mul", a, b)
    kept = "bool" if kind == "any" else "float32"
    if kind == "any":
        value = apply("gt", value, constant(60.0, "float32"))
    types = {"a": dtype, "b": dtype, "s0": kept, "o": "float16"}
    total = local("l0", kept)
    late = apply("add", cast(total, "float32"), a)
    stages: list[Stage] = [
        reduced(kind, value, kept),
        out(0, kept),
        Store("o", (X, R), cast(late, "float16"), True),
    ]
    chosen = plan(kernel_of(stages, points, terms, types))
    assert lies_across(chosen) and chosen.reduced is not None
    numbers = arrays(points, terms, dtype)
    s = torch.zeros(points, dtype=getattr(torch, kept))
    o = torch.full((points * terms,), float("nan"), dtype=torch.float16)
    memory = {"a": numbers[0].ravel(), "b": numbers[1].ravel(), "s0": s, "o": o}
    last = (constant_value(chosen.tiles) or 0) - 1
    run(chosen, memory, (0, last), judge)
    left, right = numbers[0].float(), numbers[1].T.float()
    product = left * right
    want = {
        "sum": product.sum(1),
        "maximum": product.amax(1),
        "any": (product > 60).any(1),
    }[kind]
    rows = chosen.tile[0].block
    for part in (slice(0, rows), slice(last * rows, points)):
        assert torch.equal(s[part], want[part])
        expected = (want[:, None].float() + left).half()
        assert torch.equal(o.view(points, terms)[part], expected[part])


@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize("points", [16, 35])
def test_moments_and_softmax_of_columns(points: int, judge: bool) -> None:
    terms = 30
    e = apply("exp", apply("sub", B, local("l0", "float32")))
    share = apply("truediv", e, local("l1", "float32"))
    softmax: list[Stage] = [
        reduced("online_softmax", B, "float32", 2),
        Store("b2", (X, R), share, True),
        out(0),
        out(1),
    ]
    types = dict.fromkeys(("b", "b2", "s0", "s1", "s2"), "float32")
    chosen = plan(kernel_of(softmax, points, terms, types))
    _, b = arrays(points, terms)
    b[3, 5] = float("-inf")
    memory = {name: torch.full((points * terms,), float("nan")) for name in types}
    memory["b"] = b.ravel()
    programs = range(constant_value(chosen.tiles) or 0)
    names = {n: one for n, one in memory.items() if n in chosen.kernel.buffers}
    run(chosen, names, programs, judge)
    torch.testing.assert_close(memory["b2"].view(terms, points), b.softmax(0))
    assert torch.equal(memory["s0"][:points], b.amax(0))
    b[3, 5] = 0
    moments: list[Stage] = [reduced("welford", B, "float32", 3), out(0), out(1), out(2)]
    chosen = plan(kernel_of(moments, points, terms, types))
    run(chosen, memory, programs, judge)
    torch.testing.assert_close(memory["s0"][:points], b.mean(0))
    spread = b.var(0, unbiased=False) * terms
    torch.testing.assert_close(memory["s1"][:points], spread)
    assert bool((memory["s2"][:points] == terms).all())


def ptx_of(kernel: Kernel) -> str:
    chosen = plan(kernel)
    ours = print_assigned(chosen, print_kernel(kernel, chosen))
    text: str = loadable(TritonKernel(ours).compile(arch=90)).asm["ptx"]
    return text


def test_extremes_keep_nan_in_ptx() -> None:
    stages: list[Stage] = [reduced("maximum", B, "float32"), out(0)]
    kernel = kernel_of(stages, 64, 40, {"b": "float32", "s0": "float32"})
    ptx = ptx_of(kernel)
    assert "max.NaN.f32" in ptx and not re.search(r"max\.f32", ptx)


def test_a_softmax_compiles_with_shared_exponentials() -> None:
    e = apply("exp", apply("sub", B, local("l0", "float32")))
    share = cast(apply("truediv", e, local("l1", "float32")), "bfloat16")
    stages: list[Stage] = [
        reduced("online_softmax", B, "float32", 2),
        Store("b2", (X, R), share, True),
    ]
    kernel = kernel_of(stages, 64, 32, {"b": "float32", "b2": "bfloat16"})
    chosen = plan(kernel)
    ours = print_assigned(chosen, print_kernel(kernel, chosen))
    assert ours.source.count("exp_fast(") == 1 + 1
    assert ours.source.count("div_rn(") == 1
    assert loadable(TritonKernel(ours).compile(arch=90)).asm["cubin"]


def test_quotients_round_once() -> None:
    x, y, z = (local(name, "float32") for name in "xyz")
    assert quotient(x, y, z, True) is apply("mul", x, z)
    assert repr(quotient(x, y, z, False)).startswith("fma(fma(neg(mul(x, z)), y, x)")


@pytest.mark.parametrize("kind", ["argmax", "product", "sum"])
def test_what_no_tile_reduces_is_refused(kind: str) -> None:
    dtype = "int64" if kind == "sum" else "float32"
    value = load("b", (X, R), dtype)
    stages: list[Stage] = [reduced(kind, value, "int64"), out(0, "int64")]
    kernel = kernel_of(stages, 64, 32, {"b": dtype, "s0": "int64"})
    chosen = plan(kernel)
    names = {name: name for name in chosen.kernel.buffers}
    with pytest.raises(NotTiledError, match="needed a reduction of words"):
        fused_tiles(chosen, names, {}, "k")


def test_a_sum_that_takes_in_what_is_outside_is_seen() -> None:
    """Without what is neutral outside the rows: the fault that masks prevent."""
    stages: list[Stage] = [
        reduced("sum", apply("add", B, constant(1.0, "float32")), "float32"),
        out(0),
    ]
    chosen = plan(kernel_of(stages, 20, 20, {"b": "float32", "s0": "float32"}))
    names = {name: name for name in chosen.kernel.buffers}
    graph = fused_tiles(chosen, names, {}, "k")
    _, b = arrays(20, 20)

    def total(graph: Any) -> torch.Tensor:
        s = torch.zeros(20)
        for program in range(constant_value(chosen.tiles) or 0):
            run_tiles(graph, {"b": b.ravel(), "s0": s}, {"program0": program})
        return s

    assert torch.equal(total(graph), (b + 1).sum(0))
    operators = tuple(
        replace(o, value=o.value.args[1])
        if isinstance(o, TileMap) and o.value.op == "where"
        else o
        for o in graph.operators
    )
    broken = replace(graph, operators=operators)
    assert not torch.equal(total(broken), (b + 1).sum(0))
