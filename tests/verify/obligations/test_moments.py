"""Moments of long rows are reduced in chunks, and put together by another formula."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from algebra.verdict import Proved
from compiler.ir.expression import Expression, make, rewrite
from compiler.ir.kernel import Kernel, Reduction, Schedule, Stage
from compiler.ir.node import Program
from verify.obligations.reads import Reads

Plan = Callable[..., tuple[Program, Schedule]]


def verdicts(program: Program, schedule: Schedule) -> list[Any]:
    reads = Reads(program, schedule)
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    return [reads.verdict(kernel) for kernel in kernels]


def changed(schedule: Schedule, change: Callable[[Expression], Expression]) -> Schedule:
    def stage(one: Stage) -> Stage:
        if isinstance(one, Reduction):
            return replace(one, values=tuple(rewrite(v, change) for v in one.values))
        return replace(one, value=rewrite(one.value, change))

    steps = tuple(
        replace(step, stages=tuple(map(stage, step.stages)))
        if isinstance(step, Kernel)
        else step
        for step in schedule.steps
    )
    return replace(schedule, steps=steps)


def test_chunks_of_moments_are_followed_and_their_constants_checked(
    planned: Plan,
) -> None:
    x = torch.rand(2, 1 << 16)
    program, schedule = planned(lambda x: torch.var_mean(x, 1), x)
    names = [s.buffer.name for s in schedule.steps if hasattr(s, "buffer")]
    assert any("chunks" in name for name in names)
    found = verdicts(program, schedule)
    assert all(isinstance(verdict, Proved) for verdict in found), found
    numbers: set[Expression] = set()

    def note(node: Expression) -> Expression:
        if node.op == "constant" and node.dtype == "float32" and float(str(node.data)):
            numbers.add(node)
        return node

    changed(schedule, note)
    assert numbers
    for number in numbers:
        other = make("constant", (), "float32", float(str(number.data)) + 1.0)

        def swap(node: Expression, old: Any = number, new: Any = other) -> Expression:
            return new if node is old else node

        wrong = verdicts(program, changed(schedule, swap))
        assert not all(isinstance(verdict, Proved) for verdict in wrong), number
