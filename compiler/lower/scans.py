"""Running sums, products and extremes."""

from typing import Any

import torch

from compiler.ir.expression import Expression
from compiler.ir.scalar import cast, compute_type, type_name

from .builder import Array, Builder, Indices
from .registry import NotLowered, lowering
from .views import wrapped

aten = torch.ops.aten


def _accumulator(dtype: str, device: str) -> str:
    """Return the type to accumulate in: on a CPU eager mode scans in float64."""
    if dtype == "float32" and device == "cpu":
        return "float64"
    return compute_type(dtype)


def _scanned(b: Builder, x: Array, dim: int, kind: str, result: Any = None) -> Array:
    result = b.result if result is None else result
    dtype = type_name(result.dtype)
    if x.rank == 0:
        return b.result_map(lambda i: x.at(i, dtype), result)
    if dtype == "bool":
        raise NotLowered("a scan of truth values")
    work = _accumulator(dtype, x.device) if kind in ("sum", "product") else dtype

    def body(i: Indices) -> Expression:
        return cast(cast(x.at(i), dtype), compute_type(work))

    (total,) = b.scan(x.shape, wrapped(dim, x.rank), kind, body, device=x.device)
    return b.result_map(lambda i: total.at(i), result)


@lowering(aten.cumsum.default)
def _cumsum(b: Builder, x: Array, dim: int, **_: Any) -> Array:
    return _scanned(b, x, dim, "sum")


@lowering(aten.cumprod.default)
def _cumprod(b: Builder, x: Array, dim: int, **_: Any) -> Array:
    return _scanned(b, x, dim, "product")


@lowering(aten.logcumsumexp.default)
def _logcumsumexp(b: Builder, x: Array, dim: int) -> Array:
    return _scanned(b, x, dim, "logsumexp")


def _running_extreme(kind: str) -> Any:
    def lower(b: Builder, x: Array, dim: int) -> tuple[Array, ...]:
        values, positions = b.result
        if x.rank == 0 or x.dtype == "bool":
            raise NotLowered("a running extreme of a scalar or of truth values")

        def body(i: Indices) -> Expression:
            return x.computed(i)

        best, place = b.scan(x.shape, wrapped(dim, x.rank), kind, body, device=x.device)
        return (
            b.result_map(lambda i: best.at(i), values),
            b.result_map(lambda i: place.at(i), positions),
        )

    return lower


lowering(aten.cummax.default)(_running_extreme("argmax"))
lowering(aten.cummin.default)(_running_extreme("argmin"))
