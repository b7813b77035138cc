"""How far rounding can move each element of a program's results.

No fixed tolerance says whether a compiled program is wrong: a sum that cancels may be
off by all its digits and a copy by none. So the program is run several times with each
floating result moved at random by up to half a unit in its last place, and what the
runs differ by is what rounding explains (discrete stochastic arithmetic; J. Vignes,
1993). A compiler may keep more digits than eager mode, so half types count with their
own unit and nothing is assumed about the order of sums.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

RUNS = 8
"""Perturbed runs: one with all results up, one with all down, the others mixed."""

MARGIN = 8.0
"""The bound is so many times the largest deviation seen, and as many units in the last
place of the result."""

_EXACT = {
    "clone", "copy_", "view", "permute", "slice", "select", "expand", "unsqueeze",
    "squeeze", "as_strided", "transpose", "t", "detach", "alias", "_unsafe_view",
    "flip", "roll", "repeat", "index", "gather", "cat", "stack", "neg", "abs", "sign",
    "maximum", "minimum", "where", "clamp", "relu", "floor", "ceil", "trunc", "round",
    "constant_pad_nd", "index_select", "masked_fill", "zeros_like", "full_like",
    "fill_", "zero_", "lift_fresh", "split", "unbind", "diagonal", "unfold", "empty",
    "sort", "topk", "max", "min", "amax", "amin", "embedding", "triu", "tril", "full",
    "scalar_tensor", "arange", "index_put", "scatter", "split_with_sizes", "view_as",
    "contiguous", "empty_like", "empty_strided", "new_empty_strided", "eye", "isnan",
}  # fmt: skip
"""Operators that round nothing."""


@cache
def _decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return the pieces of smooth composites, by operator."""
    aten = torch.ops.aten
    table: Mapping[Any, Callable[..., Any]] = torch._decomp.get_decompositions(
        [
            aten.gelu,
            aten.silu,
            aten.mish,
            aten.elu,
            aten.softplus,
            aten.hardswish,
            aten.native_layer_norm,
            aten.native_group_norm,
            aten._softmax,
            aten._log_softmax,
            aten.logsumexp,
            aten.log_sigmoid_forward,
            aten.addcmul,
            aten.addcdiv,
            aten.lerp,
            aten.std,
            aten.var_mean,
        ]
    )
    return table


class _Moved(TorchDispatchMode):
    """Move each floating result by up to half a unit in its last place."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        parts = _decompositions().get(func)
        if parts is not None:
            # a composite rounds inside: 1 + erf(x) cancels, and the mode must see it
            with self:
                return parts(*args, **(kwargs or {}))
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.partition("::")[2]
        if name in _EXACT or (func._schema.is_mutable and not name.endswith("_")):
            return out
        if isinstance(out, torch.Tensor):
            return self._moved(out)
        if isinstance(out, tuple | list):
            return type(out)(
                self._moved(o) if isinstance(o, torch.Tensor) else o for o in out
            )
        return out

    def _moved(self, value: torch.Tensor) -> torch.Tensor:
        if not value.dtype.is_floating_point or not value.numel():
            return value
        unit = torch.finfo(value.dtype).eps
        noise = torch.rand(value.shape, generator=self.generator, dtype=torch.float64)
        if self.seed < 2:  # all up, all down: what stands at an edge falls over it
            noise = torch.full_like(noise, float(self.seed))
        wide = value.detach().to(torch.float64)
        shifted = wide * (1 + (noise - 0.5) * 2 * unit)
        # the move must survive the rounding back: half types often round it away
        shifted = torch.where(torch.isfinite(wide), shifted, wide)
        value.copy_(shifted.to(value.dtype))
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What a program returns, and how far a right answer may be off.

    Attributes:
        values: Eager mode's results, and the inputs after the run.
        bounds: Largest permitted deviation of each element (float64), None where the
            results must be equal, bit for bit but for the payload of a NaN.
        loose: Elements of which nothing can be said: a rounding elsewhere changes a
            comparison, a NaN or an integer.
        error: What eager mode raised, None if it ran.
    """

    values: tuple[torch.Tensor, ...]
    bounds: tuple[torch.Tensor | None, ...]
    loose: tuple[torch.Tensor | None, ...]
    error: Exception | None = None


def expected(
    function: Callable[..., Sequence[Any]], build: Callable[[], list[torch.Tensor]]
) -> Expected:
    """Run a program as it is and perturbed.

    Args:
        function: Takes the inputs, returns tensors.
        build: Makes fresh inputs, the same each time.
    """
    plain = _run(function, build())
    if isinstance(plain, Exception):
        return Expected((), (), (), plain)
    moved = []
    for seed in range(RUNS):
        inputs = build()  # as they are: only what is computed moves
        with _Moved(seed):
            run = _run(function, inputs)
        if not isinstance(run, Exception) and len(run) == len(plain):
            moved.append(run)
    bounds: list[torch.Tensor | None] = []
    loose: list[torch.Tensor | None] = []
    for number, value in enumerate(plain):
        others = [run[number] for run in moved if run[number].shape == value.shape]
        bound, free = _spread(value, others)
        bounds.append(bound)
        loose.append(free)
    return Expected(tuple(plain), tuple(bounds), tuple(loose))


def _run(
    function: Callable[..., Sequence[Any]], inputs: list[torch.Tensor]
) -> list[torch.Tensor] | Exception:
    torch.manual_seed(0)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [*function(*inputs), *inputs]
    except Exception as error:
        return error
    return [_copied(r) for r in results if isinstance(r, torch.Tensor)]


def _copied(value: torch.Tensor) -> torch.Tensor:
    """Return a copy with the same strides, overlapping ones too."""
    value = value.detach()
    reach = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
    if not value.numel():
        return value.clone()
    flat = value.as_strided((reach + 1,), (1,), value.storage_offset()).clone()
    return flat.as_strided(value.shape, value.stride(), 0)


def _spread(
    value: torch.Tensor, others: Sequence[torch.Tensor]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    if not value.dtype.is_floating_point:
        free = torch.zeros(value.shape, dtype=torch.bool)
        for other in others:
            free |= other != value
        return None, free if bool(free.any()) else None
    wide = value.to(torch.float64)
    finite = torch.isfinite(wide)
    free = torch.zeros(value.shape, dtype=torch.bool)
    largest = torch.zeros(value.shape, dtype=torch.float64)
    for other in others:
        moved = other.to(torch.float64)
        free |= torch.isfinite(moved) != finite
        free |= torch.isnan(moved) != torch.isnan(wide)
        largest = torch.maximum(largest, torch.nan_to_num((moved - wide).abs(), 0.0))
    if not bool((largest > 0).any()):
        return None, free if bool(free.any()) else None
    unit = torch.finfo(value.dtype).eps * torch.nan_to_num(wide.abs(), 0.0, 0.0, 0.0)
    touched = largest > 0
    # vector units may flush what is below the least normal number
    flushed = torch.finfo(value.dtype).tiny
    allowed = MARGIN * (largest + unit) + flushed
    bound = torch.where(touched, allowed, torch.zeros_like(largest))
    return bound, free if bool(free.any()) else None
