"""Printed kernels in Triton's interpreter against the evaluator of the IR."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
import torch

from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.errors import BuildError
from compiler.ir.evaluate import run_kernel
from compiler.ir.expression import Expression
from compiler.ir.index import add, digit, floordiv, index, mod, mul, sub, symbol
from compiler.ir.kernel import Kernel, Prefix, Reduction, Stage, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import (
    apply,
    bitcast,
    cast,
    checked_index,
    constant,
    from_index,
    load,
    local,
    random_bits,
    torch_type,
    type_name,
)
from compiler.runtime.triton_kernel import TritonKernel

X, Y, Z = digit("i"), digit("j"), digit("k")


def buffer(name: str, tensor: torch.Tensor) -> Buffer:
    return Buffer(
        name,
        type_name(tensor.dtype),
        tuple(map(index, tensor.shape)),
        "cpu",
        tuple(map(index, tensor.stride())),
    )


def nest(
    stages: Sequence[Stage],
    tensors: dict[str, torch.Tensor],
    outer: dict[Expression, int],
    inner: dict[Expression, int] | None = None,
) -> Kernel:
    return Kernel(
        "kernel_under_test",
        tuple(Axis(d, index(n)) for d, n in outer.items()),
        tuple(Axis(d, index(n)) for d, n in (inner or {}).items()),
        tuple(stages),
        {name: buffer(name, tensor) for name, tensor in tensors.items()},
    )


def _message(name: str, source: str, text: str) -> str:
    return f"{name}: {text}\n{source}"


def copied(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copy with strides, gaps and offsets."""
    found = {}
    for name, tensor in tensors.items():
        whole = tensor.new_empty(0).set_(tensor.untyped_storage().clone())
        found[name] = whole.as_strided(
            tensor.shape, tensor.stride(), tensor.storage_offset()
        )
    return found


def check(
    kernel: Kernel,
    tensors: dict[str, torch.Tensor],
    *,
    tolerance: float = 1e-5,
    block: int | None = None,
) -> str:
    """Run both ways; with ``block``, reductions loop over tiles of that length."""
    expected = copied(tensors)
    run_kernel(kernel, expected, {})
    chosen = plan(kernel)
    if block is not None:
        assert chosen.reduced is not None
        shorter = replace(chosen.reduced, block=block)
        chosen = replace(
            chosen,
            reduced=shorter,
            tile=(*chosen.independent, shorter),
            persistent=False,
        )
    printed = print_kernel(kernel, chosen)
    found = copied(tensors)
    built = TritonKernel(printed, interpret=True)
    built(*(found[name] for name in built.parameters))
    for name, tensor in expected.items():
        torch.testing.assert_close(
            found[name],
            tensor,
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            msg=partial(_message, name, printed.source),
        )
    return printed.source


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(len(shape) + sum(shape))
    return torch.randn(shape).to(dtype)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (torch.float32, 1000),
        (torch.bfloat16, 37),
        (torch.float16, 1),
        (torch.float64, 64),
    ],
)
def test_pointwise_chains_round_where_casts_say(dtype: torch.dtype, size: int) -> None:
    name = type_name(dtype)
    wide = "float64" if dtype == torch.float64 else "float32"
    tensors = {"a": randn(size, dtype=dtype), "b": randn(size, dtype=dtype)}
    tensors["out"] = torch.empty(size, dtype=dtype)
    a, b = (cast(load(x, (X,), name), wide) for x in "ab")
    total = cast(cast(apply("add", a, b), name), wide)
    value = cast(apply("mul", total, constant(0.3, wide)), name)
    check(
        nest([Store("out", (X,), value, False)], tensors, {X: size}),
        tensors,
        tolerance=0,
    )


def test_rows_share_a_bias_and_a_broadcast_column() -> None:
    tensors = {
        "x": randn(5, 40),
        "bias": randn(40),
        "scale": randn(5, 1),
        "out": torch.empty(5, 40),
    }
    x = load("x", (X, Y), "float32")
    value = apply(
        "mul",
        apply("add", x, load("bias", (Y,), "float32")),
        load("scale", (X, index(0)), "float32"),
    )
    check(nest([Store("out", (X, Y), value, False)], tensors, {X: 5, Y: 40}), tensors)


