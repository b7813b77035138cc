"""Behaviours of the backend that need a CUDA device."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch.nn import functional

from compiler import torch_api

pytestmark = pytest.mark.gpu
Same = Callable[..., Any]


def cuda(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda")


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_pointwise_reductions_and_scans(same: Same, mode: str) -> None:
    def f(x: torch.Tensor) -> Any:
        y = functional.layer_norm(x.softmax(-1), (70,))
        return y, x.sum(0), x.cumsum(1), x.argmax(1), (x + x.mT).sum()

    same(f, cuda(70, 70), mode=mode)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types(same: Same, dtype: torch.dtype) -> None:
    def f(a: torch.Tensor, e: torch.Tensor) -> Any:
        return (a + e) == a, a.float().to(dtype) * 2, functional.gelu(a)

    a = cuda(33, 65).to(dtype)
    same(f, a, torch.full_like(a, 0.002))


def test_results_of_one_call_go_into_the_next(same: Same) -> None:
    torch_api.reset()
    step = torch.compile(
        lambda x: x.sin() + 1, backend="tilewright", mode="reduce-overhead"
    )
    ours = theirs = cuda(1000)
    for _ in range(6):
        ours, theirs = step(ours), theirs.sin() + 1
    torch.testing.assert_close(ours, theirs)


def test_training_with_recorded_graphs(same: Same) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 32).cuda() for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    torch_api.reset()
    compiled = torch.compile(layers[0], backend="tilewright", mode="reduce-overhead")
    for _ in range(5):
        x = cuda(8, 32)
        compiled(x).square().mean().backward()
        layers[1](x).square().mean().backward()
    for mine, wanted in zip(
        layers[0].parameters(), layers[1].parameters(), strict=True
    ):
        torch.testing.assert_close(mine.grad, wanted.grad, rtol=1e-3, atol=1e-3)


@triton.jit  # type: ignore[untyped-decorator]
def _double(x_ptr, y_ptr, n, block: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y_ptr + i, tl.load(x_ptr + i, i < n) * 2, i < n)


def test_kernels_of_the_user(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        y = torch.empty_like(x)
        _double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), block=64)
        return y.relu()

    torch_api.reset()
    x = cuda(100)
    ours = torch.compile(f, backend="tilewright", fullgraph=True)(x)
    torch.testing.assert_close(ours, ((x + 1) * 2).relu())


def test_numbers_of_a_seed(same: Same) -> None:
    torch_api.reset()
    compiled = torch.compile(
        lambda x: functional.dropout(x, 0.25), backend="tilewright"
    )
    x = torch.ones(10_000, device="cuda")
    torch.manual_seed(1)
    first = compiled(x)
    torch.manual_seed(1)
    assert torch.equal(compiled(x), first)
    assert abs((first > 0).float().mean().item() - 0.75) < 0.02


def test_two_devices_of_memory(same: Same) -> None:
    def f(x: torch.Tensor, scale: torch.Tensor) -> Any:
        return x * scale, x.cpu() + 1

    same(f, cuda(5, 6), torch.tensor(2.0))
