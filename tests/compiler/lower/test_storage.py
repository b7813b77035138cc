from collections.abc import Callable, Sequence

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


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x[1:][x.shape[0] // 2],),
        lambda x: (x[1 : x.shape[0] - 1][(x.shape[0] - 2) // 2][None],),
        lambda x: (x.reshape(x.shape[1], x.shape[0])[x.shape[1] // 3 :].flatten(),),
        lambda x: (x[:, : x.shape[1] % 3 + 1].unfold(0, 2, 1)[..., 0], x[1:]),
        lambda x: twice(x + 1, lambda y: y[1:][x.shape[0] // 2]),
        lambda x: twice(x.repeat(2, 1), lambda y: y.unfold(0, 2, 1)[..., 0]),
        lambda x: twice(x * 2, lambda y: y.reshape(x.shape[1], x.shape[0])[1:]),
        lambda x: twice(x * 2, lambda y: y.flatten().view(x.shape)[x.shape[0] // 3 :]),
    ],
)
def test_views_by_sizes_show_what_eager_mode_s_show(
    function: Callable[[torch.Tensor], tuple[torch.Tensor, ...]],
) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        function, backend="tilewright", dynamic=True, options={"fallback": False}
    )
    for shape in ((6, 4), (9, 5), (12, 8)):
        x = torch.randn(shape)
        ours, theirs = compiled(x), function(x)
        for mine, wanted in zip(ours, theirs, strict=True):
            torch.testing.assert_close(mine, wanted, rtol=0, atol=0)
            assert mine.stride() == wanted.stride()
        assert shared(x, ours) == shared(x, theirs)


def twice(
    value: torch.Tensor, view: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    return view(value), value


def shared(
    x: torch.Tensor, results: Sequence[torch.Tensor]
) -> list[tuple[int, object]]:
    """Return which results share memory, and where in it they begin."""
    storages = [one.untyped_storage().data_ptr() for one in (x, *results)]
    return [
        (storages.index(storages[place]), results[place - 1].storage_offset())
        for place in range(1, len(storages))
        if storages.count(storages[place]) > 1
    ]


def test_a_size_that_is_1_names_other_code() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x[: x.shape[0] // 2]]).roll(1, 0)

    compiled = torch.compile(
        function, backend="tilewright", dynamic=True, options={"fallback": False}
    )
    for shape in ((3, 2), (7, 8), (3, 5)):  # the half is 1, 3 and 1
        torch.compiler.reset()
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), function(x), rtol=0, atol=0)
