"""A normalisation's gradients: one kernel over rows, and one small sum."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.codegen.triton import build
from compiler.ir.check_schedule import check_schedule, schedule_faults
from compiler.ir.evaluate import run_schedule
from compiler.ir.expression import Expression
from compiler.ir.index import contiguous_strides, digit, index, sub
from compiler.ir.kernel import Allocate, Kernel, Schedule, Store, folded_axes
from compiler.ir.node import Axis, Buffer, Map, Program, Reduce
from compiler.ir.scalar import apply, cast, constant, load
from compiler.options import Options
from compiler.schedule import column_sums, row_chunks, schedule

FLOAT = "float32"
A, R = digit("i0"), digit("r0")
Arrays = dict[str, torch.Tensor]


def array(name: str, *shape: int, dtype: str = FLOAT, device: str = "cuda:0") -> Buffer:
    return Buffer(
        name, dtype, tuple(map(index, shape)), device, contiguous_strides(shape)
    )


def gradients(
    shape: tuple[int, ...], dtype: str = FLOAT, device: str = "cuda:0"
) -> Program:
    """Return layer norm's backward pass from normalised rows: dx, dweight, dbias."""
    *outer, length = shape
    digits = [digit(f"i{n}") for n in range(len(shape))]
    rows = [digit(f"r{n}") for n in range(len(outer))]
    axes = [Axis(d, index(n)) for d, n in zip(digits, shape, strict=True)]
    across = tuple(Axis(d, index(n)) for d, n in zip(rows, outer, strict=True))

    def parts(at: list[Expression], column: Expression) -> tuple[Expression, ...]:
        dy = load("dy", (*at, column), dtype)
        dy = dy if dtype == FLOAT else cast(dy, FLOAT)
        return dy, load("x", (*at, column), FLOAT), load("w", (column,), FLOAT)

    def times(*values: Expression) -> Expression:
        left, *rest = values
        for value in rest:
            left = apply("mul", left, value)
        return left

    def made(name: str, *extents: int) -> Buffer:
        return Buffer(name, FLOAT, tuple(map(index, extents)), device)

    dy, x, w = parts(digits[:-1], R)
    row, inner = tuple(axes[:-1]), (Axis(R, index(length)),)
    sums = [
        Reduce((made("a", *outer),), row, inner, "sum", (times(dy, w),)),
        Reduce((made("b", *outer),), row, inner, "sum", (times(dy, w, x),)),
    ]
    dy, x, w = parts(digits[:-1], digits[-1])
    a, b = (load(name, tuple(digits[:-1]), FLOAT) for name in "ab")
    inverse = constant(1 / length, FLOAT)
    value = apply("sub", times(dy, w), times(a, inverse))
    dx = Map(made("dx", *shape), tuple(axes), apply("sub", value, times(x, b, inverse)))
    dy, x, _ = parts(list(rows), A)
    column = (Axis(A, index(length)),)
    return Program(
        (
            array("dy", *shape, dtype=dtype, device=device),
            array("x", *shape, device=device),
            array("w", length, device=device),
        ),
        (
            *sums,
            dx,
            Reduce((made("dw", length),), column, across, "sum", (times(dy, x),)),
            Reduce((made("db", length),), column, across, "sum", (dy,)),
        ),
        ("dx", "dw", "db"),
    )


def kernels(made: Schedule) -> list[Kernel]:
    return [step for step in made.steps if isinstance(step, Kernel)]


def given_arrays(shape: tuple[int, ...], dtype: torch.dtype) -> Arrays:
    generator = torch.Generator().manual_seed(sum(shape))
    dy, x = (torch.randn(shape, generator=generator) for _ in range(2))
    return {
        "dy": dy.to(dtype),
        "x": x,
        "w": torch.rand(shape[-1:], generator=generator),
    }


def exact(arrays: Arrays) -> Arrays:
    """Return the gradients in float64."""
    dy, x, w = (arrays[name].double() for name in ("dy", "x", "w"))
    g = dy * w
    mean = g.mean(-1, keepdim=True)
    rows = tuple(range(dy.dim() - 1))
    return {
        "dx": g - mean - x * (g * x).mean(-1, keepdim=True),
        "dw": (dy * x).sum(rows),
        "db": dy.sum(rows),
    }


def on_cpu(made: Schedule) -> Schedule:
    """Return a GPU's schedule with its arrays on the CPU, for the evaluator."""

    def moved(buffer: Buffer) -> Buffer:
        return replace(buffer, device="cpu")

    steps = []
    for step in made.steps:
        if isinstance(step, Kernel):
            buffers = {name: moved(buffer) for name, buffer in step.buffers.items()}
            step = replace(step, buffers=buffers)
        elif isinstance(step, Allocate):
            step = replace(step, buffer=moved(step.buffer))
        steps.append(step)
    inputs = tuple(moved(b) if isinstance(b, Buffer) else b for b in made.inputs)
    return replace(made, inputs=inputs, steps=tuple(steps))


