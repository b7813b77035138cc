"""Maps, tiles, guarded loads, scatters: sizes with tails, strides, canaries."""

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.codegen.cpp import build, print_kernel
from compiler.ir.expression import Expression
from compiler.ir.index import add, digit, floordiv, index, mod, mul, sub, symbol
from compiler.ir.kernel import Store
from compiler.ir.scalar import (
    apply,
    cast,
    checked_index,
    constant,
    from_index,
    load,
    type_name,
)

_SLOW_COMPILER = settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def strided(draw: Any, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor with permuted, stretched or broadcast strides."""
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim] + draw(st.integers(0, 2))
    data = torch.arange(step + 1).remainder(97).to(dtype)
    return data.as_strided(shape, strides)


@_SLOW_COMPILER
@given(data=st.data())
def test_maps_of_any_strides_and_extents(data: Any, same: Any, kernel: Any) -> None:
    draw = data.draw
    extents = st.sampled_from([0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 65, 127])
    shape = tuple(draw(st.lists(extents, min_size=1, max_size=3)))
    dtype = draw(
        st.sampled_from(
            [torch.float32, torch.bfloat16, torch.float16, torch.uint8, torch.int64]
        )
    )
    names = [f"d{n}" for n in range(len(shape))]
    digits = tuple(digit(n) for n in names)
    kind = type_name(dtype)
    a, b = load("a", digits, kind), load("b", digits, kind)
    wide = "float32" if dtype.is_floating_point else kind
    value = cast(apply("add", cast(a, wide), cast(b, wide)), kind)
    tensors = {
        "a": strided(draw, shape, dtype),
        "b": strided(draw, shape, dtype),
        "o": strided(draw, shape, dtype),
    }
    stage = Store("o", digits, value, inner=False)
    outer = dict(zip(names, shape, strict=True))
    same([(kernel("sum_of_two", tensors, [stage], outer), tensors)])


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.bfloat16, torch.float64, torch.uint8],
    ids=str,
)
def test_tiles_of_a_transposed_load(
    dtype: torch.dtype, same: Any, kernel: Any, special: Any
) -> None:
    i, j, kind = digit("i"), digit("j"), type_name(dtype)
    runs = []
    for number, (rows, columns) in enumerate([(64, 128), (67, 75), (9, 200), (130, 8)]):
        a = special(dtype, rows * columns).reshape(columns, rows).t()
        b = special(dtype, rows * columns, 1).reshape(rows, columns)
        value = apply(
            "where",
            apply("lt", from_index(i, "int32"), from_index(j, "int32")),
            load("a", (i, j), kind),
            load("b", (i, j), kind),
        )
        tensors = {"a": a, "b": b, "o": torch.zeros(rows, columns, dtype=dtype)}
        stage = Store("o", (i, j), value, inner=False)
        made = kernel(f"turn{number}", tensors, [stage], {"i": rows, "j": columns})
        assert "transpose_tile" in print_kernel(made).text
        runs.append((made, tensors))
    same(runs, ulps=0)


@pytest.mark.parametrize("shape", [(8, 9), (4, 8, 9), (7, 5), (16, 17)])
def test_a_tile_is_turned_before_it_is_read(shape: tuple[int, ...]) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.float() + y

    torch.compiler.reset()
    y = torch.randn(shape)
    x = torch.randn(shape).half().mT.contiguous().mT
    found = torch.compile(function, backend="tilewright")(x, y)
    assert found.equal(function(x, y))


def test_guarded_loads_stay_inside(same: Any, kernel: Any) -> None:
    i = digit("i")
    inside = apply("ge", from_index(sub(i, 3), "int64"), constant(0, "int64"))
    inside = apply(
        "bitwise_and",
        inside,
        apply("lt", from_index(sub(i, 3), "int64"), constant(40, "int64")),
    )
    runs = []
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        kind = type_name(dtype)
        x = load("x", (sub(i, 3),), kind)
        value = apply("guard", inside, x, constant(1, kind))
        tensors = {
            "x": torch.arange(40).remainder(7).to(dtype),
            "o": torch.zeros(47, dtype=dtype),
        }
        stage = Store("o", (i,), value, inner=False)
        runs.append((kernel(f"pad_{kind}", tensors, [stage], {"i": 47}), tensors))
    same(runs, ulps=0)


def test_floor_division_of_negative_indices(same: Any, kernel: Any) -> None:
    i = digit("i")
    for_all = [floordiv(sub(20, i), 3), mod(sub(20, i), 3), floordiv(add(i, 5), 7)]
    stages = [
        Store(f"o{n}", (i,), from_index(value, "int64"), inner=False)
        for n, value in enumerate(for_all)
    ]
    tensors = {f"o{n}": torch.zeros(41, dtype=torch.int64) for n in range(3)}
    made = kernel("floors", tensors, stages, {"i": 41})
    assert "floor_quotient" in print_kernel(made).text
    same([(made, tensors)])


def gather(kernel: Any, indices: torch.Tensor, wrap: bool = True) -> Any:
    i, j = digit("i"), digit("j")
    row = checked_index(load("indices", (i,), "int64"), 10, wrap)
    value = load("x", (row, j), "float32")
    count = indices.numel()
    tensors = {
        "indices": indices,
        "x": torch.randn(10, 24),
        "o": torch.zeros(count, 24),
    }
    stage = Store("o", (i, j), value, inner=False)
    return kernel("gather", tensors, [stage], {"i": count, "j": 24}), tensors


def test_gathers_wrap_and_check(same: Any, kernel: Any) -> None:
    same([gather(kernel, torch.tensor([0, 9, -1, -10, 3]))])
    for wrong, wrap in ((10, True), (-11, True), (-1, False)):
        made, tensors = gather(kernel, torch.tensor([0, wrong]), wrap)
        function = build([made])["gather"]
        with pytest.raises(IndexError, match="out of range"):
            function(*(tensors[name] for name in function.parameters))


def test_division_by_zero_fails_as_in_eager_mode(kernel: Any) -> None:
    i = digit("i")
    value = apply("floordiv", load("x", (i,), "int32"), load("y", (i,), "int32"))
    tensors = {name: torch.ones(40, dtype=torch.int32) for name in "xyo"}
    stage = Store("o", (i,), value, inner=False)
    function = build([kernel("divide", tensors, [stage], {"i": 40})])["divide"]
    function(tensors["x"], tensors["y"], tensors["o"])
    tensors["y"][37] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        function(tensors["x"], tensors["y"], tensors["o"])


@pytest.mark.parametrize("mode", ["set", "add", "multiply", "maximum", "minimum"])
def test_scatters_whose_points_meet(mode: str, same: Any, kernel: Any) -> None:
    i, j = digit("i"), digit("j")
    row = checked_index(load("indices", (i,), "int64"), 6)
    runs = []
    for dtype in (torch.float32, torch.int64, torch.bfloat16):
        kind = type_name(dtype)
        value = load("x", (i, j), kind)
        for number, (target, shape) in enumerate(
            [((row, j), (6, 40)), ((row, index(0)), (6, 1))]
        ):
            tensors = {
                "indices": torch.arange(30).remainder(6),
                "x": torch.arange(1200).remainder(5).reshape(30, 40).to(dtype),
                "o": torch.ones(shape, dtype=dtype),
            }
            if mode == "multiply":
                tensors["x"] = tensors["x"].clamp(1, 1)
            if dtype == torch.bfloat16 and mode == "add":
                tensors["x"] = tensors["x"].clamp(0, 0)
            stage = Store("o", target, value, inner=False, mode=mode, injective=False)
            name = f"{mode}_{kind}_{number}"
            made = kernel(name, tensors, [stage], {"i": 30, "j": 40})
            runs.append((made, tensors))
    same(runs)


def test_conditions_of_stores(same: Any, kernel: Any) -> None:
    i = digit("i")
    keep = load("keep", (i,), "bool")
    stage = Store("o", (i,), load("x", (i,), "float32"), inner=False, condition=keep)
    tensors = {
        "keep": torch.arange(100) % 3 == 0,
        "x": torch.randn(100),
        "o": torch.zeros(100),
    }
    same([(kernel("kept", tensors, [stage], {"i": 100}), tensors)])


def test_sizes_known_when_it_runs(same: Any, kernel: Any) -> None:
    n, m = symbol("n"), symbol("m")
    i, j = digit("i"), digit("j")
    flat: Expression = add(mul(i, m), j)
    value = apply("mul", load("x", (flat,), "float32"), constant(2.0, "float32"))
    for rows, columns in ((3, 50), (1, 1), (40, 3)):
        tensors = {
            "x": torch.randn(rows * columns),
            "o": torch.zeros(rows * columns),
        }
        stage = Store("o", (flat,), value, inner=False)
        made = kernel("twice", tensors, [stage], {"i": n, "j": m})
        same([(made, tensors)], symbols={"n": rows, "m": columns})


def test_in_place(same: Any, kernel: Any) -> None:
    i = digit("i")
    value = apply("exp", load("x", (i,), "float32"))
    tensors = {"x": torch.randn(1000)}
    stage = Store("x", (i,), value, inner=False)
    same([(kernel("own", tensors, [stage], {"i": 1000}), tensors)])


def test_random_bits_are_philox(same: Any, kernel: Any) -> None:
    from compiler.ir.scalar import random_bits

    i = digit("i")
    offset = from_index(add(mul(i, 2**31 - 1), 5), "int64")
    value = random_bits(load("seed", (), "int64"), offset)
    tensors = {
        "seed": torch.tensor(-(2**40) + 12345),
        "o": torch.zeros(50, dtype=torch.int32),
    }
    stage = Store("o", (i,), value, inner=False)
    same([(kernel("bits", tensors, [stage], {"i": 50}), tensors)])
