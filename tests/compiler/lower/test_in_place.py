from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.errors import CompileError
from compiler.ir.evaluate import run_program
from compiler.ir.node import Extern
from compiler.lower import lower
from compiler.lower.in_place import functional

aten = torch.ops.aten


def test_what_an_operator_computes() -> None:
    assert functional(aten.add_.Tensor) is aten.add.Tensor
    assert functional(aten.copy_.default) is aten.copy.default
    assert functional(aten.add.Tensor) is None
    assert functional(aten.__and__.Tensor) is None
    assert functional(torch.ops.prims.iota.default) is None
    assert functional(len) is None


def shift(x: Any) -> Any:
    x[:, 1:] = x[:, :-1].clone()
    return x * 1


def twice(x: Any) -> Any:
    x.mul_(2)
    y = x + 1
    y.add_(x)
    x.sub_(y)
    return y, x.sum()


def through_a_view(x: Any) -> Any:
    y = x + 1
    y[0].zero_()
    return y


def an_older_view(x: Any) -> Any:
    y = x + 1
    z = y.t()
    y.add_(1)
    return z * 2


def whole_row(x: Any) -> Any:
    x[0].fill_(3)
    return x


@pytest.mark.parametrize("function", [shift, twice, through_a_view, an_older_view])
def test_functional_graphs(agree: Callable[..., Any], function: Any) -> None:
    agree(function, torch.randn(4, 5))


def test_graphs_with_writes_in_them() -> None:
    x = torch.randn(4, 5)
    mine, theirs = x.clone(), x.clone()
    program = lower(make_fx(twice, tracing_mode="fake")(x))
    found = run_program(program, [mine])
    for a, b in zip(found, twice(theirs), strict=True):
        assert isinstance(a, torch.Tensor)
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(mine, theirs)
    assert not any(isinstance(node, Extern) for node in program.nodes)


@pytest.mark.parametrize("function", [shift, through_a_view, an_older_view, whole_row])
def test_writes_that_a_view_shows_are_refused(function: Any) -> None:
    gm = make_fx(function, tracing_mode="fake")(torch.randn(4, 5))
    with pytest.raises(CompileError, match="functionalise"):
        lower(gm)
