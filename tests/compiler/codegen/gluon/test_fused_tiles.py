"""Tile graphs of the fusing compiler's kernels: they compute what the kernels say."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra.verdict import Proved
from compiler.assign import assign, simulate
from compiler.codegen.gluon.fused_tiles import fused_tiles
from compiler.codegen.triton.candidates import candidates
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.tile import Plan, lies_across
from compiler.errors import NotTiledError
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.expression import Expression, leaves, make, substitute
from compiler.ir.index import add, constant_value, digit, index, sub, symbol
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.points import size
from compiler.ir.scalar import apply, cast, checked_index, constant, from_index, load
from compiler.ir.tile import TileGraph, TileStore

X, Y, Z = DIGITS = digit("i"), digit("j"), digit("k")
TYPES = ("float32", "float16", "bfloat16", "int8", "bool", "int64")


def array(name: str, dtype: str, shape: Sequence[int], order: Sequence[int]) -> Buffer:
    """An array whose dims are adjacent in an order, the last one most."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim], step = step, step * shape[dim]
    sizes, steps = tuple(map(index, shape)), tuple(map(index, strides))
    return Buffer(name, dtype, sizes, "cuda:0", steps)


def numbers_of(values: Iterable[Expression] | None) -> list[int]:
    return [int(str(value.data)) for value in values or ()]


def kernel_of(stores: list[Store], buffers: list[Buffer], shape: list[int]) -> Kernel:
    axes = tuple(Axis(d, index(n)) for d, n in zip(DIGITS, shape, strict=False))
    return Kernel("k", axes, (), tuple(stores), {b.name: b for b in buffers})


def graph_of(chosen: Plan) -> TileGraph:
    names = {name: f"_{name}" for name in chosen.kernel.buffers}
    roots = [chosen.tiles, *(axis.extent for axis in chosen.tile)]
    sizes = {leaf: f"s_{leaf.data}" for leaf in leaves("symbol", *roots)}
    return fused_tiles(chosen, names, sizes, "k")


def transposed(m: int, n: int, dtype: str = "float32") -> Kernel:
    """``o = a + b.T``."""
    a, o = (array(x, dtype, (m, n), (0, 1)) for x in "ao")
    b = array("b", dtype, (n, m), (0, 1))
    value = apply(
        "add",
        cast(load("a", (X, Y), dtype), "float32"),
        cast(load("b", (Y, X), dtype), "float32"),
    )
    store = Store("o", (X, Y), cast(value, dtype), False)
    return kernel_of([store], [a, b, o], [m, n])


def run(chosen: Plan, memory: dict[str, torch.Tensor], judge: bool = False) -> None:
    """Run all programs on flat memory; with a judge on threads, proved."""
    graph = graph_of(chosen)
    flat = {f"_{name}": one for name, one in memory.items()}
    count = constant_value(chosen.tiles)
    assert count is not None
    found = assign(graph, chosen.num_warps, most_layouts=6) if judge else None
    if found is not None:
        assert isinstance(found.prove(), Proved)
    for program in range(count):
        symbols = {"program0": program}
        if found is None:
            run_tiles(graph, flat, symbols)
        else:
            simulate(found, flat, symbols)


def smaller(chosen: Plan, *blocks: int) -> Plan:
    tile = tuple(replace(a, block=b) for a, b in zip(chosen.tile, blocks, strict=True))
    return replace(chosen, tile=tile, num_warps=1)


@pytest.mark.parametrize("rows", range(16, 21))
def test_all_small_sizes_with_masks(rows: int) -> None:
    for columns in range(16, 21):
        chosen = plan(transposed(rows, columns))
        assert len(chosen.tile) == 2 and lies_across(chosen)
        a, b = torch.randn(rows, columns), torch.randn(columns, rows)
        for blocks in ((8, 4), (16, 16)):
            o = torch.full((rows * columns,), float("nan"))
            run(smaller(chosen, *blocks), {"a": a.ravel(), "b": b.ravel(), "o": o})
            assert torch.equal(o.view(rows, columns), a + b.T)


@st.composite
def cases(draw: Any) -> tuple[Kernel, list[tuple[Buffer, list[int]]], str]:
    """Draw a kernel that sums arrays of any order of dims into one of any order."""
    shape = [draw(st.integers(16, 36)) for _ in range(2)]
    shape.insert(draw(st.integers(0, 2)), draw(st.integers(1, 3)))
    orders = list(map(list, ([0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0])))
    inputs, total = [], constant(0.0, "float32")
    for number in range(draw(st.integers(1, 3))):
        dtype = draw(st.sampled_from(TYPES))
        order = draw(st.sampled_from(orders))
        one = array(f"a{number}", dtype, shape, order)
        inputs.append((one, order))
        value = cast(load(one.name, DIGITS, dtype), "float32")
        total = apply("add", total, apply("mul", value, value))
    dtype = draw(st.sampled_from(TYPES))
    order = draw(st.sampled_from(orders))
    out = array("o", dtype, shape, order)
    store = Store("o", DIGITS, cast(total, dtype), False)
    buffers = [*(one for one, _ in inputs), out]
    return kernel_of([store], buffers, shape), [*inputs, (out, order)], dtype


