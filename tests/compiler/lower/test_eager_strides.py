"""Strides of results against eager mode, for layouts that leave dims a choice."""

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.lower import decompositions
from compiler.lower.eager_strides import (
    broadcast_strides,
    correct_fake_strides,
    iterated,
)
from compiler.torch_api import size_hint

ROOM = 4096
"""Elements of the memory that each operand is a view of."""

AMBIGUOUS = (
    ((1, 1, 2, 1), (3, 24, 1, 6)),
    ((1, 1, 2, 1, 1), (3, 24, 1, 6, 6)),
    ((2, 1), (1, 1)),
    ((1, 2, 1, 3, 1, 1), (1, 2, 2, 4, 1, 12)),
    ((2, 1, 4, 3), (12, 12, 1, 4)),
)
"""Shapes and strides with dims of one element, out of order or of equal strides."""

OPERATIONS: dict[str, Callable[..., torch.Tensor]] = {
    name: getattr(torch, name)
    for name in (
        *("add", "fmax", "maximum", "copysign", "floor_divide", "remainder", "atan2"),
        *("logical_and", "logical_xor", "xlogy", "logaddexp", "heaviside", "ldexp"),
        *("hypot", "pow", "eq", "where", "lerp", "addcmul", "addcdiv", "clamp"),
    )
}
OPERANDS = {name: 3 for name in ("where", "lerp", "addcmul", "addcdiv", "clamp")}

REPEATED = (
    ((2, 3, 4), (12, 4, 1)),
    ((2, 3, 4), (1, 2, 6)),
    ((2, 3, 4), (0, 4, 1)),
    ((2, 3, 4), (4, 0, 1)),
    ((3, 4), (1, 3)),
)
"""Layouts without dims of one element, of which symbols would know nothing."""

SYMBOLIC: dict[str, Callable[..., torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in (
            *("logical_and", "logical_or", "logical_xor", "floor_divide", "copysign"),
            *("xlogy", "atan2", "eq", "ge", "maximum", "hypot", "remainder", "pow"),
        )
    },
    "div": lambda x, y: torch.div(x, y, rounding_mode="floor"),
}


