"""Schedules read what their programs read; one index or name changed is found."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.ir.expression import Expression, make, rewrite
from compiler.ir.index import add, index, mod
from compiler.ir.kernel import Kernel, Prefix, Reduction, Schedule, Stage, Store
from compiler.ir.node import Alias, Program
from verify.obligations.reads import Reads

Planned = tuple[Program, Schedule]
Plan = Callable[..., Planned]


def attention(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> Any:
    scores = torch.softmax((q * k.mT).masked_fill(mask, float("-inf")), -1)
    return scores.mT.reshape(-1), scores.sum(0)


def norm(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = functional.layer_norm(x, (12,), w)
    return functional.gelu(y).view(2, 4, 12).transpose(0, 1).contiguous()


def pieces(x: torch.Tensor, y: torch.Tensor) -> Any:
    padded = functional.pad(torch.cat((x, y.flip(0)), 1), (1, 2), value=3.0)
    return padded.cumsum(1), padded[:, ::2].amax(0), padded.roll(3, 1)


def gathered(x: torch.Tensor, at: torch.Tensor) -> Any:
    rows = functional.embedding(at, x)
    return rows * 2, torch.zeros_like(x).index_add(0, at.flatten(), rows.flatten(0, 1))


def changed(x: torch.Tensor, y: torch.Tensor) -> Any:
    before = x + y
    x.mul_(2)
    return before, x - y


def long_sums(x: torch.Tensor) -> Any:
    return x.sum(), x.amax(0), (x * x).sum(1), x.argmax(1)


def windows(x: torch.Tensor) -> Any:
    return functional.avg_pool2d(x, 2), functional.max_pool2d(x, 3, 2, 1)


def pairs(x: torch.Tensor) -> torch.Tensor:
    """Sums of two, written out inside a loop over the rest of the row."""
    return functional.layer_norm(x.sum(1), (32,))


def stacked(x: torch.Tensor) -> Any:
    """The outer choice is between the same values, the inner one is not."""
    inner = torch.stack((x, x + 1), -1)
    return torch.stack((inner, inner), -1), inner


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(shape)


CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "attention": (attention, (rand(6, 6), rand(6, 6), rand(6, 6) > 0.5)),
    "norm": (norm, (rand(8, 12), rand(12))),
    "pieces": (pieces, (rand(4, 5), rand(4, 3))),
    "gathered": (gathered, (rand(7, 5), torch.randint(7, (2, 3)))),
    "changed": (changed, (rand(4, 5), rand(4, 5))),
    "long_sums": (long_sums, (rand(512, 256),)),
    "pairs": (pairs, (rand(6, 2, 32),)),
    "windows": (windows, (rand(2, 3, 8, 8),)),
    "stacked": (stacked, (rand(1025),)),
}


def kernels(schedule: Schedule) -> list[Kernel]:
    return [step for step in schedule.steps if isinstance(step, Kernel)]


def verdicts(program: Program, schedule: Schedule) -> list[Verdict]:
    reads = Reads(program, schedule)
    return [reads.verdict(kernel) for kernel in kernels(schedule)]


def with_kernel(schedule: Schedule, old: Kernel, new: Kernel) -> Schedule:
    steps = tuple(new if step is old else step for step in schedule.steps)
    return replace(schedule, steps=steps)


def with_values(kernel: Kernel, change: Callable[[Expression], Expression]) -> Kernel:
    def changed_stage(stage: Stage) -> Stage:
        if isinstance(stage, Reduction):
            values = tuple(rewrite(value, change) for value in stage.values)
            return replace(stage, values=values)
        value = rewrite(stage.value, change)
        return replace(stage, value=value)

    return replace(kernel, stages=tuple(map(changed_stage, kernel.stages)))


def loads_of(kernel: Kernel) -> list[Expression]:
    found: dict[Expression, None] = {}

    def note(node: Expression) -> Expression:
        if node.op == "load":
            found[node] = None
        return node

    with_values(kernel, note)
    return list(found)


def moved(kernel: Kernel, load: Expression) -> Iterator[Kernel]:
    """The kernel with one load at the next element, along each dim that has one."""
    for dim, extent in enumerate(kernel.buffers[str(load.data)].shape):
        if extent is index(1):
            continue
        place = list(load.args)
        place[dim] = mod(add(place[dim], 1), extent)
        other = make("load", tuple(place), load.dtype, load.data)
        yield with_values(kernel, lambda n, o=other: o if n is load else n)  # type: ignore[misc]


@pytest.mark.parametrize("name", list(CASES))
def test_what_a_schedule_reads_is_what_its_program_reads(
    planned: Plan, name: str
) -> None:
    function, args = CASES[name]
    program, schedule = planned(function, *args)
    found = verdicts(program, schedule)
    assert found and all(isinstance(verdict, Proved) for verdict in found), found
    assert isinstance(Reads(program, schedule).views(), Proved)


@pytest.mark.parametrize("name", list(CASES))
def test_a_load_of_the_next_element_is_not_proved(planned: Plan, name: str) -> None:
    function, args = CASES[name]
    program, schedule = planned(function, *args)
    refuted = tried = 0
    for kernel in kernels(schedule):
        for load in loads_of(kernel):
            for wrong in moved(kernel, load):
                found = verdicts(program, with_kernel(schedule, kernel, wrong))
                assert not all(isinstance(v, Proved) for v in found), (kernel, load)
                tried += 1
                refuted += any(isinstance(v, Refuted) for v in found)
    assert tried and refuted >= 0.5 * tried, (refuted, tried)


def subtract(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x - y.mT).relu()


ARGS = rand(5, 7), rand(7, 5)


def only(schedule: Schedule) -> Kernel:
    (kernel,) = kernels(schedule)
    return kernel


def test_swapped_operands_are_refuted(planned: Plan) -> None:
    program, schedule = planned(subtract, *ARGS)

    def swap(node: Expression) -> Expression:
        if node.op != "sub":
            return node
        return make("sub", node.args[::-1], node.dtype)

    kernel = only(schedule)
    wrong = with_values(kernel, swap)
    (found,) = verdicts(program, with_kernel(schedule, kernel, wrong))
    assert isinstance(found, Refuted) and "is meant" in found.counterexample["is"]


def test_sums_may_be_in_either_order(planned: Plan) -> None:
    program, schedule = planned(lambda x, y: x + y.mT, *ARGS)
    kernel = only(schedule)

    def swap(node: Expression) -> Expression:
        if node.op != "add" or node.dtype != "float32":
            return node
        return make("add", node.args[::-1], node.dtype)

    swapped = with_values(kernel, swap)
    assert swapped is not kernel
    (found,) = verdicts(program, with_kernel(schedule, kernel, swapped))
    assert isinstance(found, Proved)


def test_a_wrong_index_after_inlining_is_refuted_with_the_element(
    planned: Plan,
) -> None:
    program, schedule = planned(subtract, *ARGS)
    kernel = only(schedule)
    (load,) = (one for one in loads_of(kernel) if one.args[0] is kernel.outer[1].digit)
    other = make("load", (load.args[0], index(0)), load.dtype, load.data)
    wrong = with_values(kernel, lambda node: other if node is load else node)
    (found,) = verdicts(program, with_kernel(schedule, kernel, wrong))
    assert isinstance(found, Refuted)
    assert found.counterexample[str(load.args[1].data)] != 0


def test_a_stale_array_is_refuted(planned: Plan) -> None:
    """What stands after the change in place reads what was there before."""
    program, schedule = planned(changed, *CASES["changed"][1])
    assert all(isinstance(v, Proved) for v in verdicts(program, schedule))
    changing = [
        kernel
        for kernel in kernels(schedule)
        if any(isinstance(s, Store) and s.buffer == "a0_1" for s in kernel.stages)
    ]
    assert changing, "the input is changed by a kernel"
    kernel = changing[0]
    # the change first, then all that read what was there before
    stages = sorted(
        kernel.stages, key=lambda s: not (isinstance(s, Store) and s.buffer == "a0_1")
    )
    wrong = replace(kernel, stages=tuple(stages))
    found = verdicts(program, with_kernel(schedule, kernel, wrong))
    assert any(isinstance(v, Refuted) for v in found), found


def test_another_array_of_the_same_shape_is_refuted(planned: Plan) -> None:
    program, schedule = planned(lambda x, y: x.exp() - y, rand(4, 4), rand(4, 4))
    kernel = only(schedule)
    names = [b.name for b in program.inputs if hasattr(b, "name")]

    def other(node: Expression) -> Expression:
        if node.op == "load" and node.data == names[1]:
            return make("load", node.args, node.dtype, names[0])
        return node

    wrong = with_values(kernel, other)
    (found,) = verdicts(program, with_kernel(schedule, kernel, wrong))
    assert isinstance(found, Refuted)


def test_a_reduction_of_too_few_elements_is_not_proved(planned: Plan) -> None:
    program, schedule = planned(lambda x: x.sum(1), rand(6, 40))
    kernel = only(schedule)
    short = tuple(replace(axis, extent=index(39)) for axis in kernel.inner)
    (found,) = verdicts(
        program, with_kernel(schedule, kernel, replace(kernel, inner=short))
    )
    assert isinstance(found, Unknown) and "39" in found.reason
    stages = tuple(
        replace(s, reducer="maximum") if isinstance(s, Reduction) else s
        for s in kernel.stages
    )
    (found,) = verdicts(
        program, with_kernel(schedule, kernel, replace(kernel, stages=stages))
    )
    assert isinstance(found, Unknown) and "maximum" in found.reason


def test_a_view_at_another_offset_is_refuted(planned: Plan) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = x + 1
        return torch.mm(z[1:4], y), z

    program, schedule = planned(f, rand(6, 5), rand(5, 3))
    assert isinstance(Reads(program, schedule).views(), Proved)
    (view,) = (s for s in schedule.steps if isinstance(s, Alias))
    assert view.buffer.offset is index(5)
    wrong = replace(view, buffer=replace(view.buffer, offset=index(6)))
    steps = tuple(wrong if step is view else step for step in schedule.steps)
    found = Reads(program, replace(schedule, steps=steps)).views()
    assert isinstance(found, Refuted)


def test_scans_and_scatters_are_followed(planned: Plan) -> None:
    program, schedule = planned(lambda x: x.cumsum(1) * 2, rand(4, 30))
    kernel = only(schedule)
    assert any(isinstance(stage, Prefix) for stage in kernel.stages)
    other = tuple(
        replace(s, kind="maximum") if isinstance(s, Prefix) else s
        for s in kernel.stages
    )
    (found,) = verdicts(
        program, with_kernel(schedule, kernel, replace(kernel, stages=other))
    )
    assert not isinstance(found, Proved)


def test_of_scatters_into_one_array_none_is_refuted(planned: Plan) -> None:
    def twice(x: torch.Tensor) -> torch.Tensor:
        rows = torch.zeros(2, 4, dtype=torch.int64)
        return torch.scatter(x, 0, rows, x).index_copy(0, torch.tensor([0]), x[:1])

    found = verdicts(*planned(twice, rand(2, 4)))
    assert len(found) > 1
    assert not any(isinstance(verdict, Refuted) for verdict in found)
