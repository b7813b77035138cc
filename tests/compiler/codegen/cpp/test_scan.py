"""Scans along rows and down columns, with what is stored along the way."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from compiler.codegen.cpp.scan import start_of
from compiler.ir.index import digit
from compiler.ir.kernel import Prefix, Store
from compiler.ir.node import SCANS
from compiler.ir.scalar import apply, load, local, type_name


def scanning(
    kernel: Any, kind: str, data: torch.Tensor, order: str
) -> tuple[Any, dict[str, torch.Tensor]]:
    extents = dict(zip(order, data.shape, strict=True))
    dtype = type_name(data.dtype)
    place = tuple(digit(d) for d in order)
    x = load("x", place, dtype)
    results: tuple[str, ...] = ("s",)
    types: tuple[str, ...] = (dtype,)
    tensors = {"x": data, "o": torch.zeros_like(data)}
    stages: list[Any] = []
    if kind.startswith("arg"):
        results, types = ("s", "p"), (dtype, "int64")
        tensors["places"] = torch.zeros(data.shape, dtype=torch.int64)
        stages.append(Store("places", place, local("p", "int64"), inner=True))
    stages.insert(0, Prefix(results, kind, x, types))
    value = apply("sub", local("s", dtype), x)
    if kind in ("maximum", "argmax", "argmin", "minimum", "logsumexp"):
        value = local("s", dtype)
    stages.append(Store("o", place, value, inner=True))
    name = f"{kind}_{dtype}_{order}"
    outer, inner = {"i": extents["i"]}, {"r": extents["r"]}
    return kernel(name, tensors, stages, outer, inner), tensors


@pytest.mark.parametrize("shape", [(3, 1), (3, 1500), (70, 33)])
def test_scans_are_those_of_the_evaluator(
    shape: tuple[int, int], same: Any, kernel: Any, special: Any
) -> None:
    runs = []
    for kind in SCANS:
        types = [torch.float32, torch.float64, torch.int64]
        for dtype in types[:1] if kind == "logsumexp" else types:
            count = shape[0] * shape[1]
            data = torch.arange(count).remainder(13).to(dtype).reshape(shape)
            if kind == "product":
                data = torch.where(data == 3, 2, 1).to(dtype)
                data[:, 100:] = 1
            elif kind != "sum" and dtype.is_floating_point:
                data = special(dtype, count).roll(9).reshape(shape)
                if kind == "logsumexp":
                    data = data.nan_to_num(0, 3, -float("inf")).clamp(max=50)
            runs.append(scanning(kernel, kind, data, "ir"))
            runs.append(scanning(kernel, kind, data.t().contiguous(), "ri"))
    same(runs, ulps=64)


def test_sums_run_in_double_precision() -> None:
    assert start_of("sum", "float32") == [("f64", "0")]
    assert start_of("sum", "int64") == [("i64", "(i64)0")]


@pytest.mark.parametrize("shape", [(3, 3, 3), (40, 70)])
@pytest.mark.parametrize("dim", [0, -1])
def test_a_scan_reads_one_that_is_stored(shape: tuple[int, ...], dim: int) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first = torch.cumsum(x, dim)
        return first, torch.cumsum(first + x, dim), torch.cumsum(first.flip(dim), dim)

    x = torch.randint(-3, 4, shape).float()
    options: dict[str, Any] = {"fallback": False}
    found = torch.compile(function, backend="tilewright", options=options)(x)
    for value, wanted in zip(found, function(x), strict=True):
        assert torch.equal(value, wanted)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, d: x.cumsum(d) - x.cumsum(d).mean(d, keepdim=True),
        lambda x, d: x.cumsum(d) - x.mean(d, keepdim=True),
        lambda x, d: (x - x.mean(d, keepdim=True)).cumsum(d),
        lambda x, d: (x.cumsum(d) - x.amax(d, keepdim=True)).cumsum(d),
        lambda x, d: x.cumsum(d).softmax(d),
        lambda x, d: x.cummax(d)[0] + x.cumsum(d).sum(d, keepdim=True),
        lambda x, d: torch.stack(
            [x.cumsum(d), x.cumsum(d).amin(d, True).expand(5, 33)]
        ),
    ],
)
def test_a_reduction_may_read_a_scan(
    function: Callable[[torch.Tensor, int], torch.Tensor], dim: int, dynamic: bool
) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: function(x, dim),
        backend="tilewright",
        dynamic=dynamic,
        options={"fallback": False},
    )
    x = torch.randn(5, 33)
    torch.testing.assert_close(compiled(x), function(x, dim), atol=1e-4, rtol=1e-4)
