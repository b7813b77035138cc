"""Operators whose vector units and scalar loop give different results in eager mode.

PyTorch's CPU kernels compute whole vectors by one piece of code and what is left over,
or strided, by another. For a NaN some derivatives choose the other branch there: the
gradient of ``hardtanh`` at NaN is 0 in a vector and 1 in the rest, so that it depends
on the place of the element in memory. Of two zeros vectors take the second as the
larger, and as the smaller one, and scalars the first. Of such elements nothing is
promised.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten

BY_LANES = (
    aten.hardtanh_backward.default,
    aten.hardswish_backward.default,
    aten.softshrink_backward.default,
    aten.elu_backward.default,
    aten.softshrink.default,
)
"""Operators that are known to do so; each is tested to."""


BY_ORDER = (aten.maximum.default, aten.minimum.default)
"""Operators that choose between zeros by the order of the operands, either way."""


EXTREMES = (aten.amax.default, aten.amin.default, aten.max.default, aten.min.default)
"""Reductions that choose between zeros by an order of elements of their own, as
``aminmax`` does of a whole tensor; what comes with a position is the element there."""


CLAMPS = (
    *(aten.clamp.Tensor, aten.clamp_min.Tensor, aten.clamp_max.Tensor),
    *(aten.clamp_.Tensor, aten.clamp_min_.Tensor, aten.clamp_max_.Tensor),
)
"""Operators that choose between a value and bounds, of zeros either."""


class Scalar(TorchDispatchMode):
    """Run the operators of :data:`BY_LANES` by their scalar loops, others in order.

    Those of :data:`BY_ORDER` and :data:`CLAMPS` get their operands the other way round,
    and those of :data:`EXTREMES` give the other zero where they meet both.
    """

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        clamped = _clamped(func, *args, **(kwargs or {})) if func in CLAMPS else None
        out = func(*args, **(kwargs or {}))
        if clamped is not None:
            out.copy_(clamped)
        if func in BY_LANES:
            out.copy_(func(*map(_apart, args), **(kwargs or {})))
        elif func in BY_ORDER:
            out.copy_(func(*reversed(args)))
        elif func in EXTREMES and out.dtype.is_floating_point:
            out.copy_(_with_other_zeros(out, *args, **(kwargs or {})))
        elif func is aten.aminmax.default and (kwargs or {}).get("dim") is None:
            for found in out if args[0].dtype.is_floating_point else ():
                found.copy_(_with_other_zeros(found, *args, **(kwargs or {})))
        return out


def _clamped(
    func: Any,
    x: torch.Tensor,
    *bounds: torch.Tensor | None,
    min: torch.Tensor | None = None,
    max: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return what is clamped, with the bounds before the value."""
    if "clamp_max" in func._schema.name:
        bounds = (None, *bounds)
    low = bounds[0] if bounds and bounds[0] is not None else min
    high = bounds[1] if bounds[1:] and bounds[1] is not None else max
    if low is not None:
        x = torch.maximum(low, x)
    return x if high is None else torch.minimum(high, x)


def _with_other_zeros(
    found: torch.Tensor,
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
) -> torch.Tensor:
    """Return extremes with the other zero where both are among the elements."""
    dims, minus = list(dim or range(x.dim())), torch.signbit(x)
    zeros = x == 0
    both = (zeros & minus).any(dims, keepdim) & (zeros & ~minus).any(dims, keepdim)
    return torch.where(both & (found == 0), found.neg(), found)


def _apart(value: Any) -> Any:
    """Return a tensor whose elements are not neighbours in memory."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.stack((value, value), -1)[..., 0]


def differ(value: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return where two results differ, also in a zero's sign; NaN equals NaN."""
    other = other.detach()
    apart = (value != other) | (value.signbit() != other.signbit())
    return apart & ~((value != value) & (other != other))