def test_transposed_add_uses_square_tiles() -> None:
    a, b = randn(40, 70), randn(70, 40)
    tensors = {"a": a, "b": b, "out": torch.empty(40, 70)}
    value = apply("add", load("a", (X, Y), "float32"), load("b", (Y, X), "float32"))
    kernel = nest([Store("out", (X, Y), value, False)], tensors, {X: 40, Y: 70})
    source = check(kernel, tensors)
    assert "YBLOCK" in source


def test_strided_and_overlapping_inputs() -> None:
    base = randn(9, 14)
    tensors = {"a": base[::2, 1::3], "out": torch.empty(5, 5)}
    value = load("a", (X, Y), "float32")
    check(nest([Store("out", (Y, X), value, False)], tensors, {X: 5, Y: 5}), tensors)


def test_floor_semantics_of_indices_and_a_guard() -> None:
    """A shift with padding; the index is negative where the guard is false."""
    tensors = {"a": randn(30), "out": torch.empty(30)}
    place = sub(X, 7)
    inside = apply("ge", from_index(place, "int64"), constant(0, "int64"))
    value = apply(
        "guard", inside, load("a", (place,), "float32"), constant(-1.0, "float32")
    )
    wrapped = load("a", (mod(mul(sub(X, 41), -3), 30),), "float32")
    value = apply("add", value, wrapped)
    source = check(nest([Store("out", (X,), value, False)], tensors, {X: 30}), tensors)
    assert "floor_remainder(" in source


def test_view_chains_divide_only_where_needed() -> None:
    tensors = {"a": randn(6, 10), "out": torch.empty(60)}
    value = load("a", (floordiv(X, 10), mod(X, 10)), "float32")
    source = check(nest([Store("out", (X,), value, False)], tensors, {X: 60}), tensors)
    assert "//" not in source and "%" not in source


@pytest.mark.parametrize(
    "operation", ["floordiv", "truncdiv", "remainder", "fmod", "maximum", "minimum"]
)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.int32, torch.int64, torch.uint8]
)
def test_arithmetic_of_two(operation: str, dtype: torch.dtype) -> None:
    if dtype.is_floating_point:
        a = torch.tensor([5.5, -5.5, 1.0, -1.0, 0.0, math.nan, math.inf, 7.0])
        b = torch.tensor([2.0, 2.0, 0.1, 0.1, -3.0, 1.0, 2.0, -2.0])
    else:
        low = 0 if dtype == torch.uint8 else -50
        a = torch.tensor([7, max(-7, low), 9, max(low, -9), 50, 0, 1, 200 % 127])
        b = torch.tensor([2, 2, max(low, -4) or 3, max(low, -4) or 5, 7, 3, 9, 5])
    tensors = {"a": a.to(dtype), "b": b.to(dtype), "out": torch.empty(8, dtype=dtype)}
    name = type_name(dtype)
    value = apply(operation, load("a", (X,), name), load("b", (X,), name))
    check(
        nest([Store("out", (X,), value, False)], tensors, {X: 8}),
        tensors,
        tolerance=1e-6,
    )