def check(case: Any, judge: bool) -> None:
    kernel, arrays, _ = case
    generator = torch.Generator().manual_seed(0)
    memory = {}
    total = torch.zeros([])
    for buffer, _ in arrays:
        sizes = numbers_of(buffer.shape)
        steps = numbers_of(buffer.strides)
        dtype = getattr(torch, buffer.dtype)
        numbers = torch.randint(0, 4, (torch.Size(sizes).numel(),), generator=generator)
        memory[buffer.name] = numbers.to(dtype)
        if buffer.name != "o":
            value = memory[buffer.name].as_strided(sizes, steps).float()
            total = total + value * value
    expected = total.to(dtype)
    chosen = plan(kernel)
    memory["o"].fill_(1)
    if len(chosen.tile) > 1:
        run(chosen, memory, judge)
        assert torch.equal(memory["o"].as_strided(sizes, steps), expected)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_permuted_reads_and_writes(case: Any) -> None:
    check(case, False)


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_permuted_reads_and_writes_on_threads(case: Any) -> None:
    check(case, True)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_many_permuted_reads_and_writes_on_threads(case: Any) -> None:
    check(case, True)


def test_a_wrong_mask_and_a_wrong_program_are_seen() -> None:
    chosen = smaller(plan(transposed(18, 20)), 8, 8)
    a, b = torch.randn(18, 20), torch.randn(20, 18)
    graph = graph_of(chosen)

    def right(found: TileGraph) -> bool:
        o = torch.full((18 * 20,), float("nan"))
        memory = {"_a": a.ravel(), "_b": b.ravel(), "_o": o}
        for program in range(9):
            run_tiles(found, memory, {"program0": program})
        return torch.equal(o.view(18, 20), a + b.T)

    def changed(**parts: Any) -> TileGraph:
        (store,) = (o for o in graph.operators if isinstance(o, TileStore))
        new = replace(store, **{k: v(store) for k, v in parts.items()})
        rest = tuple(o for o in graph.operators if o is not store)
        return replace(graph, operators=(*rest, new))

    def other_program(store: TileStore) -> tuple[Expression, ...]:
        program = symbol("program0")
        moved = sub(8, program)
        return (substitute(store.index[0], {program: moved}),)

    assert right(graph)
    wide = apply("lt", from_index(digit("d0"), "int32"), constant(8, "int32"))
    with pytest.raises(Exception, match="leaves"):
        right(changed(condition=lambda _: None, operands=lambda s: s.operands))
    assert not right(
        changed(
            condition=lambda s: apply(
                "bitwise_and", s.condition, make("bitwise_not", (wide,), "bool")
            )
        )
    )
    with pytest.raises(Exception, match="leaves"):
        assert not right(changed(index=other_program))


def test_what_belongs_to_a_column_is_computed_once() -> None:
    a, b, o = (
        array(x, "float32", (32, 32), t)
        for x, t in zip("abo", ((0, 1), (1, 0), (0, 1)), strict=True)
    )
    c = array("c", "float32", (32,), (0,))
    scale = apply("exp", load("c", (Y,), "float32"))
    value = apply(
        "mul",
        apply("add", load("a", (X, Y), "float32"), load("b", (X, Y), "float32")),
        scale,
    )
    kernel = kernel_of([Store("o", (X, Y), value, False)], [a, b, c, o], [32, 32])
    graph = graph_of(plan(kernel))
    shapes = [o.result.shape for o in graph.operators if hasattr(o, "result")]
    assert (1, 32) in shapes
    arrays = torch.randn(32, 32), torch.randn(32, 32), torch.randn(32)
    out = torch.full((1024,), float("nan"))
    memory = dict(zip("abc", (x.ravel() for x in arrays), strict=True)) | {"o": out}
    run(plan(kernel), memory)
    expected = (arrays[0] + arrays[1].T) * arrays[2].exp()
    torch.testing.assert_close(out.view(32, 32), expected)


