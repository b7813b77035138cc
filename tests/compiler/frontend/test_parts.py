"""Sizes that depend on data: what lies between them is compiled."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from compiler import torch_api

Function = Callable[..., Any]
X = torch.linspace(-1, 1, 12).view(3, 4)
TWO = torch.tensor(2)


@pytest.fixture(autouse=True)
def sizes_are_captured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with torch_api.data_sizes_captured():
        yield


def counted(x: torch.Tensor) -> torch.Tensor:
    return (x > 0).nonzero().float() * 2 + 1


def selected(x: torch.Tensor) -> torch.Tensor:
    return torch.masked_select(x, x > 0).sin().sum()


def indexed(x: torch.Tensor) -> torch.Tensor:
    y = x[x > 0] * 2
    return torch.stack([y, y.cos()], 1).softmax(-1)


def made(x: torch.Tensor, count: torch.Tensor) -> Any:
    size: Any = count.item()
    torch._check(size >= 0)
    torch._check(size <= 8)
    return torch.zeros(size) + x.sum(), x * size + 1


def distinct(x: torch.Tensor) -> Any:
    values, counts = torch.unique((x * 2).int(), return_counts=True)
    return values.float() + 1, counts * 2


def repeated(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    return torch.repeat_interleave(x.view(-1), count.expand(12)).exp()


def cut(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    size: Any = count.item()
    torch._check(size >= 0)
    torch._check(size <= x.shape[0])
    return x[:size].cos() * 2


def twice(x: torch.Tensor) -> torch.Tensor:
    y = x[x > 0].exp()
    return torch.cat([y[y > 1.2] - 1, y]).sum()


def written(x: torch.Tensor) -> torch.Tensor:
    y = x[x > 0].sum()
    x.mul_(2)
    return y + x.sum()


def multiplied(x: torch.Tensor) -> torch.Tensor:
    y = (x > 0).nonzero().float()
    return (y @ y.t()).relu()


CASES: list[tuple[Function, tuple[torch.Tensor, ...]]] = [
    (counted, ()),
    (selected, ()),
    (indexed, ()),
    (made, (TWO,)),
    (distinct, ()),
    (repeated, (TWO,)),
    (cut, (TWO,)),
    (twice, ()),
    (written, ()),
    (multiplied, ()),
]


@pytest.mark.parametrize(
    ("function", "more"), CASES, ids=[f.__name__ for f, _ in CASES]
)
def test_parts_are_compiled_and_agree(
    function: Function, more: tuple[torch.Tensor, ...], tmp_path: Path
) -> None:
    torch_api.reset()
    run: Any = torch.compile(
        function,
        backend="tilewright",
        fullgraph=True,
        options={"trace": str(tmp_path), "fallback": False},
    )
    for x in (X, -X.abs(), X.abs() + 1, X.t().contiguous().view(3, 4)):
        ours, theirs = x.clone(), x.clone()
        torch.testing.assert_close(run(ours, *more), function(theirs, *more))
        torch.testing.assert_close(ours, theirs)
    summaries = [json.loads(p.read_text()) for p in tmp_path.glob("*/summary.json")]
    assert sum(s.get("parts", 0) for s in summaries) >= 1
    assert any(k["compiled"] for s in summaries for k in s.get("kernels", ()))
    assert not any("error" in s for s in summaries)


def test_gradients_flow_through() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x[x > 0].sin() * w).sum()

    torch_api.reset()
    gradients = []
    for function in (torch.compile(f, backend="tilewright", fullgraph=True), f):
        x, w = X.clone().requires_grad_(), torch.tensor(3.0, requires_grad=True)
        gradients.append(torch.autograd.grad(function(x, w), (x, w)))
    torch.testing.assert_close(*gradients)


def test_checks_of_the_user_are_made() -> None:
    torch_api.reset()
    run = torch.compile(made, backend="tilewright", fullgraph=True)
    run(X, TWO)
    for wrong in (9, -1):
        with pytest.raises(RuntimeError):
            run(X, torch.tensor(wrong))
    torch.testing.assert_close(run(X, torch.tensor(8)), made(X, torch.tensor(8)))
