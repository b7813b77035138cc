"""Views are aliases where somebody needs them in memory."""

from typing import Any

import pytest
import torch

from compiler.ir.expression import Expression
from compiler.ir.index import (
    add,
    constant_value,
    contiguous_strides,
    digit,
    floordiv,
    index,
    mod,
    mul,
)
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reference,
)
from compiler.ir.scalar import apply, load
from compiler.schedule.views import with_views

A, B = digit("i0"), digit("i1")
TYPE = "float32"


def array(name: str, *shape: int, strides: tuple[int, ...] | None = None) -> Buffer:
    steps = None if strides is None else tuple(map(index, strides))
    return Buffer(name, TYPE, tuple(map(index, shape)), "cpu", steps)


def dense(name: str, *shape: int) -> Buffer:
    steps = tuple(constant_value(s) or 0 for s in contiguous_strides(shape))
    return array(name, *shape, strides=steps)


def loaded(buffer: Buffer, base: str, *place: Expression) -> Map:
    axes = tuple(Axis(d, e) for d, e in zip((A, B), buffer.shape, strict=False))
    return Map(buffer, axes, load(base, place, TYPE))


def call(*names: str, **more: object) -> Extern:
    made = (dense("e", 1),)
    return Extern(made, len, tuple(map(Reference, names)), {}, **more)  # type: ignore[arg-type]


def result(*nodes: Node, outputs: tuple[str, ...] = ()) -> Program:
    return with_views(Program((dense("x", 4, 6),), nodes, outputs), [])


def strides(buffer: Buffer) -> list[int | None]:
    assert buffer.strides is not None
    return [constant_value(s) for s in buffer.strides]


def test_an_argument_of_a_call_shows_an_input() -> None:
    node = loaded(array("v", 6, 4), "x", B, A)
    alias = result(node, call("v")).nodes[0]
    assert isinstance(alias, Alias) and alias.base == "x"
    assert strides(alias.buffer) == [1, 6]


def test_a_slice_has_an_offset() -> None:
    node = loaded(array("v", 4, 3), "x", A, add(B, 2))
    alias = result(node, call("v")).nodes[0]
    assert isinstance(alias, Alias) and alias.buffer.offset is index(2)


@pytest.mark.parametrize("wanted", [(4, 1), (1, 6)])
def test_strides_that_are_demanded_must_be_the_view_s(wanted: tuple[int, int]) -> None:
    node = loaded(array("v", 6, 4, strides=wanted), "x", B, A)
    assert isinstance(result(node, call("v")).nodes[0], Alias) == (wanted == (1, 6))


def test_a_free_base_is_laid_out_for_its_view() -> None:
    base = Map(
        array("y", 4, 6),
        (Axis(A, index(4)), Axis(B, index(6))),
        load("x", (A, B), TYPE),
    )
    base = Map(base.buffer, base.axes, apply("exp", base.value))
    node = loaded(array("v", 6, 4, strides=(4, 1)), "y", B, A)
    laid, alias, _ = result(base, node, call("v")).nodes
    assert isinstance(laid, Map) and isinstance(alias, Alias)
    assert strides(laid.buffer) == [1, 4]
    # a part of the base says nothing of the rest
    part = loaded(array("v", 6, 2, strides=(2, 1)), "y", B, A)
    assert isinstance(result(base, part, call("v")).nodes[1], Map)


def test_two_outputs_do_not_share_memory() -> None:
    base = Map(
        array("y", 4, 6),
        (Axis(A, index(4)), Axis(B, index(6))),
        apply("exp", load("x", (A, B), TYPE)),
    )
    node = loaded(array("v", 6, 4), "y", B, A)
    assert isinstance(result(base, node, outputs=("v", "y")).nodes[1], Map)
    assert isinstance(result(base, node, outputs=("v",)).nodes[1], Alias)
    assert isinstance(
        result(loaded(array("v", 6, 4), "x", B, A), outputs=("v",)).nodes[0], Map
    )


def test_what_may_change_is_copied() -> None:
    node = loaded(array("v", 6, 4), "x", B, A)
    assert isinstance(result(node, call("v", mutates=("v",))).nodes[0], Map)
    assert isinstance(result(node, call("v", aliases={"e": ("v",)})).nodes[0], Map)
    change = Assign(
        "x", (Axis(A, index(4)), Axis(B, index(6))), load("w", (A, B), TYPE)
    )
    assert isinstance(result(node, change, call("v")).nodes[0], Map)


