"""A renamed result of a call is the program's, if the calls have the same arguments."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from algebra.verdict import Proved, Unknown, Verdict
from compiler.ir.expression import Expression
from compiler.ir.index import contiguous_strides, digit, index
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import (
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Reference,
)
from compiler.ir.scalar import apply, cast, load
from compiler.options import Options
from compiler.schedule import schedule
from verify.obligations.calls import arguments, is_same, renamed_results
from verify.obligations.reads import Reads

IMAGE, WEIGHT = (2, 16, 8, 8), (16, 16, 3, 3)
AXES = tuple(Axis(digit(f"i{n}"), index(e)) for n, e in enumerate(IMAGE))
POINT = tuple(axis.digit for axis in AXES)


def array(name: str, shape: tuple[int, ...]) -> Buffer:
    strides = contiguous_strides(shape)
    return Buffer(name, "bfloat16", tuple(map(index, shape)), "cuda:0", strides)


def convolution(name: str, image: str, weight: str) -> Extern:
    target = torch.ops.aten.convolution.default
    rest = (None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1)
    args = (Reference(image), Reference(weight), *rest)
    return Extern((array(name, IMAGE),), target, args, {})


def doubled(name: str, base: str) -> Map:
    value: Expression = cast(load(base, POINT, "bfloat16"), "float32")
    return Map(array(name, IMAGE), AXES, cast(apply("add", value, value), "bfloat16"))


def total(name: str, base: str) -> Reduce:
    value = cast(load(base, POINT, "bfloat16"), "float32")
    result = replace(array(name, IMAGE[1:2]), dtype="float32")
    kept, reduced = AXES[1:2], (AXES[0], *AXES[2:])
    return Reduce((result,), kept, reduced, "sum", (value,))


def planned(*more: Node) -> tuple[Program, Schedule]:
    nodes = (
        convolution("c", "x", "w"),
        doubled("r", "c"),
        convolution("d", "r", "v"),
        total("s", "d"),
        *more,
    )
    inputs = (array("x", IMAGE), array("w", WEIGHT), array("v", WEIGHT))
    program = Program(inputs, nodes, ("c", "d", "s"))
    return program, schedule(program, Options())


def verdicts(program: Program, made: Schedule) -> list[Verdict]:
    reads = Reads(program, made)
    return [reads.verdict(step) for step in made.steps if isinstance(step, Kernel)]


def test_results_that_leave_the_graph_are_recognised() -> None:
    program, made = planned()
    found = renamed_results(program, made)
    assert {k: r.known_as for k, r in found.items()} == {"c_nhwc": "c", "d_nhwc": "d"}
    assert all(isinstance(verdict, Proved) for verdict in verdicts(program, made))


def changed(made: Schedule, place: int, value: Any) -> Schedule:
    """Return the schedule whose second convolution has another argument."""
    steps = list(made.steps)
    number = [n for n, step in enumerate(steps) if isinstance(step, Extern)][1]
    call = steps[number]
    assert isinstance(call, Extern)
    args = tuple(value if n == place else arg for n, arg in enumerate(call.args))
    steps[number] = replace(call, args=args)
    return replace(made, steps=tuple(steps))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, Reference("x")),
        (1, Reference("w")),
        (1, Reference("w_nhwc")),
        (3, (1, 2)),
        (4, (1, 1, 1)),
        (8, 16),
        (8, True),
    ],
)
def test_a_call_with_another_argument_is_doubted(place: int, value: Any) -> None:
    program, made = planned()
    found = verdicts(program, changed(made, place, value))
    doubts = [v.reason for v in found if isinstance(v, Unknown)]
    assert doubts and all("d_nhwc is of" in doubt for doubt in doubts)


def test_calls_that_were_exchanged_are_doubted() -> None:
    program, made = planned()
    first, second = (n for n, s in enumerate(made.steps) if isinstance(s, Extern))
    steps = list(made.steps)
    one, other = steps[first], steps[second]
    assert isinstance(one, Extern) and isinstance(other, Extern)
    steps[first] = replace(one, args=other.args)
    steps[second] = replace(other, args=one.args)
    found = verdicts(program, replace(made, steps=tuple(steps)))
    assert any(isinstance(v, Unknown) and "c_nhwc is of" in v.reason for v in found)


def test_what_changes_in_place_is_not_recognised() -> None:
    program, made = planned()
    value = load("c", POINT, "bfloat16")
    node = Assign("c", AXES, value)
    reads = Reads(replace(program, nodes=(*program.nodes, node)), made)
    assert "c_nhwc" not in reads.calls and "d_nhwc" in reads.calls


def test_arguments_are_paired_by_their_places() -> None:
    one, other = ([1, (2, {"k": 3})], 4), ((1, [2, {"k": 5}]), 4)
    assert list(arguments(one, other)) == [(1, 1), (2, 2), (3, 5), (4, 4)]
    assert list(arguments([1], [1, 2])) == [([1], [1, 2])]
    assert is_same(Reference("x"), Reference("x")) and is_same(1, 1)
    assert not is_same(Reference("x"), "x") and not is_same(1, True)
