"""Reference semantics of reducers, scans and scatters, in torch."""

from collections.abc import Callable, Mapping

import torch


def reduce(reducer: str, value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the results of a reducer over the last axis.

    Args:
        reducer: A key of ``node.REDUCERS``.
        value: (..., reduced), in the type that is accumulated in.
    """
    return _REDUCERS[reducer](value)


def _sum(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (value.sum(-1, dtype=value.dtype),)


def _product(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (value.prod(-1, dtype=value.dtype),)


def _maximum(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    if value.shape[-1] == 0:
        return (value.new_full(value.shape[:-1], neutral("maximum", value.dtype)),)
    return (value.amax(-1),)


def _minimum(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    if value.shape[-1] == 0:
        return (value.new_full(value.shape[:-1], neutral("minimum", value.dtype)),)
    return (value.amin(-1),)


def neutral(reducer: str, dtype: torch.dtype) -> bool | int | float:
    """Return the neutral element of ``maximum`` or ``minimum``."""
    greatest = reducer == "minimum"
    if dtype == torch.bool:
        return greatest
    if dtype.is_floating_point:
        return float("inf") if greatest else float("-inf")
    limits = torch.iinfo(dtype)
    return limits.max if greatest else limits.min


def _xor(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    total = torch.zeros_like(value[..., :0].sum(-1, dtype=value.dtype))
    for part in value.unbind(-1):
        total = total ^ part
    return (total,)


def _position(value: torch.Tensor, extreme: torch.Tensor) -> torch.Tensor:
    hit = value == extreme.unsqueeze(-1)
    if value.dtype.is_floating_point:
        hit = hit | value.isnan()
        some = value.isnan().any(-1, keepdim=True)
        hit = torch.where(some, value.isnan(), hit)
    place = torch.arange(value.shape[-1], device=value.device)
    return torch.where(hit, place, value.shape[-1]).amin(-1)


def _argmax(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (_position(value, value.amax(-1)),)


def _argmin(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (_position(value, value.amin(-1)),)


def _welford(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    wide = value.double()
    count = wide.new_full(value.shape[:-1], value.shape[-1])
    mean = wide.sum(-1) / count.clamp(min=1)
    squares = (wide - mean.unsqueeze(-1)).square().sum(-1)
    return mean.to(value.dtype), squares.to(value.dtype), count.to(value.dtype)


def _online_softmax(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    (greatest,) = _maximum(value)
    return greatest, (value - greatest.unsqueeze(-1)).exp().sum(-1)


_REDUCERS: Mapping[str, Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "sum": _sum,
    "product": _product,
    "maximum": _maximum,
    "minimum": _minimum,
    "any": lambda value: (value.any(-1),),
    "all": lambda value: (value.all(-1),),
    "xor": _xor,
    "argmax": _argmax,
    "argmin": _argmin,
    "welford": _welford,
    "online_softmax": _online_softmax,
}


def scan(kind: str, value: torch.Tensor, along: int) -> tuple[torch.Tensor, ...]:
    """Return the results of an inclusive scan along an axis.

    Args:
        kind: One of ``node.SCANS``.
        value: In the type that is accumulated in.
        along: Number of the axis.
    """
    if kind == "sum":
        return (value.cumsum(along, dtype=value.dtype),)
    if kind == "product":
        return (value.cumprod(along, dtype=value.dtype),)
    if kind == "logsumexp":
        return (value.logcumsumexp(along),)
    if value.numel() == 0:
        found, position = value.clone(), value.to(torch.int64)
    elif kind in ("maximum", "argmax"):
        found, position = torch.cummax(value, along)
    else:
        found, position = torch.cummin(value, along)
    return (found, position) if kind.startswith("arg") else (found,)


def scatter(
    target: torch.Tensor,
    positions: torch.Tensor,
    values: torch.Tensor,
    mode: str,
) -> None:
    """Combine values into elements of an array, in order.

    Args:
        target: One-dimensional; is changed.
        positions: Elements to change, int64, may repeat.
        values: As many, of the array's type.
        mode: One of ``node.SCATTERS``.
    """
    if mode == "set":
        order = torch.arange(positions.numel(), device=positions.device)
        last = torch.full(target.shape, -1, device=positions.device)
        last.scatter_reduce_(0, positions, order, "amax")
        hit = last >= 0
        target[hit] = values[last[hit]]
    elif mode == "add" and target.dtype == torch.bool:
        target.logical_or_(
            torch.zeros_like(target).index_fill_(0, positions[values], 1)
        )
    elif mode == "add" and target.is_cuda:
        # sorts, so the order of the sum is the same each time
        target.index_put_((positions,), values, accumulate=True)
    elif mode == "add":
        target.index_add_(0, positions, values)
    else:
        name = {"multiply": "prod", "maximum": "amax", "minimum": "amin"}[mode]
        target.scatter_reduce_(0, positions, values, name)
