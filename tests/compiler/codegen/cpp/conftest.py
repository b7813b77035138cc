"""Kernels run twice: compiled, between canaries, and by the evaluator."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pytest
import torch

from compiler.codegen.cpp import build
from compiler.ir.evaluate import run_kernel
from compiler.ir.expression import Expression
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Stage
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import type_name
from compiler.options import Options

Tensors: TypeAlias = dict[str, torch.Tensor]
Same: TypeAlias = Callable[..., None]

_MARGIN = 64
_CANARY = 113


def buffer_of(name: str, tensor: torch.Tensor) -> Buffer:
    shape = tuple(index(n) for n in tensor.shape)
    strides = tuple(index(n) for n in tensor.stride())
    return Buffer(name, type_name(tensor.dtype), shape, "cpu", strides)


class Guarded:
    """A copy of a tensor between canaries."""

    def __init__(self, tensor: torch.Tensor) -> None:
        extent = 1 + sum(
            (n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)
        )
        self._extent = extent if tensor.numel() else 0
        self._memory = torch.full(
            (self._extent + 2 * _MARGIN,), _CANARY, dtype=torch.uint8
        ).to(tensor.dtype)
        self._before = self._memory.clone()
        self.tensor = self._memory.as_strided(tensor.shape, tensor.stride(), _MARGIN)
        self.tensor.copy_(tensor)

    def intact(self) -> bool:
        inside = slice(_MARGIN, _MARGIN + self._extent)
        hole = self._memory.clone()
        hole[inside] = self._before[inside]
        # between the elements of a strided view nothing may change either
        view = hole.as_strided(self.tensor.shape, self.tensor.stride(), _MARGIN)
        untouched = self._memory.clone()
        untouched.as_strided(view.shape, view.stride(), _MARGIN).copy_(view)
        return bool(torch.equal(untouched, self._before))


def close(ours: torch.Tensor, right: torch.Tensor, ulps: int, absolute: float) -> bool:
    if not right.is_floating_point():
        return bool(torch.equal(ours, right))
    step = torch.finfo(right.dtype).eps
    return bool(
        torch.isclose(
            ours.double(),
            right.double(),
            rtol=ulps * step,
            atol=absolute,
            equal_nan=True,
        ).all()
    )


def run_both(
    kernels: Sequence[tuple[Kernel, Mapping[str, torch.Tensor]]],
    ulps: int = 4,
    absolute: float = 1e-37,
    symbols: Mapping[str, int] | None = None,
    options: Options | None = None,
) -> None:
    """Assert that compiled kernels do what the evaluator does, and nothing else."""
    sizes = dict(symbols or {})
    built = build([kernel for kernel, _ in kernels], options)
    for kernel, tensors in kernels:
        ours = {name: Guarded(tensor) for name, tensor in tensors.items()}
        right = {name: guard.tensor.clone() for name, guard in ours.items()}
        right = {
            name: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t)
            for name, t in tensors.items()
        }
        run_kernel(kernel, right, sizes)
        function = built[kernel.name]
        function(
            *(ours[name].tensor for name in function.parameters),
            *(sizes[str(symbol.data)] for symbol in function.symbols),
        )
        for name, guard in ours.items():
            assert guard.intact(), f"{kernel.name} writes outside {name}"
            assert close(guard.tensor, right[name], ulps, absolute), (
                kernel.name,
                name,
                guard.tensor,
                right[name],
            )


def kernel_of(
    name: str,
    tensors: Mapping[str, torch.Tensor],
    stages: Sequence[Stage],
    outer: Mapping[str, int | Expression],
    inner: Mapping[str, int | Expression] | None = None,
) -> Kernel:
    return Kernel(
        name,
        tuple(Axis(digit(n), index(e)) for n, e in outer.items()),
        tuple(Axis(digit(n), index(e)) for n, e in (inner or {}).items()),
        tuple(stages),
        {n: buffer_of(n, tensor) for n, tensor in tensors.items()},
    )


def values(dtype: torch.dtype, count: int, seed: int = 0) -> torch.Tensor:
    """Return values with the special ones first."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).bool()
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        special = [limits.min, limits.max, 0, 1, 2, limits.max - 1, limits.min + 1]
        some = torch.randint(-9 if limits.min else 0, 99, (count,), generator=generator)
        made = torch.cat([torch.tensor(special, dtype=dtype), some.to(dtype)])
        return made[:count]
    floats = torch.finfo(dtype)
    numbers = [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, float("inf"), float("-inf")),
        *(float("nan"), floats.max, floats.tiny, -floats.tiny, floats.tiny / 4, 0.1),
    ]
    some = torch.randn(count, generator=generator, dtype=torch.float64) * 3
    return torch.cat([torch.tensor(numbers, dtype=torch.float64), some]).to(dtype)[
        :count
    ]


@pytest.fixture
def same() -> Any:
    return run_both


@pytest.fixture
def kernel() -> Any:
    return kernel_of


@pytest.fixture
def special() -> Any:
    return values
