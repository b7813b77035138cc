"""Plans of memory with one step wrong."""

from collections.abc import Callable

import pytest
import torch

import compiler.schedule
from algebra.verdict import Proved, Refuted
from compiler.ir.expression import make
from compiler.ir.index import add, digit
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule
from compiler.ir.node import Alias, Program
from compiler.options import Options
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


def test_reuse_in_place_is_safe_at_the_same_element_only(one_store: MakeKernel) -> None:
    for shift in (0, 1):
        value = make("load", (add(ROW, shift),), "float32", "x")
        kernel = one_store(value, (ROW,), {ROW: 3}, {"x": (4,), "y": (4,)})
        x, y = kernel.buffers["x"], kernel.buffers["y"]
        plan = Schedule((x,), (Allocate(y, reuse="x"), kernel), ("y",))
        assert isinstance(memory_plan(plan), Refuted if shift else Proved)
        again = Schedule((x,), (Allocate(y, reuse="x"), kernel, kernel), ("y",))
        assert isinstance(memory_plan(again), Refuted)


def test_views_of_reused_memory_are_dead(one_store: MakeKernel) -> None:
    value = make("load", (ROW,), "float32", "x")
    fill = one_store(value, (ROW,), {ROW: 4}, {"x": (4,), "y": (4,)})
    look = one_store(
        make("load", (ROW,), "float32", "view"),
        (ROW,),
        {ROW: 4},
        {"view": (4,), "y": (4,)},
    )
    x, y, view = (*fill.buffers.values(), look.buffers["view"])
    start = (Alias(view, "x"), Allocate(y, reuse="x"), fill)
    assert isinstance(memory_plan(Schedule((x,), start, ("y",))), Proved)
    late = Schedule((x,), (*start, look), ("y",))
    assert isinstance(memory_plan(late), Refuted)
    early = Schedule((x,), (Alias(view, "x"), Allocate(y, reuse="x"), look), ("y",))
    assert isinstance(memory_plan(early), Refuted)


def test_plans_of_the_scheduler_are_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Schedule] = []
    made = compiler.schedule.schedule

    def seen(program: Program, options: Options) -> Schedule:
        plans.append(made(program, options))
        return plans[-1]

    monkeypatch.setattr(compiler.schedule, "schedule", seen)
    layers = [torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.Softmax(-1)]
    model = torch.nn.Sequential(*layers, *layers, torch.nn.LayerNorm(16))
    with torch.no_grad():
        torch.compile(model, backend="tilewright")(torch.randn(8, 16))
    (plan,) = plans
    reused = [s for s in plan.steps if isinstance(s, Allocate) and s.reuse is not None]
    assert reused
    assert isinstance(memory_plan(plan), Proved)
    # the same plan without taking that memory
    late = reused[0]
    steps = [step for step in plan.steps if step is not late]
    wrong = Schedule(plan.inputs, tuple(steps), plan.outputs)
    assert isinstance(memory_plan(wrong), Refuted)