def interpreted(made: Schedule, arrays: Arrays) -> Arrays:
    """Run the printed kernels in Triton's interpreter, fresh memory full of NaN."""
    held = dict(arrays)
    for step in made.steps:
        if isinstance(step, Allocate):
            assert step.reuse is None and step.buffer.strides is not None
            shape = [int(str(n.data)) for n in step.buffer.shape]
            strides = [int(str(n.data)) for n in step.buffer.strides]
            held[step.buffer.name] = torch.empty_strided(shape, strides).fill_(
                torch.nan
            )
        elif isinstance(step, Kernel):
            built = build([step], Options(), interpret=True)[step.name]
            built(*(held[name] for name in built.parameters))
    return held


def close(found: Arrays, arrays: Arrays) -> None:
    for name, wanted in exact(arrays).items():
        error = (found[name].double() - wanted).norm() / wanted.norm()
        assert error < 1e-6, name


def test_layer_norm_backward_is_one_kernel_over_rows_and_one_small_sum() -> None:
    made = schedule(gradients((8192, 768)))
    check_schedule(made)
    first, second = kernels(made)
    assert [str(a.extent) for a in folded_axes(first.outer, first.stages)] == ["32"]
    assert {"dx"} < {s.buffer for s in first.stages if isinstance(s, Store)}
    read = {n for n in second.buffers if n not in ("dw", "db")}
    assert read == {s.buffer for s in first.stages if isinstance(s, Store) and s.folded}


@pytest.mark.parametrize(
    ("shape", "options", "device"),
    [
        ((8192, 16384), Options(), "cuda:0"),
        ((512, 768), Options(), "cuda:0"),
        ((8191, 768), Options(), "cuda:0"),
        ((8192, 768), Options(deterministic=True), "cuda:0"),
        ((8192, 768), Options(threads=4), "cpu"),
    ],
    ids=["long rows", "few rows", "prime", "deterministic", "cpu"],
)
def test_sums_stay_apart(shape: tuple[int, ...], options: Options, device: str) -> None:
    made = schedule(gradients(shape, device=device), options)
    check_schedule(made)
    assert not any(folded_axes(k.outer, k.stages) for k in kernels(made))


@pytest.fixture
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a GPU of four processors: few programs have work for all of them."""
    monkeypatch.setattr(row_chunks, "PROCESSORS", 4)
    for module in (row_chunks, column_sums):
        monkeypatch.setattr(module, "LEAST_PROGRAMS", 3)


@pytest.mark.usefixtures("small_gpu")
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((64, 40), torch.bfloat16),
        ((4, 24, 20), torch.float32),
        ((16, 7, 24), torch.float32),
    ],
    ids=str,
)
def test_printed_kernels_against_float64(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    made = schedule(gradients(shape, str(dtype).removeprefix("torch.")))
    check_schedule(made)
    assert any(folded_axes(k.outer, k.stages) for k in kernels(made))
    arrays = given_arrays(shape, dtype)
    close(interpreted(made, arrays), arrays)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from((1, 2, 3, 8, 12, 33, 49, 132)), min_size=1, max_size=3),
    st.integers(2, 40),
)
def test_schedules_against_float64(outer: list[int], length: int) -> None:
    shape = (*outer, length)
    made = on_cpu(schedule(gradients(shape)))
    arrays = given_arrays(shape, torch.float32)
    found = run_schedule(made, list(arrays.values()))
    close(dict(zip(("dx", "dw", "db"), found, strict=True)), arrays)  # type: ignore[arg-type]


def test_a_sum_over_rows_of_another_chunk_is_seen() -> None:
    made = on_cpu(schedule(gradients((1056, 24))))
    first, *_ = kernels(made)
    axis = folded_axes(first.outer, first.stages)[0]
    fewer = replace(axis, extent=sub(axis.extent, 1))
    outer = tuple(fewer if a is axis else a for a in first.outer)
    broken = {first: replace(first, outer=outer)}
    steps = tuple(broken.get(s, s) if isinstance(s, Kernel) else s for s in made.steps)
    arrays = given_arrays((1056, 24), torch.float32)
    found = run_schedule(replace(made, steps=steps), list(arrays.values()))
    with pytest.raises(AssertionError):
        close(dict(zip(("dx", "dw", "db"), found, strict=True)), arrays)  # type: ignore[arg-type]


def test_a_folded_store_has_no_folded_axis() -> None:
    made = schedule(gradients((8192, 768)))
    first, *_ = kernels(made)
    stages = tuple(
        replace(s, folded=False) if isinstance(s, Store) else s for s in first.stages
    )
    broken = replace(first, stages=stages)
    steps = tuple(broken if step is first else step for step in made.steps)
    faults = list(schedule_faults(replace(made, steps=steps)))
    assert any("no axis is folded" in fault for fault in faults)
