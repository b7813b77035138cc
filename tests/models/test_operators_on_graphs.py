"""Operators that take graphs, and functions that PyTorch must call: never a failure."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from compiler import torch_api

X = torch.linspace(-1, 1, 16).view(4, 4) + 0.1
W = torch.linspace(0, 1, 16).view(4, 4)


def chosen(x: torch.Tensor, w: torch.Tensor) -> Any:
    def first(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x * w).sin()

    def second(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x + w).cos()

    return torch.cond(x.sum() > 0, first, second, (x, w)).sum()


@torch.compiler.nested_compile_region
def region(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x @ w)


def nested(x: torch.Tensor, w: torch.Tensor) -> Any:
    return region(region(x, w), w).sum()


def scanned(x: torch.Tensor, w: torch.Tensor) -> Any:
    from torch._higher_order_ops.scan import scan

    carry, rows = scan(lambda c, y: (c + y * w[0], c * y), torch.zeros(4), x, dim=0)
    return carry.sum() + rows.sum()


def mapped(x: torch.Tensor, w: torch.Tensor) -> Any:
    from torch._higher_order_ops.map import map as map_rows

    rows: Any = map_rows
    return rows(lambda row, w: (row * w[0]).sin(), x, w).sum()


def computed_again(x: torch.Tensor, w: torch.Tensor) -> Any:
    kept: Any = checkpoint(lambda x, w: torch.tanh(x @ w), x, w, use_reentrant=False)
    return kept.sum()


# PyTorch says so of its own graphs of the region
@pytest.mark.filterwarnings("ignore:invoke_subgraph traced multiple:UserWarning")
@pytest.mark.parametrize("f", [chosen, nested, scanned, mapped, computed_again])
def test_values_and_gradients_are_eager_modes(f: Callable[..., Any]) -> None:
    torch_api.reset()
    compiled = torch.compile(f, backend="tilewright")
    ours = [t.clone().requires_grad_() for t in (X, W)]
    theirs = [t.clone().requires_grad_() for t in (X, W)]
    result, wanted = compiled(*ours), f(*theirs)
    torch.testing.assert_close(result, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(result, ours), torch.autograd.grad(wanted, theirs)
    )


def running(x: torch.Tensor, w: torch.Tensor) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan

    return associative_scan(lambda a, b: a * b, x, dim=0, combine_mode="generic") * 2


def derived(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.func.grad(lambda a: (a * w).sin().sum())(x)


def by_rows(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.func.vmap(lambda row: (row * w[0]).sum())(x) * 2


@torch.library.custom_op("tilewright_test::double_", mutates_args=("x",))
def double_(x: torch.Tensor) -> None:
    x.mul_(2)


def changed(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x + w
    double_(y)
    return y.relu()


@pytest.mark.parametrize("f", [running, derived, by_rows, changed])
def test_values_are_eager_modes(f: Callable[..., Any]) -> None:
    torch_api.reset()
    torch.testing.assert_close(torch.compile(f, backend="tilewright")(X, W), f(X, W))


@pytest.mark.slow
def test_attention_with_blocks_of_a_mask() -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def f(q: torch.Tensor, k: torch.Tensor) -> Any:
        mask = create_block_mask(
            lambda b, h, i, j: i >= j, None, None, 128, 128, device="cpu"
        )
        return flex_attention(q, k, k, block_mask=mask)

    q, k = torch.randn(1, 2, 128, 16), torch.randn(1, 2, 128, 16)
    torch_api.reset()
    ours = torch.compile(f, backend="tilewright")(q, k)
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True)
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
