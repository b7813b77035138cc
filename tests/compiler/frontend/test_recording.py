"""Which schedules are recorded, and what they write."""

import pytest

from compiler.errors import FallbackWarning
from compiler.frontend.recording import (
    fixed_sizes,
    recordable,
    recording,
    written_inputs,
)
from compiler.ir.index import digit, index, symbol
from compiler.ir.kernel import Kernel, Schedule, Store
from compiler.ir.node import Alias, Axis, Buffer
from compiler.ir.scalar import load
from compiler.options import Options


def schedule(device: str) -> Schedule:
    size, i = index(4), digit("i")
    buffers = {n: Buffer(n, "float32", (size,), device, (index(1),)) for n in "abv"}
    store = Store("v", (i,), load("a", (i,), "float32"), False)
    kernel = Kernel("copy", (Axis(i, size),), (), (store,), buffers)
    inputs = buffers["a"], buffers["b"]
    return Schedule(inputs, (Alias(buffers["v"], "b"), kernel), ())


def test_only_schedules_of_one_gpu_are_recorded() -> None:
    assert recordable(schedule("cuda:0")) == ""
    assert "cpu" in recordable(schedule("cpu"))
    assert recordable(Schedule((), (), ()))


def test_inputs_that_are_written_through_views_are_found() -> None:
    assert written_inputs(schedule("cuda:0")) == (1,)


def test_recording_is_left_to_the_options() -> None:
    def run(args: list[object]) -> tuple[object, ...]:
        return ()

    assert recording(run, schedule("cuda:0"), Options()) is run
    assert recording(run, schedule("cpu"), Options("reduce-overhead")) is run
    assert recording(run, schedule("cuda:0"), Options("reduce-overhead")) is not run


def test_arrays_on_several_devices_are_not_recorded_with_a_warning() -> None:
    def run(args: list[object]) -> tuple[object, ...]:
        return ()

    one, two = schedule("cuda:0"), schedule("cpu")
    both = Schedule((*one.inputs, *two.inputs), (*one.steps, *two.steps), ())
    with pytest.warns(FallbackWarning, match="backward .* slower, .* cpu, cuda:0"):
        assert recording(run, both, Options("reduce-overhead"), name="backward") is run


def test_sizes_that_are_symbols_are_not_fixed() -> None:
    fixed = schedule("cuda:0")
    assert fixed_sizes(fixed)
    for value in (
        symbol("n"),
        Buffer("c", "float32", (symbol("n"),), "cuda:0", (index(1),)),
        Buffer("c", "float32", (index(4),), "cuda:0", (symbol("n"),)),
    ):
        assert not fixed_sizes(Schedule((*fixed.inputs, value), fixed.steps, ()))
