"""Plans of memory with one step wrong."""

from collections.abc import Callable

from algebra.verdict import Proved, Refuted
from compiler.ir.expression import make
from compiler.ir.index import digit
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule
from verify.obligations.memory import memory_plan

MakeKernel = Callable[..., Kernel]
ROW = digit("i")


def test_what_is_read_is_alive_and_written(one_store: MakeKernel) -> None:
    value = make("load", (ROW,), "float32", "x")
    kernel = one_store(value, (ROW,), {ROW: 4}, {"x": (4,), "y": (4,)})
    x, y = kernel.buffers["x"], kernel.buffers["y"]
    good = (Allocate(y), kernel, Free("x"))
    assert isinstance(memory_plan(Schedule((x,), good, ("y",))), Proved)
    for steps in ((kernel,), (Allocate(y), Free("x"), kernel), (Allocate(y),)):
        verdict = memory_plan(Schedule((x,), steps, ("y",)))
        assert isinstance(verdict, Refuted), steps
