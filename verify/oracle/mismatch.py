"""Where a result differs from what was expected: shape, type or values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .outcome import shared
from .rounding import Expected


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A difference.

    Attributes:
        kind: ``"count"``, ``"structure"``, ``"shape"``, ``"dtype"``, ``"strides"``,
            ``"value"`` or ``"aliasing"``.
        output: Number of the result; inputs after the run count on.
        detail: In words, with the first wrong element.
    """

    kind: str
    output: int
    detail: str


def compare(
    wanted: Expected, got: Sequence[Any], *, strides: bool = True
) -> Mismatch | None:
    """Return the first difference, None if there is none.

    Floats may be off by their bound; NaN equals NaN, infinities and integers must be
    equal, zeros may differ in sign where rounding touched them or eager mode leaves it
    to chance. Tensors that lie in
    one storage must do so in both runs.

    Args:
        wanted: From :func:`rounding.eager` or :func:`rounding.expected`.
        got: The subject's leaves, see :func:`outcome.leaves`.
        strides: Whether strides of dims longer than one must be equal, and storages
            shared in the same way.
    """
    if wanted.is_open:
        return None
    if len(got) != len(wanted.values):
        return Mismatch("count", 0, f"{len(got)} results, not {len(wanted.values)}")
    for number, (value, other) in enumerate(zip(wanted.values, got, strict=True)):
        if not isinstance(value, torch.Tensor) or not isinstance(other, torch.Tensor):
            if isinstance(value, torch.Tensor) or value != other:
                return Mismatch("structure", number, f"{other!r}, not {value!r}")
            continue
        if other.shape != value.shape:
            return Mismatch(
                "shape", number, f"{tuple(other.shape)}, not {tuple(value.shape)}"
            )
        if other.dtype != value.dtype:
            return Mismatch("dtype", number, f"{other.dtype}, not {value.dtype}")
        if strides and not _same_strides(value, other):
            return Mismatch(
                "strides", number, f"{other.stride()}, not {value.stride()}"
            )
        found = _values(wanted, value, other, number)
        if found is not None:
            return found
    both = shared([(0, leaf) for leaf in got]) if strides else wanted.shared
    if both != wanted.shared:
        first = min(both ^ wanted.shared)
        word = "share" if first in both else "do not share"
        return Mismatch(
            "aliasing", first[1], f"{first[0]} and {first[1]} {word} memory"
        )
    return None


def _same_strides(value: torch.Tensor, other: torch.Tensor) -> bool:
    if not value.numel():
        return True
    pairs = zip(value.shape, value.stride(), other.stride(), strict=True)
    return all(size == 1 or a == b for size, a, b in pairs)


def _values(
    wanted: Expected, value: torch.Tensor, other: torch.Tensor, number: int
) -> Mismatch | None:
    bound, loose = wanted.bounds[number], wanted.loose[number]
    zeros = wanted.zeros[number] if wanted.zeros else None
    other = other.detach().cpu()
    if not value.dtype.is_floating_point:
        wrong = value != other
        if loose is not None:
            wrong &= ~loose
        return _first(value, other, wrong, number)
    a, b = value.to(torch.float64), other.to(torch.float64)
    equal = (a == b) | (torch.isnan(a) & torch.isnan(b))
    if bound is None:
        equal &= torch.isnan(a) | (torch.signbit(a) == torch.signbit(b))
    else:
        near = (a - b).abs() <= bound
        equal |= near & torch.isfinite(a) & torch.isfinite(b)
    if zeros is not None:
        equal |= zeros & (a == b)
    if loose is not None:
        equal |= loose
    return _first(value, other, ~equal, number)


def _first(
    value: torch.Tensor, other: torch.Tensor, wrong: torch.Tensor, number: int
) -> Mismatch | None:
    if not bool(wrong.any()):
        return None
    count = int(wrong.sum())
    where = tuple(int(i) for i in wrong.nonzero()[0]) if wrong.dim() else ()
    return Mismatch(
        "value",
        number,
        f"{count} of {wrong.numel()} elements, first at {where}: "
        f"{other[where].item()!r}, not {value[where].item()!r}",
    )
