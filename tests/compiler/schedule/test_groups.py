"""Nodes share kernels where no path leads through a third."""

import torch

from compiler.ir.expression import Expression
from compiler.ir.index import contiguous_strides, digit, index
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Reference,
    Scatter,
)
from compiler.ir.scalar import apply, load
from compiler.schedule.groups import MOST_MEMBERS, grouped

A, R = digit("i0"), digit("r0")
TYPE = "float32"
EXTENT = 1 << 16
AXES = (Axis(A, index(EXTENT)),)


def array(name: str, device: str = "cpu") -> Buffer:
    return Buffer(name, TYPE, (index(EXTENT),), device, contiguous_strides((EXTENT,)))


def exp(name: str, *bases: str, device: str = "cpu") -> Map:
    value: Expression = apply("exp", load(bases[0], (A,), TYPE))
    for base in bases[1:]:
        value = apply("add", value, load(base, (A,), TYPE))
    return Map(array(name, device), AXES, value)


def call(name: str, *args: str, target: object = len) -> Extern:
    return Extern((array(name),), target, tuple(map(Reference, args)), {})


def groups(*nodes: Node, device: str = "cpu") -> list[list[str]]:
    graph = grouped(Program((array("x", device), array("w", device)), nodes, ()))
    return [sorted(group.writes) for group in graph.groups.values()]


def test_producers_consumers_and_readers_of_one_array() -> None:
    assert groups(exp("a", "x"), exp("b", "a"), exp("c", "x")) == [["a", "b", "c"]]


def test_strangers_stay_apart() -> None:
    assert groups(exp("a", "x"), exp("b", "w")) == [["a"], ["b"]]


def test_a_call_between_keeps_two_nodes_apart() -> None:
    found = groups(exp("a", "x"), call("e", "a"), exp("b", "a", "e"))
    assert found == [["a"], ["e"], ["b"]]


def test_a_call_aside_does_not() -> None:
    found = groups(exp("a", "x"), call("e", "w"), exp("b", "a", "e"))
    assert found == [["a", "b"], ["e"]]


def test_a_late_reader_joins_two_producers() -> None:
    assert groups(exp("a", "x"), exp("b", "w"), exp("c", "a", "b")) == [["a", "b", "c"]]


def test_a_path_through_a_joined_group_counts() -> None:
    # c joins a; e needs c; d needs e: d may not join a's group
    found = groups(exp("a", "x"), exp("c", "a"), call("e", "c"), exp("d", "a", "e"))
    assert found == [["a", "c"], ["e"], ["d"]]


def test_readers_of_the_old_content_come_first() -> None:
    graph = grouped(
        Program(
            (array("x"), array("w")),
            (
                call("e", "x"),
                Assign("x", AXES, load("w", (A,), TYPE)),
                call("f", "x"),
            ),
            (),
        )
    )
    first, change, last = graph.groups.values()
    assert change.before == 1 << first.number
    assert last.ancestors == 1 << first.number | 1 << change.number


def test_devices_scatters_and_sizes_part() -> None:
    far = Map(array("b", "cuda:0"), AXES, apply("exp", load("a", (A,), TYPE)))
    assert groups(exp("a", "x"), far) == [["a"], ["b"]]
    scatter = Scatter(array("s"), "s", AXES, (A,), load("x", (A,), TYPE))
    assert groups(exp("a", "x"), scatter) == [["a"], ["s"]]
    many = [exp(f"a{n}", "x") for n in range(MOST_MEMBERS + 1)]
    assert len(groups(*many)) > 1


def test_random_calls_keep_their_order() -> None:
    rand = torch.ops.aten.rand_like.default
    graph = grouped(
        Program(
            (array("x"),),
            (call("a", "x", target=rand), call("b", "x", target=rand)),
            (),
        )
    )
    first, second = graph.groups.values()
    assert second.before == 1 << first.number


def test_reasons_are_written_down() -> None:
    nodes = (exp("a", "x"), call("e", "a"), exp("b", "a", "e"))
    graph = grouped(Program((array("x"),), nodes, ()))
    reasons = [reason for group in graph.groups.values() for reason in group.reasons]
    assert reasons == ["not fused with a: another step runs between them"]


def test_a_reduction_takes_its_row_s_producers() -> None:
    rows = (Axis(A, index(512)), Axis(R, index(128)))
    shape = (512, 128)

    def matrix(name: str) -> Buffer:
        return Buffer(
            name, TYPE, tuple(map(index, shape)), "cpu", contiguous_strides(shape)
        )

    place = (A, R)
    first = Map(matrix("a"), rows, apply("exp", load("m", place, TYPE)))
    row = Buffer("s", TYPE, (index(512),), "cpu")
    total = Reduce((row,), rows[:1], rows[1:], "sum", (load("a", place, TYPE),))
    scaled = apply("mul", load("a", place, TYPE), load("s", (A,), TYPE))
    graph = grouped(
        Program((matrix("m"),), (first, total, Map(matrix("z"), rows, scaled)), ())
    )
    (group,) = graph.groups.values()
    assert group.writes == {"a", "s", "z"}


def test_a_view_is_no_step_between() -> None:
    view = Alias(array("v"), "a")
    found = groups(exp("a", "x"), view, exp("b", "a"))
    assert found == [["a", "b"], ["v"]]
    # who reads the view waits for it
    graph = grouped(Program((array("x"),), (exp("a", "x"), view, call("e", "v")), ()))
    _, alias, last = graph.groups.values()
    assert last.before >> alias.number & 1
