"""The compiler with small blocks and watched memory: small programs show faults.

Blocks, tiles and chunks have a few elements only: a tensor of twenty elements goes
through the loops that otherwise need thousands. Arrays that the compiler makes are
filled with garbage and have a strip behind them that nobody may write.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .changes import instead
from .fault import Change

STRIP = 256
"""Bytes behind each array."""

GARBAGE = 0xA5


class Watched:
    """Arrays with strips behind them."""

    def __init__(self) -> None:
        self._strips: list[torch.Tensor] = []

    def make(
        self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype
    ) -> torch.Tensor:
        """Return a new array, filled with garbage."""
        last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        used = (last + 1) * dtype.itemsize if math.prod(shape) else 0
        room = -(-used // 64) * 64 + STRIP
        raw = torch.full((room,), GARBAGE, dtype=torch.uint8)
        self._strips.append(raw[used:])
        made = torch.empty(0, dtype=dtype)  # no view: autograd would refuse writes
        return made.set_(raw.untyped_storage(), 0, tuple(shape), tuple(strides))

    def check(self) -> None:
        """Look at the strips of all arrays that were made.

        Raises:
            AssertionError: One was written.
        """
        strips, self._strips = self._strips, []
        for strip in strips:
            if not bool((strip == GARBAGE).all()):
                raise AssertionError("a kernel wrote behind the end of an array")


def _to(value: Any) -> Callable[[Any], Any]:
    return lambda right: value


def _few_chunks(right: Callable[..., Any], node: Any, *rest: Any) -> Any:
    points: Callable[..., int] = _points()
    long = len(node.reduced) == 1 and points(node.reduced) >= 4
    return 4 if long else right(node, *rest)


def _points() -> Callable[..., int]:
    from compiler.schedule.work import points

    return points


def small(watched: Watched) -> tuple[Change, ...]:
    """Return the changes: none of them changes what a program computes."""

    def runtime(right: dict[str, Any]) -> dict[str, Any]:
        return {**right, "empty_strided_cpu": watched.make}

    return (
        Change("compiler.schedule.reductions:UNROLLED", _to(1)),
        Change("compiler.codegen.cpp.reduction:_STEPS", _to(4)),
        Change("compiler.codegen.cpp.reduction:_VECTOR_BYTES", _to(4)),
        Change("compiler.codegen.cpp.scan:CHUNK", _to(8)),
        Change("compiler.codegen.cpp.pointwise:BLOCK", _to(8)),
        Change("compiler.codegen.cpp.columns:_WIDEST", _to(8)),
        Change("compiler.codegen.cpp.columns:_NARROWEST", _to(4)),
        Change("compiler.codegen.triton.reduction_plan:PERSISTENT", _to(4)),
        Change("compiler.codegen.triton.reduction_plan:_COLUMN_PERSISTENT", _to(4)),
        Change("compiler.runtime.wrapper:RUNTIME", runtime),
        instead("compiler.schedule.reductions:_chunks", _few_chunks),
    )


def smaller_tiles() -> tuple[Change, ...]:
    """Return the changes that make tiles of Triton kernels small."""

    def halved(right: Callable[..., Any], size: int, lanes: int) -> Any:
        return min(right(size, lanes)[0], 8), 1

    def above(right: Callable[..., int], size: int) -> int:
        return min(right(size), 8)

    def bounded(right: Callable[..., int], size: int, low: int, high: int) -> int:
        return max(1, min(right(size, low, high), 8))

    return (
        instead("compiler.codegen.triton.pointwise_plan:_pointwise_block", halved),
        instead("compiler.codegen.triton.tile:bounded", bounded),
        instead("compiler.codegen.triton.tile:power_above", above),
    )
