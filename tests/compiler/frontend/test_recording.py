"""Which schedules are recorded, and what they write."""

from compiler.frontend.recording import recordable, recording, written_inputs
from compiler.ir.index import digit, index
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
