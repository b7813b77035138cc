"""Calls into PyTorch: which callable is quickest, and what it returned.

A fake tensor says which strides an operator's result will have. Some operators (the
convolutions of the CPU) decide anew when they run; since kernels are made for the
strides that were promised, :func:`settled` checks them and copies where they differ.
"""

from collections.abc import Callable
from typing import Any, Final

import torch

from compiler.torch_api import assert_size_stride, is_overload

aten = torch.ops.aten

_QUICK: Final[dict[Any, Callable[..., Any]]] = {
    aten.mm.default: torch.mm,
    aten.addmm.default: torch.addmm,
    aten.bmm.default: torch.bmm,
    aten.baddbmm.default: torch.baddbmm,
    aten.convolution.default: torch.convolution,
    aten.copy_.default: torch.Tensor.copy_,
}
"""Operator -> the same function with a parser of its own, twice as quick to call."""

DENSE: Final = frozenset(
    {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}
)
"""Operators whose result always has the strides of the fake one."""


def quick(target: Any) -> Callable[..., Any]:
    """Return the quickest callable that does what an extern call's target does.

    Law: both give the same results for the same arguments.
    """
    if target in _QUICK:
        return _QUICK[target]
    if is_overload(target):
        found: Callable[..., Any] = getattr(target, "_op", target)
        return found
    unhooked: Callable[..., Any] = target
    return unhooked


def settled(
    tensor: torch.Tensor | None, shape: tuple[int, ...], strides: tuple[int, ...]
) -> torch.Tensor | None:
    """Return the tensor, or a copy of it that has the strides that were promised.

    An operator may return None where the fake one returned a tensor: cuDNN's attention
    has no logsumexp unless it is asked for one. Nobody reads it then.

    Args:
        tensor: What an operator returned.
        shape: What the fake tensor had [elements].
        strides: What the fake tensor had; of dims of size 1 any is right [elements].

    Raises:
        AssertionError: The shape differs.
    """
    if tensor is None:
        return None
    try:
        assert_size_stride(tensor, shape, strides)
    except AssertionError:
        if tuple(tensor.shape) != shape:
            raise
        fresh = torch.empty_strided(
            shape, strides, dtype=tensor.dtype, device=tensor.device
        )
        return fresh.copy_(tensor)
    return tensor


def into(
    call: Callable[..., torch.Tensor], made: torch.Tensor, /, *args: Any, **kwargs: Any
) -> torch.Tensor:
    """Return memory after an operator of :data:`DENSE` has written its result there.

    The library writes rows with gaps between them at once. Gradients are not recorded,
    which operators refuse that write into memory given to them.

    Args:
        call: As :func:`quick` gives it.
        made: Of the result's shape, its rows or columns adjacent.
        args: The operator's.
        kwargs: The operator's.

    Example:
        >>> made = torch.empty_strided((2, 3), (8, 1))
        >>> into(torch.mm, made, torch.ones(2, 5), torch.ones(5, 3)) is made
        True
    """
    if torch.is_grad_enabled():
        with torch.no_grad():
            return call(*args, out=made, **kwargs)
    return call(*args, out=made, **kwargs)


def several(results: Any) -> tuple[Any, ...]:
    """Return what a call gave as a tuple, also where it gave one tensor or a dict."""
    if isinstance(results, dict):
        return tuple(results.values())
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)
