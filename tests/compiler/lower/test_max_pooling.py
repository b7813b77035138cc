"""Max pooling and its gradient, from places in windows that fit a byte."""

import itertools
from typing import Any

import pytest
import torch
from torch.nn import functional

from compiler import torch_api
from compiler.lower import max_pooling
from compiler.lower.max_pooling import gradient_op, offsets_op

Case = tuple[Any, int, int, bool]
CASES: list[Case] = [
    (2, 2, 0, False),
    (3, 2, 1, False),
    (3, 1, 1, True),
    ((3, 2), 3, 0, True),
    (5, 2, 1, True),
]


def image(channels_last: bool, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(0)
    x = torch.randint(-3, 4, (2, 3, 11, 13)).to(dtype)  # with many that are equal
    form = torch.channels_last if channels_last else torch.contiguous_format
    return x.contiguous(memory_format=form)


def step(run: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x = x.clone().requires_grad_()
    value = run(x)
    weight = torch.arange(value.numel()).view(value.shape) % 9 - 4
    (value * weight).sum().backward()
    assert x.grad is not None
    return value.detach(), x.grad


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
def test_a_training_step(
    case: Case, channels_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, stride, padding, ceil_mode = case
    turned: list[Any] = []
    turn = max_pooling._turn
    monkeypatch.setattr(
        max_pooling, "_turn", lambda *given: turned.append(turn(*given))
    )

    def pool(x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(
            x * 2, kernel, stride, padding, ceil_mode=ceil_mode
        )

    torch_api.reset()
    x = image(channels_last)
    compiled = torch.compile(pool, backend="tilewright", options={"cache": False})
    for ours, theirs in zip(step(compiled, x), step(pool, x), strict=True):
        assert torch.equal(ours, theirs) and ours.stride() == theirs.stride()
    assert turned


def test_nan_and_infinity() -> None:
    def pool(x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(x * 1, 2, 1)

    torch_api.reset()
    x = image(False)
    x[0, 0, 3, 3] = x[1, 2, 4:6, 7:9] = float("nan")
    x[0, 1] = -torch.inf
    compiled = torch.compile(pool, backend="tilewright", options={"cache": False})
    for ours, theirs in zip(step(compiled, x), step(pool, x), strict=True):
        assert torch.equal(ours.nan_to_num(7), theirs.nan_to_num(7))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
def test_the_operators(case: Case, channels_last: bool) -> None:
    """As PyTorch's own run them, where a graph is not compiled."""
    size, step_size, pad, ceil_mode = case
    kernel = [size, size] if isinstance(size, int) else list(size)
    geometry = kernel, [step_size] * 2, [pad] * 2
    x = image(channels_last)
    value, offsets = offsets_op(x, *geometry, ceil_mode)
    wanted, positions = torch.ops.aten.max_pool2d_with_indices(
        x, *geometry, 1, ceil_mode
    )
    assert torch.equal(value, wanted) and offsets.stride() == positions.stride()
    assert int(offsets.min()) >= 0 and int(offsets.max()) < kernel[0] * kernel[1]
    gradient = torch.ones_like(value)
    found = gradient_op(gradient, offsets, x.shape[-2:], *geometry, channels_last)
    exact = torch.ops.aten.max_pool2d_with_indices_backward(
        gradient, x, *geometry, 1, ceil_mode, positions
    )
    assert torch.equal(found, exact) and found.stride() == exact.stride()


def positions_leave(x: torch.Tensor) -> Any:
    return functional.max_pool2d(x * 2, 3, return_indices=True)


def dilated(x: torch.Tensor) -> Any:
    return functional.max_pool2d(x * 2, 2, dilation=2), None


def wide(x: torch.Tensor) -> Any:
    return functional.max_pool2d(x * 2, 11), None


@pytest.mark.parametrize("function", [positions_leave, dilated, wide])
def test_what_stays_as_it_is(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turned: list[Any] = []
    monkeypatch.setattr(max_pooling, "_turn", lambda *given: turned.append(given))
    torch_api.reset()
    results = []
    compiled = torch.compile(function, backend="tilewright", options={"cache": False})
    for run in (function, compiled):
        x = image(False).requires_grad_()
        value, positions = run(x)
        value.sum().backward()
        results.append((value.detach(), positions, x.grad))
    for ours, theirs in zip(*results, strict=True):
        assert ours is theirs is None or torch.equal(ours, theirs)
    assert not turned


def test_a_batch_of_any_size() -> None:
    def pool(x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(x * 2, 3, 2, 1)

    torch_api.reset()
    compiled = torch.compile(pool, backend="tilewright", dynamic=None)
    for count, form in itertools.product((2, 3, 5), (False, True)):
        x = image(form).repeat(count, 1, 1, 1)
        torch._dynamo.mark_dynamic(x, 0)
        for ours, theirs in zip(step(compiled, x), step(pool, x), strict=True):
            assert torch.equal(ours, theirs)
