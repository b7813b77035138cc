from collections.abc import Callable

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.ir.evaluate import run_program
from compiler.ir.expression import loads
from compiler.ir.node import Alias, Extern, Map, Program
from compiler.lower import lower
from compiler.lower.storage import contiguous

Function = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]


def program(function: object, *args: torch.Tensor) -> Program:
    return lower(make_fx(function, tracing_mode="fake")(*args))  # type: ignore[arg-type]


def test_outsiders_get_eager_modes_strides() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    w = torch.randn(4, 3, 1, 1)

    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.conv2d((x + 1).relu(), w)

    found = program(function, x, w)
    maps = [node for node in found.nodes if isinstance(node, Map)]
    strides = [[str(s) for s in node.buffer.strides or ()] for node in maps]
    assert strides == [[], [str(s) for s in x.stride()]]


def test_what_a_view_shows_has_its_strides_too() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, (x + 1).t())

    found = program(function, torch.randn(3, 3))
    maps = {node.buffer.name: node for node in found.nodes if isinstance(node, Map)}
    assert all(node.buffer.strides is not None for node in maps.values())
    assert [node.shares for node in maps.values()] == ["", "add"]
    assert isinstance(found.nodes[-1], Extern)


def test_an_expanded_array_is_a_view_for_outsiders() -> None:
    x = torch.randn(3)
    found = program(lambda x: (x + 1).expand(4, 3), x)
    (view,) = [node for node in found.nodes if isinstance(node, Alias)]
    assert [str(s) for s in view.buffer.strides or ()] == ["0", "1"]


def test_a_changed_input_is_not_shown_as_it_was() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        old = x.expand(4, 3)
        kept = old + 0
        x.add_(1)
        return kept

    x = torch.randn(3)
    wanted = x.expand(4, 3).clone()
    (out,) = run_program(program(function, x), [x])
    assert isinstance(out, torch.Tensor) and out.equal(wanted)


def test_row_major() -> None:
    assert contiguous(torch.zeros(2, 3))
    assert contiguous(torch.zeros(2, 1, 3).expand(2, 1, 3))
    assert not contiguous(torch.zeros(2, 3).t())
    assert not contiguous(torch.zeros(9)[1:])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.view_as(x), x),
        lambda x: (x, x[1:]),
        lambda x: (x.t(), x[0], x),
        lambda x: tuple(x.unbind(0)),
        lambda x: (x.expand(2, 2, 2), x),
    ],
    ids=["view_as", "slice", "two views", "unbind", "expand"],
)
def test_views_of_a_constant_share_its_memory(function: Function) -> None:
    def constant(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = torch.empty_like(x).fill_(2)
        return function(made)

    x = torch.randn(2, 2)
    torch.compiler.reset()
    ours = torch.compile(constant, backend="tilewright")(x)
    theirs = constant(x)
    assert len({value.untyped_storage().data_ptr() for value in ours}) == 1
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other) and one.stride() == other.stride()


def test_who_reads_a_view_of_a_constant_needs_no_memory() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + torch.full((4, 3), 2.0)[1:].t()

    found = program(function, torch.randn(3, 3))
    (node,) = found.nodes
    assert isinstance(node, Map)
    assert [load.data for load in loads(node.value)] == ["x_1"]
