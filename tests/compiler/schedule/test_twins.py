"""Equal arrays are computed once."""

import torch

from compiler.ir.index import digit, index
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
from compiler.schedule.twins import without_twins

A, R = digit("i0"), digit("r0")
TYPE = "float32"
AXES = (Axis(A, index(4)),)


def array(name: str) -> Buffer:
    return Buffer(name, TYPE, (index(4),), "cpu")


def exp(name: str, base: str = "x") -> Map:
    return Map(array(name), AXES, apply("exp", load(base, (A,), TYPE)))


def left(*nodes: Node, outputs: tuple[str, ...] = ("z",)) -> tuple[Node, ...]:
    return without_twins(Program((array("x"),), nodes, outputs), []).nodes


def test_readers_of_a_twin_read_the_other() -> None:
    both = apply("add", load("a", (A,), TYPE), load("b", (A,), TYPE))
    first, reader = left(exp("a"), exp("b"), Map(array("z"), AXES, both))
    assert isinstance(first, Map) and isinstance(reader, Map)
    one = load("a", (A,), TYPE)
    assert reader.value is apply("add", one, one)


def test_twins_of_twins() -> None:
    assert (
        len(left(exp("a"), exp("b"), exp("c", "a"), exp("d", "b"), exp("z", "d"))) == 3
    )


def test_reductions_calls_and_views() -> None:
    inner = (Axis(R, index(3)),)

    def total(name: str) -> Reduce:
        return Reduce((array(name),), AXES, inner, "sum", (load("w", (A, R), TYPE),))

    call = Extern((array("e"),), len, ([Reference("b")],), {"k": (Reference("b"),)})
    view = Alias(array("v"), "b")
    scatter = Scatter(array("s"), "b", AXES, (A,), load("b", (A,), TYPE))
    out = left(total("a"), total("b"), call, view, scatter)
    assert len(out) == 4
    found, shown, written = out[1:]
    assert isinstance(found, Extern) and isinstance(shown, Alias)
    assert found.args[0][0].name == found.kwargs["k"][0].name == shown.base == "a"
    assert isinstance(written, Scatter) and written.base == "b"


def test_what_leaves_or_changes_has_memory_of_its_own() -> None:
    assert len(left(exp("a"), exp("z"))) == 2
    change = Assign("x", AXES, load("a", (A,), TYPE))
    assert len(left(exp("a"), change, exp("b"), exp("z", "b"))) == 4
    scattered = Scatter(array("a"), "a", AXES, (A,), load("x", (A,), TYPE))
    assert len(left(exp("a"), scattered, exp("b"), exp("z", "b"))) == 4


def test_other_types_and_extents_differ() -> None:
    wide = Map(
        Buffer("b", TYPE, (index(5),), "cpu"), (Axis(A, index(5)),), exp("b").value
    )
    assert len(left(exp("a"), wide, exp("z", "b"))) == 3


def test_what_a_declared_view_shows_the_caller_has_memory_of_its_own() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.exp()
        return y.view(-1).view(3, 9), y.clone().as_strided((3, 2), (9, 3)), y[0]

    x = torch.randn(3, 9)
    found = torch.compile(function, backend="tilewright")(x)
    for value, wanted in zip(found, function(x), strict=True):
        torch.testing.assert_close(value, wanted)
    first, second, third = (one.untyped_storage().data_ptr() for one in found)
    assert first == third != second


def test_a_copy_of_an_argument_is_not_the_argument() -> None:
    x = torch.randn(60).as_strided((3, 3, 3), (9, 3, 1), 7)
    turned = torch.compile(
        lambda x: (x.view_as(x), x.clone().as_strided((3, 3, 2), (9, 3, 1))),
        backend="tilewright",
    )
    view, copy = turned(x)
    torch.testing.assert_close(copy, x.clone().as_strided((3, 3, 2), (9, 3, 1)))
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert copy.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