def test_no_strides_no_alias() -> None:
    flip = loaded(array("v", 4, 6), "x", A, add(mul(B, -1), 5))
    assert isinstance(result(flip, call("v")).nodes[0], Map)
    typed = Map(
        Buffer("v", "int32", (index(4),), "cpu"),
        (Axis(A, index(4)),),
        load("x", (A, A), "int32"),
    )
    assert isinstance(result(typed, call("v")).nodes[0], Map)
    merged = loaded(array("v", 24), "x", floordiv(A, 6), mod(A, 6))
    assert isinstance(result(merged, call("v")).nodes[0], Alias)


def storage(value: torch.Tensor) -> int:
    return value.untyped_storage().data_ptr()


@pytest.mark.parametrize("last", [lambda y: y, lambda y: y.view(-1), lambda y: y.mT])
def test_a_copy_s_view_and_a_view_of_what_was_copied_are_apart(last: Any) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.softmax(-1)
        v = y.clone().view(6, 8, 8)
        return torch.bmm(v, w), v.transpose(1, 2), last(y), y[0]

    x, w = torch.randn(2, 3, 8, 8), torch.randn(6, 8, 8)
    compiled = torch.compile(function, backend="tilewright")
    results = compiled(x, w)
    for result, expected in zip(results, function(x, w), strict=True):
        torch.testing.assert_close(result, expected)
    _, first, second, third = map(storage, results)
    assert first != second == third


def test_a_view_of_what_was_scattered_shows_it() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.scatter(x, 0, torch.arange(48).view(2, 2, 12) % 2, x)
        z = y.narrow(2, 0, 1)
        return y, z, z.clone(), y.index_put((torch.tensor([0]),), torch.tensor(3.0))

    x = torch.randn(2, 2, 12)
    results = torch.compile(function, backend="tilewright")(x)
    for result, expected in zip(results, function(x), strict=True):
        torch.testing.assert_close(result, expected)
    first, second, third, fourth = map(storage, results)
    assert first == second and len({first, third, fourth}) == 3


@pytest.mark.parametrize("copies", [1, 2])
def test_views_of_a_copy_share_the_copy_s_memory(copies: int) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        z = y.clone() if copies == 2 else y
        return y[1:], y.view(-1), z[:1], z.unsqueeze(0)

    x = torch.randn(4, 3)
    results = torch.compile(function, backend="tilewright")(x)
    for result, expected in zip(results, function(x), strict=True):
        torch.testing.assert_close(result, expected)
    first, second, third, fourth = map(storage, results)
    assert first == second and third == fourth
    assert len({first, third, storage(x)}) == copies + 1


def test_a_declared_view_of_a_copy_is_not_the_caller_s_memory() -> None:
    whole = torch.arange(20.0)
    x = whole[5:17].view(1, 3, 4)
    turned = torch.compile(lambda x: x.clone().expand(2, 3, 4), backend="tilewright")
    result = turned(x)
    assert storage(result) != storage(x)
    torch.testing.assert_close(result, x.expand(2, 3, 4))


def test_a_declared_view_follows_what_it_shows() -> None:
    """The copy shows an input from an offset on; so does a view of the copy."""
    copy = loaded(dense("v", 4, 3), "x", A, add(B, 2))
    strided = loaded(array("v", 4, 3, strides=(6, 1)), "x", A, add(B, 2))
    view = Alias(array("w", 2, 4, 3, strides=(0, 6, 1)), "v")
    first, second, _ = result(strided, view, call("w")).nodes
    assert isinstance(first, Alias) and isinstance(second, Alias)
    assert first.buffer.offset is index(2) and second.buffer.offset is index(2)
    # for the caller it is a copy
    kept, same = result(strided, view, outputs=("w",)).nodes
    assert isinstance(kept, Map) and isinstance(same, Alias)
    assert same.buffer.offset is None
    assert isinstance(result(copy, view, call("w")).nodes[0], Map)


def test_a_call_reads_a_view_of_a_dropped_copy() -> None:
    x = torch.randn(40)[5:14].view(1, 3, 3)
    turned = torch.compile(
        lambda x: torch.linalg.det(x.clone().expand(2, 3, 3)), backend="tilewright"
    )
    torch.testing.assert_close(turned(x), torch.linalg.det(x).expand(2))