def strided(shape: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    return torch.arange(1.0, ROOM + 1).as_strided(shape, strides)


def same(one: torch.Tensor, strides: tuple[int, ...]) -> bool:
    rows = zip(one.shape, one.stride(), strides, strict=True)
    return all(size == 1 or a == b for size, a, b in rows)


def drawn(number: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield operands that broadcast together, with strides in any order."""
    pick = random.Random(number)
    shape = [pick.choice((1, 1, 2, 3)) for _ in range(pick.randint(2, 5))]
    for _ in range(pick.choice((2, 2, 3))):
        own = [pick.choice((size, size, 1)) for size in shape]
        own = own[pick.choice((0, 0, 1)) :]
        strides, step = [0] * len(own), 1
        for dim in pick.sample(range(len(own)), len(own)):
            strides[dim] = step * pick.choice((1, 1, 2))
            if own[dim] == 1:
                strides[dim] = pick.choice((strides[dim], 0, 1, 3, 24))
            else:
                step = strides[dim] * own[dim]
        yield tuple(own), tuple(strides)


def test_the_rule_is_the_iterator_s() -> None:
    for number in range(600):
        operands = list(drawn(number))
        values = [strided(*operand) for operand in operands]
        eager = torch.atan2(*values) if len(values) == 2 else torch.lerp(*values)
        assert same(eager, broadcast_strides(operands)), operands


def groups_of(name: str) -> list[list[torch.Tensor]]:
    groups = []
    for one, other in itertools.product(AMBIGUOUS, AMBIGUOUS):
        values = [strided(*one), strided(*other), strided(*one)]
        if name == "where":
            values[0] = values[0] > 2
        groups.append(values[: OPERANDS.get(name, 2)])
    return [values for values in groups if _broadcast(values)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_traced_broadcasts_have_eager_strides(name: str) -> None:
    correct_fake_strides()
    groups = groups_of(name)

    def each(groups: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        return [OPERATIONS[name](*values) for values in groups]

    trace = make_fx(each, decompositions(), tracing_mode="fake")
    (results,) = trace(groups).graph.find_nodes(op="output")[0].args
    for values, node, eager in zip(groups, results, each(groups), strict=True):
        found = node.meta["val"].stride()
        assert same(eager, found), [(v.shape, v.stride()) for v in values]


@pytest.mark.parametrize("name", SYMBOLIC)
def test_broadcasts_have_them_for_symbolic_sizes(name: str) -> None:
    """PyTorch's decompositions nest dims otherwise than the iterator does."""
    correct_fake_strides()
    groups = [
        [strided(*one), strided(*other)]
        for one, other in itertools.product(REPEATED, REPEATED)
    ]
    run = SYMBOLIC[name]

    def each(groups: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        return [run(*values) for values in groups]

    trace = make_fx(each, decompositions(), tracing_mode="symbolic")
    (results,) = trace(groups).graph.find_nodes(op="output")[0].args
    for values, node, eager in zip(groups, results, each(groups), strict=True):
        found = tuple(size_hint(step) or 0 for step in node.meta["val"].stride())
        assert same(eager, found), [(v.shape, v.stride()) for v in values]


@pytest.mark.parametrize("mode", ["symbolic", "fake"])
@pytest.mark.parametrize("name", ["huber_loss", "binary_cross_entropy"])
def test_losses_that_are_not_reduced_are_like_the_first_argument(
    name: str, mode: Literal["symbolic", "fake"]
) -> None:
    correct_fake_strides()
    loss = getattr(torch.nn.functional, name)
    groups = [
        [strided(*one) / ROOM, strided(*other) / ROOM]
        for one, other in itertools.product(REPEATED[:4], REPEATED[:4])
    ]

    def each(groups: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        return [loss(*values, reduction="none") for values in groups]

    trace = make_fx(each, decompositions(), tracing_mode=mode)
    (results,) = trace(groups).graph.find_nodes(op="output")[0].args
    for values, node, eager in zip(groups, results, each(groups), strict=True):
        found = tuple(size_hint(step) or 0 for step in node.meta["val"].stride())
        assert same(eager, found), [(v.shape, v.stride()) for v in values]


def test_a_call_with_other_sizes_has_eager_strides() -> None:
    def each(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [torch.logical_xor(x, y), x // y, torch.xlogy(x, y)]

    torch.compiler.reset()
    compiled = torch.compile(each, backend="tilewright")
    for size in (3, 8, 5):
        x = strided((2, 2, size, 4), (1, 2, 0, 12))
        y = strided((2, 2, size, 4), (8 * size, 4 * size, 4, 1))
        for ours, theirs in zip(compiled(x, y), each(x, y), strict=True):
            assert same(ours, theirs.stride()), size
            torch.testing.assert_close(ours, theirs)


def test_compiled_broadcasts_have_eager_strides() -> None:
    names = ("copysign", "logaddexp", "ldexp", "xlogy")
    groups = [groups_of(name)[:4] for name in names]
    rows, columns = strided((3, 4), (4, 1)), strided((3, 4), (1, 3))
    groups[-1] += [[rows, columns], [columns, rows]]

    def each(groups: list[list[list[torch.Tensor]]]) -> list[torch.Tensor]:
        return [
            OPERATIONS[name](*values)
            for name, group in zip(names, groups, strict=True)
            for values in group
        ]

    torch.compiler.reset()
    found = torch.compile(each, backend="tilewright")(groups)
    for ours, theirs in zip(found, each(groups), strict=True):
        assert same(ours, theirs.stride())
        torch.testing.assert_close(ours, theirs)


def _broadcast(values: list[torch.Tensor]) -> bool:
    try:
        torch.broadcast_shapes(*(value.shape for value in values))
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_has_eager_strides(training: bool) -> None:
    layouts = [
        ((1, 4, 2, 1), (1, 2, 3, 0)),
        ((2, 2, 2, 4), (128, 1, 32, 4)),
        ((1, 4, 4, 2), (1, 1, 8, 4)),
        ((3, 4, 5), (1, 3, 12)),
        ((3, 4), (1, 3)),
    ]

    def each(values: list[torch.Tensor]) -> list[Any]:
        norm = torch.nn.functional.batch_norm
        ones = [torch.ones(v.shape[1]) for v in values]
        return [
            norm(v, one.clone(), one.clone(), one, one, training)
            for v, one in zip(values, ones, strict=True)
        ]

    values = [strided(*layout) for layout in layouts]
    torch.compiler.reset()
    found = torch.compile(each, backend="tilewright")(values)
    for value, ours, theirs in zip(values, found, each(values), strict=True):
        assert same(ours, theirs.stride()), (value.shape, value.stride())


@pytest.mark.parametrize(
    "function",
    [lambda x: 2.0**x, torch.poisson, torch.nn.functional.logsigmoid],
    ids=["power", "poisson", "logsigmoid"],
)
def test_what_looks_at_shapes_only_is_row_major(
    function: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    correct_fake_strides()
    x = strided((2, 3), (1, 2))
    (node,) = make_fx(function, tracing_mode="fake")(x).graph.find_nodes(op="output")
    assert node.args[0].meta["val"].stride() == function(x).stride() == (3, 1)


ZEROS, ONES = torch.zeros(4), torch.ones(4)
PLACES = torch.tensor([0, 0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.index_fill(x, 0, PLACES, 3),
        lambda x: torch.index_fill(x, -1, PLACES, ONES[0]),
        lambda x: torch.nn.functional.batch_norm(x, ZEROS, ONES),
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
    ],
    ids=["number", "tensor", "inference", "training"],
)
def test_captured_calls_have_eager_strides(
    function: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    correct_fake_strides()
    for layout in (
        ((1, 4, 1, 3), (24, 2, 1, 8)),
        ((2, 4, 2, 3, 2), (96, 1, 6, 2, 24)),
        ((2, 4, 2, 2), (128, 1, 32, 4)),
        ((3, 4, 5), (1, 3, 12)),
        ((3, 4, 5), (0, 1, 4)),
    ):
        x = strided(*layout)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            found = function(mode.from_tensor(x))
        assert same(function(x), found.stride()), layout


def test_rows_of_grouped_products_are_padded() -> None:
    if not hasattr(torch.nn.functional, "grouped_mm"):
        pytest.skip("this torch has no grouped_mm")

    def product(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.grouped_mm(x, x.mT)

    torch.compiler.reset()
    compiled = torch.compile(product, backend="tilewright")
    for rows in (2, 8, 11):  # the second call has sizes that are symbols
        x = torch.ones(3, rows, 8, dtype=torch.bfloat16)
        found, wanted = compiled(x), product(x)
        assert torch.equal(found, wanted) and found.stride() == wanted.stride()


def test_a_scatter_by_strides_into_expanded_memory_gets_its_own() -> None:
    def scattered(x: torch.Tensor) -> torch.Tensor:
        return torch.as_strided_scatter(x, x.flatten()[:1] + 1, (1,), (1,))

    for layout in (((1, 2), (4, 0)), ((3, 2), (0, 1)), ((3, 2), (2, 1))):
        x = strided(*layout)
        torch.compiler.reset()
        found, wanted = torch.compile(scattered, backend="tilewright")(x), scattered(x)
        assert torch.equal(found, wanted) and same(found, wanted.stride())


def test_a_decomposition_gets_the_strides_of_the_whole() -> None:
    def row_major(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y).contiguous()

    x, y = torch.ones(4, 3).t(), torch.ones(4)
    assert row_major(x, y).stride() == (4, 1)
    found = iterated(row_major)(x, y)
    assert found.stride() == (1, 3) and torch.equal(found, x + y)
    assert iterated(row_major)(x.contiguous(), y).stride() == (4, 1)


@pytest.mark.parametrize("strides", [(4, 128, 1, 32), (128, 1, 32, 4)])
def test_batch_norm_has_them_for_symbolic_sizes(strides: tuple[int, ...]) -> None:
    correct_fake_strides()
    norm = torch.nn.BatchNorm2d(4)
    x = strided((2, 4, 5, 3), strides)
    traced = make_fx(norm, tracing_mode="symbolic", _allow_non_fake_inputs=True)(x)
    (node,) = traced.graph.find_nodes(op="output")
    found = node.args[0].meta["val"].stride()
    assert same(norm(x), tuple(size_hint(step) or 0 for step in found))


@pytest.mark.parametrize("extent", [3, 8], ids=["padded", "copied"])
@pytest.mark.parametrize("mode", ["symbolic", "fake"])
def test_padding_by_nothing_is_a_copy(
    extent: int, mode: Literal["symbolic", "fake"]
) -> None:
    def padded(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x, (0, -x.shape[-1] % 4, 0, -1))

    correct_fake_strides()
    x = strided((2, extent), (1, 2))
    (node,) = make_fx(padded, tracing_mode=mode)(x).graph.find_nodes(op="output")
    found = node.args[0].meta["val"].stride()
    assert tuple(size_hint(step) for step in found) == padded(x).stride()


def test_what_follows_a_batch_norm_has_eager_strides() -> None:
    norm = torch.nn.BatchNorm2d(4).eval()

    def each(x: torch.Tensor) -> list[torch.Tensor]:
        y = norm(x)
        return [torch.ones_like(y), (y + 1) == 0, y.sin().transpose(0, 1), y.flatten()]

    torch.compiler.reset()
    found = torch.compile(each, backend="tilewright")
    for strides in ((1, 2, 3, 0), (1, 0, 2, 1)):
        x = strided((1, 4, 2, 1), strides)
        for ours, theirs in zip(found(x), each(x), strict=True):
            assert same(ours, theirs.stride()), (strides, ours.stride())
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("train", [True, False])
def test_dropout_is_laid_out_like_one_like_its_argument(train: bool) -> None:
    def each(x: torch.Tensor) -> list[torch.Tensor]:
        y, mask = torch.native_dropout(x, 0.5, train)
        return [y, mask, torch.nn.functional.pad(y, (2, 3), value=2.0)]

    torch.compiler.reset()
    found = torch.compile(each, backend="tilewright")
    for x in (
        torch.zeros(6).as_strided((1, 2, 1, 2), (4, 1, 40, 4)),
        torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)[:, :, 1:],
    ):
        for ours, theirs in zip(found(x), each(x), strict=True):
            assert ours.stride() == theirs.stride()


def test_draws_of_poisson_are_row_major_for_symbolic_sizes() -> None:
    def each(x: torch.Tensor) -> torch.Tensor:
        return torch.poisson(torch.full_like(x, 2.0))

    torch.compiler.reset()
    found = torch.compile(each, backend="tilewright", dynamic=True)
    for sizes in ((3, 5, 12, 4), (2, 3, 4, 5)):
        x = torch.randn(sizes).permute(0, 3, 2, 1)
        assert same(found(x), each(x).stride())
