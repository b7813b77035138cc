"""Plans of memory with one step wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

import compiler.schedule
from algebra.verdict import Proved, Refuted
from compiler.ir.expression import make
from compiler.ir.index import add, digit, index
from compiler.ir.kernel import Allocate, Free, Kernel, Schedule
from compiler.ir.node import Alias, Axis, Buffer, Extern, Map, Program, Reference
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
        first = Extern((x,), None, (), {})
        plan = Schedule((), (first, Allocate(y, reuse="x"), kernel), ("y",))
        assert isinstance(memory_plan(plan), Refuted if shift else Proved)
        steps = (first, Allocate(y, reuse="x"), kernel, kernel)
        assert isinstance(memory_plan(Schedule((), steps, ("y",))), Refuted)


def test_what_the_caller_owns_is_not_reused(one_store: MakeKernel) -> None:
    value = make("load", (ROW,), "float32", "x")
    kernel = one_store(value, (ROW,), {ROW: 4}, {"x": (4,), "y": (4,)})
    x, y = kernel.buffers["x"], kernel.buffers["y"]
    for first, reused in (((), "x"), ((Alias(replace(x, name="v"), "x"),), "v")):
        steps = (*first, Allocate(y, reuse=reused), kernel)
        found = memory_plan(Schedule((x,), steps, ("y",)))
        assert isinstance(found, Refuted)
        assert found.counterexample["is"] == "reused, but the caller owns it"
    given = Schedule((x,), (Allocate(y, "x"), kernel), ("y",), donated=frozenset("x"))
    assert isinstance(memory_plan(given), Proved)
    program = Program((x,), (Map(y, (Axis(ROW, index(4)),), value),), ("y",))
    assert isinstance(memory_plan(given, program), Refuted), "a result in it"


def test_memory_that_is_taken_over_must_fit(one_store: MakeKernel) -> None:
    value = make("constant", (), "float32", 0.0)
    kernel = one_store(value, (ROW,), {ROW: 4}, {"y": (4,)})
    y = kernel.buffers["y"]
    for size, dtype, fits in ((4, "float32", True), (3, "float32", False)):
        old = replace(y, name="old", shape=(index(size),), dtype=dtype)
        steps = (Extern((old,), None, (), {}), Allocate(y, reuse="old"), kernel)
        found = memory_plan(Schedule((), steps, ("y",)))
        assert isinstance(found, Proved if fits else Refuted), size
    other = Extern((replace(y, name="old", dtype="int32"),), None, (), {})
    steps = (other, Allocate(y, reuse="old"), kernel)
    assert isinstance(memory_plan(Schedule((), steps, ("y",))), Refuted)


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
    call = Extern((x,), None, (), {})
    shown = Extern((view,), None, (), {}, aliases={"view": ("x",)})
    for seen in (Alias(view, "x"), shown):
        start = (call, seen, Allocate(y, reuse="x"), fill)
        assert isinstance(memory_plan(Schedule((), start, ("y",))), Proved)
        late = Schedule((), (*start, look), ("y",))
        assert isinstance(memory_plan(late), Refuted)
        early = Schedule((), (call, seen, Allocate(y, reuse="x"), look), ("y",))
        assert isinstance(memory_plan(early), Refuted)


def test_results_share_memory_only_where_the_program_says_so() -> None:
    x = Buffer("x", "float32", (index(4),), "cpu", (index(1),))
    y, z = replace(x, name="y"), replace(x, name="z")
    row = (Axis(ROW, index(4)),)
    load = make("load", (ROW,), "float32", "x")
    steps = (Alias(y, "x"), Alias(z, "x"))
    schedule = Schedule((x,), steps, ("y", "z"))
    for shares, good in (("x", True), ("", False)):
        nodes = (Map(y, row, load, shares="x"), Map(z, row, load, shares=shares))
        found = memory_plan(schedule, Program((x,), nodes, ("y", "z")))
        assert isinstance(found, Proved if good else Refuted), shares
    only = Schedule((x,), (Alias(y, "x"),), ("y",))
    program = Program((x,), (Map(y, row, load),), ("y",))
    found = memory_plan(only, program)
    assert isinstance(found, Refuted)
    assert found.counterexample["is"] == "in x's memory"


def test_memory_of_any_argument_that_a_call_may_return() -> None:
    x = Buffer("x", "float32", (index(4),), "cpu", (index(1),))
    first = Extern((x, replace(x, name="y")), None, (), {})
    either = Extern((replace(x, name="z"),), None, (), {}, aliases={"z": ("x", "y")})
    use = Extern((), None, (Reference("z"),), {})
    for reused in ("x", "y"):
        taken = Allocate(replace(x, name="w"), reuse=reused)
        fill = Extern((), None, (Reference("x"),), {})
        steps = (first, either, taken, fill, use)
        assert isinstance(memory_plan(Schedule((), steps, ())), Refuted)
    assert isinstance(memory_plan(Schedule((), (first, either, use), ())), Proved)


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
