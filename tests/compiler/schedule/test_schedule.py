"""Real functions get the number of kernels that they need."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as nn
from torch.fx.experimental.proxy_tensor import make_fx

from compiler import torch_api
from compiler.ir.evaluate import run_schedule
from compiler.ir.kernel import Kernel
from compiler.lower import decompositions, lower
from compiler.options import Options
from compiler.schedule import schedule

X = torch.randn(64, 96, generator=torch.Generator().manual_seed(0))
ROW = torch.randn(96, generator=torch.Generator().manual_seed(1))
IMAGE = torch.randn(2, 16, 8, 8, generator=torch.Generator().manual_seed(2))
CHANNELS = torch.rand(16, generator=torch.Generator().manual_seed(3)) + 0.5
LABELS = torch.arange(64) % 96
ONE_THREAD = Options(threads=1)


def rms_norm(x: torch.Tensor, residual: torch.Tensor, w: torch.Tensor) -> Any:
    total = x + residual
    scale = torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-5)
    return total, total * scale * w


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def heads(x: torch.Tensor) -> list[torch.Tensor]:
    parts = x.view(2, 32, 96).split(32, -1)
    return [p.reshape(2, 32, 4, 8).transpose(1, 2).contiguous() * 2 for p in parts]


def batch_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return nn.relu(nn.batch_norm(x, w, w, w, w))


def windows(x: torch.Tensor) -> torch.Tensor:
    turned = x.view(2, 2, 4, 2, 4, 16).permute(0, 1, 3, 2, 4, 5)
    return nn.layer_norm(turned.reshape(8, 16, 16), (16,))


CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], int]] = {
    "softmax": (lambda x: torch.softmax(x, -1), (X,), 1),
    "masked softmax": (
        lambda x: torch.softmax(x.masked_fill(x > 1, -torch.inf), -1),
        (X,),
        1,
    ),
    "layer norm": (lambda x, w: nn.layer_norm(x, (96,), w, w), (X, ROW), 1),
    "bias, gelu": (lambda x, b: nn.gelu(x + b), (X, ROW), 1),
    "gated": (lambda x: nn.silu(x[:, :48]) * x[:, 48:], (X,), 1),
    "residual, rms norm": (rms_norm, (X, X * 2, ROW), 1),
    "cross entropy": (lambda x, t: nn.cross_entropy(x, t), (X, LABELS), 2),
    "batch norm, relu": (batch_norm, (IMAGE, CHANNELS), 1),
    "group norm, silu": (
        lambda x, w: nn.silu(nn.group_norm(x, 4, w, w)),
        (IMAGE, CHANNELS),
        1,
    ),
    "transposed add": (lambda x, y: x + y.t(), (X, X.view(96, 64)), 1),
    "concatenate, slice": (
        lambda x, y: torch.cat([x, y], 1)[:, 10:100] * 2,
        (X, X),
        1,
    ),
    "rotary": (rotary, (X.view(2, 4, 8, 96), X[:8], X[8:16]), 1),
    "cumulative sum": (lambda x: (x * 2).cumsum(-1) + 1, (X,), 1),
    "column sum": (lambda x: x.sum(0), (X,), 1),
    "argmax": (lambda x: x.argmax(-1), (X,), 1),
    "mean and variance": (lambda x: torch.var_mean(x, -1), (X,), 1),
    "embedding, sum": (
        lambda w, i: nn.embedding(i, w).sum(1),
        (X, LABELS.view(8, 8) % 64),
        1,
    ),
    "heads": (heads, (X,), 1),
    "pooling": (lambda x: nn.max_pool2d(nn.relu(x), 3, 2, 1), (IMAGE,), 1),
    "windows": (windows, (X.view(2, 8, 8, 48)[..., :16].contiguous(),), 1),
    "view of a view": (lambda x: x.t()[1:].t() * 1, (X,), 1),
    "two norms": (
        lambda x, w: nn.layer_norm(nn.layer_norm(x, (96,), w, w) + x, (96,), w, w),
        (X, ROW),
        1,
    ),
    "log of a sum": (lambda x: torch.logsumexp(x, -1), (X,), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_as_few_kernels_as_there_are_loops(name: str) -> None:
    function, inputs, count = CASES[name]
    graph = make_fx(function, decomposition_table=decompositions())(*inputs)
    made = schedule(lower(graph), ONE_THREAD)
    kernels = [step.name for step in made.steps if isinstance(step, Kernel)]
    assert len(kernels) == count, (kernels, made.notes)
    found = run_schedule(made, list(inputs))
    wanted = function(*inputs)
    listed = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    for ours, theirs in zip(found, listed, strict=True):
        assert isinstance(ours, torch.Tensor)
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours, theirs)


def test_channels_last_stays() -> None:
    image = IMAGE.to(memory_format=torch.channels_last)
    graph = make_fx(
        lambda x, w: batch_norm(x, w) + batch_norm(x * 2, w),
        decomposition_table=decompositions(),
    )(image, CHANNELS)
    made = schedule(lower(graph), ONE_THREAD)
    (kernel,) = (step for step in made.steps if isinstance(step, Kernel))
    # channels are the last loop, and all others are one
    assert [str(axis.extent) for axis in kernel.outer] == ["128", "16"]
    (found,) = run_schedule(made, [image, CHANNELS])
    assert isinstance(found, torch.Tensor)
    assert found.is_contiguous(memory_format=torch.channels_last)


def test_a_transposed_operand_asks_for_tiles() -> None:
    graph = make_fx(lambda x, y: x + y.t())(X, X.view(96, 64))
    made = schedule(lower(graph))
    (kernel,) = (step for step in made.steps if isinstance(step, Kernel))
    assert len(kernel.tile) == 2
    (flat,) = (
        step
        for step in schedule(lower(make_fx(lambda x: x + 1)(X))).steps
        if isinstance(step, Kernel)
    )
    assert len(flat.tile) == len(flat.outer) == 1


def test_a_long_sum_is_cut_for_threads() -> None:
    x = torch.arange(1 << 16, dtype=torch.int64)
    graph = make_fx(lambda x: x.sum())(x)
    made = schedule(lower(graph), Options(threads=2))
    assert sum(isinstance(step, Kernel) for step in made.steps) == 2
    (found,) = run_schedule(made, [x])
    assert found is not None and int(found) == int(x.sum())


def test_sizes_may_be_symbols() -> None:
    captured: list[tuple[Any, list[Any]]] = []

    def compiler(graph: torch.fx.GraphModule, _: Any) -> Any:
        def run(args: list[Any]) -> Any:
            captured.append((graph, list(args)))
            return graph(*args)

        return torch_api.boxed(run)

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        return torch_api.differentiate(
            graph,
            inputs,
            forward=compiler,
            backward=compiler,
            inference=compiler,
            decompositions=decompositions(),
        )

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.view(x.shape[0], x.shape[1], 4, 8).transpose(1, 2) * 2
        return torch.softmax(y, -1).transpose(1, 2).reshape(x.shape[0], -1)

    x = torch.randn(5, 7, 32)
    with torch.no_grad():
        torch.compile(function, dynamic=True, backend=backend)(x)
    graph, inputs = captured[0]
    made = schedule(lower(graph))
    (found,) = run_schedule(made, inputs)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, function(x))
    assert sum(isinstance(step, Kernel) for step in made.steps) == 1
