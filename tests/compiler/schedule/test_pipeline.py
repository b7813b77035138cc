"""A schedule computes what its program does, exactly on integers."""

import gc
import random
import time
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir.evaluate import run_program, run_schedule
from compiler.ir.expression import Expression
from compiler.ir.index import contiguous_strides, digit, index, mod
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Axis, Buffer, Map, Node, Program, Reduce
from compiler.ir.scalar import apply, load
from compiler.options import Options
from compiler.schedule.pipeline import schedule

Programs = Callable[[int, int], Program]
Inputs = Callable[[Program, int], list[torch.Tensor]]


def same(program: Program, inputs: list[torch.Tensor], options: Options) -> Schedule:
    copies = [tensor.clone() for tensor in inputs]
    wanted = run_program(program, inputs)
    made = schedule(program, options)
    found = run_schedule(made, copies)
    for ours, theirs in zip(found, wanted, strict=True):
        assert isinstance(ours, torch.Tensor) and isinstance(theirs, torch.Tensor)
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(copies, inputs, strict=True):
        assert torch.equal(ours, theirs)
    return made


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 1 << 30), size=st.integers(1, 12))
def test_a_schedule_does_what_the_program_does(
    program_of: Programs, inputs_of: Inputs, seed: int, size: int
) -> None:
    program = program_of(seed, size)
    same(program, inputs_of(program, seed), Options(threads=4))


@pytest.mark.slow
def test_two_thousand_programs(program_of: Programs, inputs_of: Inputs) -> None:
    for seed in range(2000):
        program = program_of(seed, 2 + seed % 16)
        same(program, inputs_of(program, seed), Options(deterministic=seed % 2 == 1))


def test_inputs_and_programs_are_left_alone(program_of: Programs) -> None:
    program = program_of(5, 10)
    before = [repr(node) for node in program.nodes]
    first, second = schedule(program), schedule(program)
    assert [repr(node) for node in program.nodes] == before
    assert [type(s).__name__ for s in first.steps] == [
        type(s).__name__ for s in second.steps
    ]
    assert first.notes == second.notes


def test_the_observer_sees_each_pass(program_of: Programs) -> None:
    seen: list[str] = []
    schedule(program_of(5, 10), observer=lambda name, _: seen.append(name))
    assert seen[0] == "live" and "inlined" in seen and seen[-1] == "epilogues"


def chain(length: int) -> Program:
    """Return a graph of additions, exponentials, shifts and row sums."""
    rng = random.Random(0)
    shape = (8, 16, 32)
    extents = tuple(map(index, shape))
    inputs = [
        Buffer(f"x{n}", "float32", extents, "cpu", contiguous_strides(shape))
        for n in range(4)
    ]
    names, sums = [b.name for b in inputs], ["none"]
    nodes: list[Node] = []
    for number in range(length):
        axes = tuple(
            Axis(digit(f"d{number}_{n}"), extent) for n, extent in enumerate(extents)
        )
        place = tuple(axis.digit for axis in axes)

        def recent(place: tuple[Expression, ...] = place) -> Expression:
            return load(rng.choice(names[-6:]), place, "float32")

        kind = rng.random()
        name = f"a{number}"
        if kind < 0.1:
            buffer = Buffer(name, "float32", extents[:2], "cpu")
            nodes.append(Reduce((buffer,), axes[:2], axes[2:], "sum", (recent(),)))
            sums.append(name)
            continue
        if kind < 0.2 and len(sums) > 1:
            value = apply("sub", recent(), load(sums[-1], place[:2], "float32"))
        elif kind < 0.3:
            value = recent((mod(place[0], 4), *place[1:]))
        elif kind < 0.5:
            value = apply("exp", recent())
        else:
            value = apply("add", recent(), recent())
        nodes.append(Map(Buffer(name, "float32", extents, "cpu"), axes, value))
        names.append(name)
    return Program(tuple(inputs), tuple(nodes), tuple(names[-3:]))


def test_time_grows_about_as_the_graph() -> None:
    def took(program: Program) -> float:
        """Return the least of three times, without what other tests' garbage costs."""
        times = []
        for _ in range(3):
            gc.disable()
            try:
                start = time.process_time()
                schedule(program)
                times.append(time.process_time() - start)
            finally:
                gc.enable()
        return min(times)

    small, large = chain(300), chain(1200)
    assert took(large) < 8 * took(small) + 0.2
    kernels = [s for s in schedule(large).steps if isinstance(s, Kernel)]
    assert len(kernels) < 150
