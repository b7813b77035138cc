"""Operators over lists do to each tensor what the operator on tensors does."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.lower.foreach import foreach_decompositions
from compiler.torch_api import operators_over_lists

OPERATORS = operators_over_lists()
TABLE = foreach_decompositions()
CALLS = {"addcmul.Tensor", "addcdiv.Tensor", "powsum.Scalar"}


def listed(low: float, square: bool) -> list[Tensor]:
    shapes: tuple[tuple[int, ...], ...] = ((3,), (), (2, 5), (0, 4))
    if square:
        shapes = ((3, 3), (1, 1), (4, 4))
    return [torch.rand(shape) * 0.4 + low for shape in shapes]


def arguments(target: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return what a schema asks for: lists of tensors, numbers, single tensors."""
    square = "_foreach_mm" in str(target) or "_foreach_max.default" in str(target)
    args: list[Any] = []
    named: dict[str, Any] = {}
    for place, argument in enumerate(target._schema.arguments):
        given: dict[str, Any] = {
            "List[Tensor]": listed(0.2 * place + 0.1, square),
            "List[number]": [0.5, 2, 1.5, 3][: 3 if square else 4],
            "Tensor": torch.tensor(0.7),
            "number": 2,
        }
        kind = str(argument.type)
        if kind in given:
            if argument.kwarg_only:
                named[argument.name] = given[kind]
            else:
                args.append(given[kind])
    return args, named


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_each_operator_is_taken_apart_and_means_the_same(name: str) -> None:
    target = OPERATORS[name]
    if name in CALLS:
        assert target not in TABLE
        return
    torch.manual_seed(0)
    args, named = arguments(target)
    traced = make_fx(lambda *given: target(*given, **named), decomposition_table=TABLE)(
        *args
    )
    called = {str(node.target) for node in traced.graph.nodes}
    assert not any("_foreach" in operator for operator in called)
    for mine, wanted in zip(traced(*args), target(*args, **named), strict=True):
        assert mine.dtype == wanted.dtype
        assert torch.equal(mine, wanted)


def test_types_are_promoted_as_one_by_one() -> None:
    xs = [torch.arange(3), torch.ones(2, dtype=torch.float16)]
    target = torch.ops.aten._foreach_add.ScalarList
    for mine, wanted in zip(
        TABLE[target](xs, [0.5, 2]), target(xs, [0.5, 2]), strict=True
    ):
        assert mine.dtype == wanted.dtype
        assert torch.equal(mine, wanted)


def test_lists_of_other_lengths_are_left_to_the_operator() -> None:
    xs = [torch.ones(2), torch.ones(2)]
    assert TABLE[torch.ops.aten._foreach_mul.List](xs, xs[:1]) is NotImplemented


def test_truth_values_are_not_subtracted() -> None:
    compiled = torch.compile(torch._foreach_sub, backend="tilewright")
    with pytest.raises(RuntimeError, match="bool"):
        compiled([torch.ones(2) > 0], [1])


def steps(make: Callable[[list[nn.Parameter]], Any], compiled: bool) -> Iterator[Any]:
    torch.manual_seed(0)
    weights = [nn.Parameter(torch.randn(5 + n)) for n in range(6)]
    optimizer = make(weights)
    step = optimizer.step
    if compiled:
        torch._dynamo.reset()
        step = torch.compile(step, backend="tilewright")
    for _ in range(3):
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        step()
    yield from (weight.detach() for weight in weights)
    for weight in weights:
        for value in optimizer.state[weight].values():
            if isinstance(value, Tensor):
                yield value


@pytest.mark.parametrize(
    "make",
    [
        lambda w: torch.optim.AdamW(w, lr=0.1, foreach=True),
        lambda w: torch.optim.Adam(w, lr=0.1, foreach=True, amsgrad=True),
        lambda w: torch.optim.SGD(w, 0.1, 0.9, nesterov=True, foreach=True),
        lambda w: torch.optim.RMSprop(w, 0.1, centered=True, foreach=True),
    ],
    ids=["AdamW", "Adam", "SGD", "RMSprop"],
)
def test_optimizers_step_as_uncompiled(
    make: Callable[[list[nn.Parameter]], Any], recwarn: pytest.WarningsRecorder
) -> None:
    # captured, 1 - beta2**step is float32: 2**-24 off, of 1e-3, in steps of 0.1
    off = 3 * 0.1 * 2**-24 / 1e-3
    for mine, wanted in zip(steps(make, True), steps(make, False), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-6, atol=off)
    assert not [w for w in recwarn if "slower" in str(w.message)]