def test_guarded_loads_read_inside_only() -> None:
    """A row of zeros before a transposed matrix."""
    m, n = 17, 20
    a = array("a", "float32", (m - 1, n), (1, 0))
    o = array("o", "float32", (m, n), (0, 1))
    condition = apply("ge", from_index(X, "int64"), constant(1, "int64"))
    inner = load("a", (add(X, -1), Y), "float32")
    value = make("guard", (condition, inner, constant(0.0, "float32")), "float32")
    kernel = kernel_of([Store("o", (X, Y), value, False)], [a, o], [m, n])
    chosen = plan(kernel)
    assert lies_across(chosen)
    numbers = torch.randn(n, m - 1)
    out = torch.full((m * n,), float("nan"))
    run(chosen, {"a": numbers.ravel(), "o": out}, judge=True)
    expected = torch.cat([torch.zeros(1, n), numbers.T])
    assert torch.equal(out.view(m, n), expected)


def test_sizes_that_are_known_at_run_time() -> None:
    n, m = symbol("n"), symbol("m")
    one, row = index(1), index(100)
    shape = (m, n)
    buffers = [
        Buffer("a", "float32", shape, "cuda:0", (row, one)),
        Buffer("b", "float32", shape, "cuda:0", (one, row)),
        Buffer("o", "float32", shape, "cuda:0", (row, one)),
    ]
    value = apply("add", load("a", (X, Y), "float32"), load("b", (X, Y), "float32"))
    axes = Axis(X, m), Axis(Y, n)
    store = Store("o", (X, Y), value, False)
    chosen = plan(Kernel("k", axes, (), (store,), {b.name: b for b in buffers}))
    assert lies_across(chosen)
    graph = graph_of(chosen)
    a, b = torch.randn(70, 100), torch.randn(90, 100)
    o = torch.full((70, 100), float("nan"))
    memory = {"_a": a.ravel(), "_b": b.ravel(), "_o": o.ravel()}
    for program in range(size(chosen.tiles, {"m": 70, "n": 90})):
        run_tiles(graph, memory, {"program0": program, "s_m": 70, "s_n": 90})
    assert torch.equal(o[:, :90], a[:, :90] + b[:, :70].T)
    assert bool(o[:, 90:].isnan().all())


def test_what_is_stored_is_read_again_where_it_was_stored() -> None:
    kernel = transposed(20, 24)
    again = Store("p", (X, Y), apply("neg", load("o", (X, Y), "float32")), False)
    p = array("p", "float32", (20, 24), (0, 1))
    both = replace(
        kernel, stages=(*kernel.stages, again), buffers={**kernel.buffers, "p": p}
    )
    a, b = torch.randn(20, 24), torch.randn(24, 20)
    o, q = (torch.full((480,), float("nan")) for _ in range(2))
    run(plan(both), {"a": a.ravel(), "b": b.ravel(), "o": o, "p": q})
    assert torch.equal(o.view(20, 24), a + b.T) and torch.equal(q, -o)


def test_memory_that_may_be_taken_over_is_not_loaded_twice() -> None:
    graph = graph_of(plan(transposed(64, 64)))
    assert graph.changed == {"_a", "_b", "_o"}


def test_what_tiles_do_not_express_is_refused() -> None:
    kernel = transposed(32, 32)
    (store,) = kernel.stages
    assert isinstance(store, Store)

    def refused(match: str, **parts: Any) -> None:
        changed = replace(kernel, stages=(replace(store, **parts),))
        with pytest.raises(NotTiledError, match=match):
            graph_of(plan(changed))

    refused("points apart", mode="add")
    odd = cast(
        apply("bitwise_and", from_index(X, "int64"), constant(1, "int64")), "bool"
    )
    refused("guards that compare", condition=odd)
    place = checked_index(load("a", (X, Y), "int64"), 32)
    refused("index", value=load("b", (place, X), "float32"))
    for other in candidates(plan(kernel)):
        assert graph_of(other).operators


def test_products_of_many_dims_are_exhaustive() -> None:
    for order in product((0, 1), repeat=2):
        first, second = ((0, 1) if one == 0 else (1, 0) for one in order)
        a = array("a", "int8", (16, 17), first)
        o = array("o", "float16", (16, 17), second)
        value = cast(load("a", (X, Y), "int8"), "float16")
        chosen = plan(kernel_of([Store("o", (X, Y), value, False)], [a, o], [16, 17]))
        if len(chosen.tile) < 2:
            continue
        numbers = torch.randint(-100, 100, (272,), dtype=torch.int8)
        out = torch.zeros(272, dtype=torch.float16)
        run(smaller(chosen, 8, 8), {"a": numbers, "o": out}, judge=True)
        steps = numbers_of(a.strides)
        there = numbers_of(o.strides)
        given = numbers.as_strided((16, 17), steps).to(torch.float16)
        assert torch.equal(out.as_strided((16, 17), there), given)