@pytest.mark.parametrize(
    "operation",
    [
        "exp",
        "expm1",
        "log1p",
        "tanh",
        "erf",
        "sqrt",
        "rsqrt",
        "sign",
        "round",
        "floor",
        "sin",
        "abs",
        "neg",
        "isnan",
        "isinf",
        "signbit",
        "exp2",
        "atan",
    ],
)
def test_functions(operation: str) -> None:
    a = torch.tensor([0.5, -0.25, 2.5, -3.5, 0.0, -0.0, math.inf, -math.inf, math.nan])
    if operation in ("sqrt", "rsqrt", "log1p"):
        a = a.abs()
    value = apply(operation, load("a", (X,), "float32"))
    out = torch.empty(9, dtype=torch_type(value.dtype))
    tensors = {"a": a, "out": out}
    check(
        nest([Store("out", (X,), value, False)], tensors, {X: 9}),
        tensors,
        tolerance=1e-6,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_negated_zero_has_the_other_sign(dtype: str) -> None:
    a = torch.tensor([0.0, -0.0, 2.0], dtype=torch_type(dtype))
    tensors = {"a": a, "out": torch.empty(3, dtype=torch.bool)}
    value = apply("signbit", apply("neg", load("a", (X,), dtype)))
    check(nest([Store("out", (X,), value, False)], tensors, {X: 3}), tensors)


def test_bits_shifts_casts_and_random_words() -> None:
    a = torch.tensor([1, -1, 5, 2**31 - 1, -(2**31)], dtype=torch.int32)
    b = torch.tensor([0, 31, 32, 3, -1], dtype=torch.int32)
    out = {n: torch.empty(5, dtype=torch.int32) for n in ("left", "right", "random")}
    tensors = {
        "a": a,
        "b": b,
        **out,
        "real": torch.empty(5),
        "flag": torch.empty(5, dtype=torch.bool),
    }
    x, y = load("a", (X,), "int32"), load("b", (X,), "int32")
    seed = constant(123456789123, "int64")
    stages: list[Stage] = [
        Store("left", (X,), apply("shift_left", x, y), False),
        Store("right", (X,), apply("shift_right", x, y), False),
        Store("random", (X,), random_bits(seed, from_index(X, "int64")), False),
        Store("real", (X,), bitcast(x, "float32"), False),
        Store("flag", (X,), cast(y, "bool"), False),
    ]
    check(nest(stages, tensors, {X: 5}), tensors, tolerance=0)


def test_a_later_stage_sees_what_an_earlier_one_stored() -> None:
    tensors = {"a": randn(20), "out": torch.empty(20)}
    a = load("a", (X,), "float32")
    stages: list[Stage] = [
        Store("a", (X,), apply("add", a, constant(1.0, "float32")), False),
        Store("out", (X,), apply("mul", a, constant(2.0, "float32")), False),
    ]
    check(nest(stages, tensors, {X: 20}), tensors)


def test_numbers_are_all_read_before_one_is_stored() -> None:
    """But one that reads what was stored before it sees that."""
    tensors = {name: randn(1) + n for n, name in enumerate(("a", "b", "c"))}
    one = constant(1.0, "float32")
    place = (index(0),)
    stages: list[Stage] = [
        Store(name, place, apply("add", load(name, place, "float32"), one), False)
        for name in ("a", "b")
    ]
    stages.append(Store("c", place, load("a", place, "float32"), False))
    source = check(nest(stages, tensors, {X: 1}), tensors)
    assert source.split("tl.store(")[0].count("tl.load(") == 2


def test_a_checked_index_wraps_and_stops() -> None:
    tensors = {
        "a": randn(10, 4),
        "at": torch.tensor([0, -1, 9, -10]),
        "out": torch.empty(4, 4),
    }
    place = checked_index(load("at", (X,), "int64"), 10)
    value = load("a", (place, Y), "float32")
    kernel = nest([Store("out", (X, Y), value, False)], tensors, {X: 4, Y: 4})
    source = check(kernel, tensors)
    assert "device_assert" in source
    built = TritonKernel(print_kernel(kernel), interpret=True)
    tensors["at"][1] = 10
    with pytest.raises(Exception, match="out of range"):
        built(*(tensors[name] for name in built.parameters))


@pytest.mark.parametrize("injective", [True, False])
def test_scatter_adds(injective: bool) -> None:
    at = torch.tensor([3, 1, 0, 2] if injective else [1, 1, 0, 1])
    tensors = {"a": randn(4), "at": at, "out": randn(5)}
    target = (checked_index(load("at", (X,), "int64"), 5),)
    keep = apply("gt", load("a", (X,), "float32"), constant(-10.0, "float32"))
    store = Store(
        "out", target, load("a", (X,), "float32"), False, "add", keep, injective
    )
    source = check(nest([store], tensors, {X: 4}), tensors)
    assert ("atomic_add" in source) is not injective


def test_an_atomic_product_is_refused() -> None:
    tensors = {"a": randn(4), "out": randn(5)}
    store = Store(
        "out", (index(0),), load("a", (X,), "float32"), False, "multiply", None, False
    )
    with pytest.raises(BuildError, match="must run by PyTorch"):
        print_kernel(nest([store], tensors, {X: 4}))


REDUCERS = ["sum", "product", "maximum", "minimum", "argmax", "argmin"]


@pytest.mark.parametrize("block", [None, 8])
@pytest.mark.parametrize("shape", [(3, 21), (2, 16), (1, 1)])
@pytest.mark.parametrize("columns", [False, True])
def test_reductions(shape: tuple[int, int], columns: bool, block: int | None) -> None:
    rows, length = shape
    a = randn(length, rows) if columns else randn(rows, length)
    tensors = {"a": a}
    stages: list[Stage] = []
    value = load("a", (Y, X) if columns else (X, Y), "float32")
    for reducer in REDUCERS:
        dtype = "int64" if reducer.startswith("arg") else "float32"
        tensors[reducer] = torch.empty(rows, dtype=torch_type(dtype))
        stages.append(Reduction((f"r_{reducer}",), reducer, (value,), (dtype,)))
        stages.append(Store(reducer, (X,), local(f"r_{reducer}", dtype), False))
    check(nest(stages, tensors, {X: rows}, {Y: length}), tensors, block=block)


@pytest.mark.parametrize("block", [None, 4])
def test_extremes_take_the_first_nan_and_the_first_of_equals(block: int | None) -> None:
    a = torch.tensor(
        [
            [1.0, 3.0, 3.0, 0.0, 0.0, 2.0, 1.0],
            [1.0, math.nan, 3.0, math.nan, 0.0, 9.0, 9.0],
            [-math.inf] * 7,
        ]
    )
    tensors: dict[str, torch.Tensor] = {"a": a}
    stages: list[Stage] = []
    for reducer in ("argmax", "argmin", "maximum", "minimum"):
        dtype = "int64" if reducer.startswith("arg") else "float32"
        tensors[reducer] = torch.empty(3, dtype=torch_type(dtype))
        value = load("a", (X, Y), "float32")
        stages.append(Reduction((f"r_{reducer}",), reducer, (value,), (dtype,)))
        stages.append(Store(reducer, (X,), local(f"r_{reducer}", dtype), False))
    check(nest(stages, tensors, {X: 3}, {Y: 7}), tensors, tolerance=0, block=block)


@pytest.mark.parametrize("block", [None, 4])
def test_truth_and_bits_reduce(block: int | None) -> None:
    a = torch.tensor(
        [[0, 0, 0, 0, 0], [1, 2, 3, 4, 5], [0, 7, 0, 0, 0]], dtype=torch.int32
    )
    tensors = {
        "a": a,
        "any": torch.empty(3, dtype=torch.bool),
        "all": torch.empty(3, dtype=torch.bool),
        "xor": torch.empty(3, dtype=torch.int32),
    }
    number = load("a", (X, Y), "int32")
    stages: list[Stage] = []
    for reducer in ("any", "all", "xor"):
        value = number if reducer == "xor" else cast(number, "bool")
        stages.append(Reduction((f"r_{reducer}",), reducer, (value,), (value.dtype,)))
        stages.append(Store(reducer, (X,), local(f"r_{reducer}", value.dtype), False))
    check(nest(stages, tensors, {X: 3}, {Y: 5}), tensors, tolerance=0, block=block)


@pytest.mark.parametrize("block", [None, 8])
@pytest.mark.parametrize("length", [1, 30, 32])
def test_softmax_in_one_kernel(length: int, block: int | None) -> None:
    tensors = {
        "a": randn(3, length, dtype=torch.bfloat16) * 3,
        "out": torch.empty(3, length, dtype=torch.bfloat16),
    }
    value = cast(load("a", (X, Y), "bfloat16"), "float32")
    m, s = local("m", "float32"), local("s", "float32")
    shifted = apply("exp", apply("sub", value, m))
    stages: list[Stage] = [
        Reduction(("m", "s"), "online_softmax", (value,), ("float32", "float32")),
        Store("out", (X, Y), cast(apply("truediv", shifted, s), "bfloat16"), True),
    ]
    check(
        nest(stages, tensors, {X: 3}, {Y: length}), tensors, tolerance=1e-2, block=block
    )


@pytest.mark.parametrize("block", [None, 4])
def test_online_softmax_of_infinities(block: int | None) -> None:
    low, nan = -math.inf, math.nan
    a = torch.tensor(
        [
            [low] * 6,
            [low, 1.0, low, low, low, low],
            [1.0, nan, 1, 1, 1, 1],
            [1.0, math.inf, 1, 1, 1, 1],
        ]
    )
    tensors = {"a": a, "greatest": torch.empty(4), "total": torch.empty(4)}
    value = load("a", (X, Y), "float32")
    stages: list[Stage] = [
        Reduction(("m", "s"), "online_softmax", (value,), ("float32", "float32")),
        Store("greatest", (X,), local("m", "float32"), False),
        Store("total", (X,), local("s", "float32"), False),
    ]
    check(nest(stages, tensors, {X: 4}, {Y: 6}), tensors, block=block)


@pytest.mark.parametrize("block", [None, 8])
@pytest.mark.parametrize("length", [1, 30, 32])
def test_layernorm_in_one_kernel(length: int, block: int | None) -> None:
    tensors = {
        "a": randn(3, length) + 100,
        "w": randn(length),
        "out": torch.empty(3, length),
        "mean": torch.empty(3),
    }
    value = load("a", (X, Y), "float32")
    mean, squares, count = (local(x, "float32") for x in ("mu", "m2", "n"))
    variance = apply("truediv", squares, count)
    scale = apply("rsqrt", apply("add", variance, constant(1e-5, "float32")))
    out = apply(
        "mul",
        apply("mul", apply("sub", value, mean), scale),
        load("w", (Y,), "float32"),
    )
    stages: list[Stage] = [
        Reduction(("mu", "m2", "n"), "welford", (value,), ("float32",) * 3),
        Store("mean", (X,), mean, False),
        Store("out", (X, Y), out, True),
    ]
    check(
        nest(stages, tensors, {X: 3}, {Y: length}), tensors, tolerance=1e-3, block=block
    )


def test_inner_axes_that_memory_keeps_apart() -> None:
    """A batch norm's statistics: reduce over the first and the last axis."""
    tensors = {"a": randn(4, 3, 10), "out": torch.empty(3)}
    value = load("a", (Y, X, Z), "float32")
    stages: list[Stage] = [
        Reduction(("s",), "sum", (value,), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    check(nest(stages, tensors, {X: 3}, {Y: 4, Z: 10}), tensors)


def test_a_reduction_of_nothing_and_of_a_constant() -> None:
    tensors = {"a": torch.empty(3, 0), "out": torch.empty(3), "count": torch.empty(3)}
    stages: list[Stage] = [
        Reduction(("s",), "sum", (load("a", (X, Y), "float32"),), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    check(nest(stages, tensors, {X: 3}, {Y: 0}), tensors)
    stages = [
        Reduction(("c",), "sum", (constant(2.0, "float32"),), ("float32",)),
        Store("count", (X,), local("c", "float32"), False),
    ]
    check(nest(stages, tensors, {X: 3}, {Y: 11}), tensors)


def test_a_full_reduction_has_no_outer_axis() -> None:
    tensors = {"a": randn(100), "out": torch.empty(())}
    stages: list[Stage] = [
        Reduction(("s",), "sum", (load("a", (Y,), "float32"),), ("float32",)),
        Store("out", (), local("s", "float32"), False),
    ]
    check(nest(stages, tensors, {}, {Y: 100}), tensors)
    check(nest(stages, tensors, {}, {Y: 100}), tensors, block=16)


@pytest.mark.parametrize("block", [None, 8])
@pytest.mark.parametrize(
    "kind", ["sum", "product", "maximum", "minimum", "logsumexp", "argmax", "argmin"]
)
@pytest.mark.parametrize("columns", [False, True])
def test_scans(kind: str, columns: bool, block: int | None) -> None:
    a = randn(21, 2) if columns else randn(2, 21)
    if kind in ("argmax", "maximum"):
        a = a.round()
        a.view(-1)[11] = math.nan
    place = (Y, X) if columns else (X, Y)
    tensors = {"a": a, "out": torch.empty_like(a)}
    value = load("a", place, "float32")
    results: tuple[str, ...] = ("p",)
    dtypes: tuple[str, ...] = ("float32",)
    stages: list[Stage] = []
    if kind.startswith("arg"):
        results, dtypes = ("p", "q"), ("float32", "int64")
        tensors["at"] = torch.empty(a.shape, dtype=torch.int64)
        stages.append(Store("at", place, local("q", "int64"), True))
    stages.insert(0, Prefix(results, kind, value, dtypes))
    stages.append(Store("out", place, local("p", "float32"), True))
    check(nest(stages, tensors, {X: 2}, {Y: 21}), tensors, block=block)


def test_addresses_past_two_to_the_31_are_wide() -> None:
    size = 1 << 33
    strides = (index(1 << 17), index(1))
    shape = (index(1 << 16), index(1 << 17))
    x = Buffer("x", "uint8", shape, "cuda:0", strides)
    out = Buffer("out", "uint8", shape, "cuda:0", strides)
    kernel = Kernel(
        "copy",
        (Axis(X, shape[0]), Axis(Y, shape[1])),
        (),
        (Store("out", (X, Y), load("x", (X, Y), "uint8"), False),),
        {"x": x, "out": out},
    )
    assert "tl.int64" in print_kernel(kernel).source
    small = Buffer("x", "uint8", (index(1 << 20),), "cuda:0", (index(1),))
    kernel = Kernel(
        "copy",
        (Axis(X, small.shape[0]),),
        (),
        (Store("x", (X,), load("x", (X,), "uint8"), False),),
        {"x": small},
    )
    assert "tl.int64" not in print_kernel(kernel).source
    assert size > 1 << 31


def test_masks_only_where_tiles_leave_a_rest() -> None:
    tensors = {"a": randn(4096), "out": torch.empty(4096)}
    value = load("a", (X,), "float32")
    store = Store("out", (X,), value, False)
    assert "mask" not in print_kernel(nest([store], tensors, {X: 4096})).source
    tensors = {"a": randn(4097), "out": torch.empty(4097)}
    assert "mask" in print_kernel(nest([store], tensors, {X: 4097})).source


def test_add_of_indices_is_spelled_once() -> None:
    value = from_index(add(mul(X, 3), 1), "int64")
    tensors = {"out": torch.empty(50, dtype=torch.int64)}
    check(
        nest([Store("out", (X,), value, False)], tensors, {X: 50}), tensors, tolerance=0
    )


@pytest.mark.parametrize("aligned", [True, False])
def test_a_softmax_compiles_for_sm_90_with_wide_loads(aligned: bool) -> None:
    rows, length = index(64), index(4096)
    shape, strides = (rows, length), (length, index(1))
    buffers = {
        name: Buffer(name, "bfloat16", shape, "cuda:0", strides)
        for name in ("a", "out")
    }
    value = cast(load("a", (X, Y), "bfloat16"), "float32")
    m, s = local("m", "float32"), local("s", "float32")
    shifted = apply("exp", apply("sub", value, m))
    stages = (
        Reduction(("m", "s"), "online_softmax", (value,), ("float32", "float32")),
        Store("out", (X, Y), cast(apply("truediv", shifted, s), "bfloat16"), True),
    )
    kernel = Kernel("softmax", (Axis(X, rows),), (Axis(Y, length),), stages, buffers)
    ptx = TritonKernel(print_kernel(kernel)).compile(aligned, arch=90).asm["ptx"]
    assert bool(re.search(r"ld\.global\S*\.v4\.b32", ptx)) is aligned
    assert "fma.rn.bf16" not in ptx


def test_checks_of_indices_reach_the_ptx() -> None:
    at = Buffer("at", "int64", (index(100),), "cuda:0", (index(1),))
    a = Buffer("a", "float32", (index(10),), "cuda:0", (index(1),))
    out = Buffer("out", "float32", (index(100),), "cuda:0", (index(1),))
    value = load("a", (checked_index(load("at", (X,), "int64"), 10),), "float32")
    kernel = Kernel(
        "gather",
        (Axis(X, index(100)),),
        (),
        (Store("out", (X,), value, False),),
        {"at": at, "a": a, "out": out},
    )
    built = TritonKernel(print_kernel(kernel))
    assert built.parameters == ("at", "a", "out")
    assert "__assertfail" in built.compile(arch=90).asm["ptx"]


def test_rows_share_costly_values_of_columns() -> None:
    """A batch norm of inference, channels last: its roots are computed once a tile."""
    rows, channels = 132 * 32 + 3, 64
    tensors = {
        "x": randn(rows, channels),
        "v": randn(channels).abs(),
        "out": torch.empty(rows, channels),
    }
    root = apply("sqrt", load("v", (Y,), "float32"))
    scale = apply("truediv", constant(1.0, "float32"), root)
    value = apply("mul", load("x", (X, Y), "float32"), scale)
    store = Store("out", (X, Y), value, False)
    source = check(nest([store], tensors, {X: rows, Y: channels}), tensors)
    assert "YBLOCK" in source and "//" not in source.replace("program // ", "")


@pytest.mark.parametrize(("rows", "length"), [(3, 21), (1, 1), (2, 0)])
def test_sizes_that_are_known_only_at_run_time(rows: int, length: int) -> None:
    n, m = symbol("s0"), symbol("s1")
    strides = (m, index(1))
    buffers = {
        "a": Buffer("a", "float32", (n, m), "cpu", strides),
        "out": Buffer("out", "float32", (n, m), "cpu", strides),
        "total": Buffer("total", "float32", (n,), "cpu", (index(1),)),
    }
    value = load("a", (X, Y), "float32")
    shifted = apply("exp", apply("sub", value, local("m", "float32")))
    share = apply("truediv", shifted, local("s", "float32"))
    stages = (
        Reduction(("m", "s"), "online_softmax", (value,), ("float32", "float32")),
        Store("total", (X,), local("s", "float32"), False),
        Store("out", (X, Y), share, True),
    )
    kernel = Kernel("softmax", (Axis(X, n),), (Axis(Y, m),), stages, buffers)
    chosen = plan(kernel)
    assert chosen.reduced is not None
    shorter = replace(chosen.reduced, block=8)
    chosen = replace(chosen, reduced=shorter, tile=(*chosen.independent, shorter))
    built = TritonKernel(print_kernel(kernel, chosen), interpret=True)
    tensors = {"a": randn(rows, length), "out": torch.empty(rows, length)}
    tensors["total"] = torch.empty(rows)
    sizes = {"s0": rows, "s1": length}
    expected = copied(tensors)
    run_kernel(kernel, expected, sizes)
    built(
        *(tensors[name] for name in built.parameters),
        *(sizes[str(s.data)] for s in built.symbols),
    )
    torch.testing.assert_close(tensors, expected)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_guard_of_lanes_around_one_address_a_row(rows: int) -> None:
    tensors = {
        "a": randn(rows, 21),
        "first": randn(rows),
        "out": torch.empty(rows, 21),
    }
    early = apply("lt", from_index(Y, "int64"), constant(5, "int64"))
    other = load("a", (X, Y), "float32")
    value = apply("guard", early, load("first", (X,), "float32"), other)
    stages: list[Stage] = [
        Prefix(("p",), "sum", value, ("float32",)),
        Store("out", (X, Y), local("p", "float32"), True),
    ]
    kernel = nest(stages, tensors, {X: rows}, {Y: 21})
    check(kernel, tensors)
    check(kernel, tensors, block=8)
    for chosen in (None, plan(kernel)):
        built = TritonKernel(print_kernel(kernel, chosen))
        assert built.compile(arch=90).asm["cubin"]
