"""What a run of a program leaves behind: results, gradients, arguments after it.

Everything is taken apart into leaves, each a tensor or a string, so that two runs can
be compared element by element. Numbers of Python become tensors without dims (what was
computed from a tensor may be off by its rounding); all else becomes text.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch


def leaves(value: Any) -> list[Any]:
    """Take a value apart: tensors, and strings for structure and everything else.

    Example:
        >>> leaves((torch.ones(2), "a"))
        ['tuple 2', tensor([1., 1.]), "'a'"]
    """
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, torch.nn.Module):
        state = {**dict(value.named_parameters()), **dict(value.named_buffers())}
        return [f"{type(value).__name__} {value.training}", *leaves(state)]
    if isinstance(value, bool | float) or (
        isinstance(value, int) and abs(value) < 1 << 62
    ):
        kind = {bool: torch.bool, float: torch.float64}.get(type(value), torch.int64)
        return [type(value).__name__, torch.tensor(value, dtype=kind)]
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        found: list[Any] = [f"{type(value).__name__} {len(value)}"]
        for item in value:
            found.extend(leaves(item))
        return found
    if isinstance(value, dict):
        found = [f"{type(value).__name__} {list(value)}"]
        for item in value.values():
            found.extend(leaves(item))
        return found
    if hasattr(value, "__dict__") and not isinstance(value, type) and vars(value):
        return [type(value).__name__, *leaves(vars(value))]
    return [repr(value)]


def seed_generators(seed: int) -> None:
    """Seed torch's generators as ``torch.manual_seed`` does, in less time.

    Without a GPU only the processor's generator counts; ``torch.manual_seed`` also
    keeps a stack trace for each kind of device that is not there.

    Args:
        seed: As of ``torch.manual_seed``.
    """
    if torch.cuda.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def outcome(
    function: Callable[..., Sequence[Any]],
    given: Sequence[Any],
    *,
    gradients: bool = False,
    seed: int = 0,
) -> list[tuple[int, Any]]:
    """Run a function and return its leaves, each with a number of its place.

    Results are numbered from 0, then the arguments after the run; gradients of all
    that wants them come last, under one number.

    Args:
        function: Takes the arguments, returns a sequence.
        given: Fresh arguments.
        gradients: Whether to differentiate the results, each weighted by 1, 2, 3, ...
        seed: Of torch's generator.
    """
    seed_generators(seed)
    with torch.set_grad_enabled(gradients), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = list(function(*given))
        last = slopes(results, given) if gradients else []
    found: list[tuple[int, Any]] = []
    for place, value in enumerate([*results, *given]):
        if isinstance(value, torch.Tensor):
            found.append((place, value))
        else:
            found.extend((place, leaf) for leaf in leaves(value))
    end = len(results) + len(given)
    return [*found, *((end, slope) for slope in last)]


def slopes(results: Sequence[Any], given: Sequence[Any]) -> list[torch.Tensor]:
    """Return gradients of weighted results with respect to all that wants them.

    Each is copied into contiguous memory: how ``autograd.grad`` lays a gradient out,
    and which gradients share memory, is promised nowhere, and capture alone changes it.
    """
    wanted: list[torch.Tensor] = []
    for value in given:
        if isinstance(value, torch.nn.Module):
            wanted.extend(p for p in value.parameters() if p.requires_grad)
        elif isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf:
            wanted.append(value)
    sources = [
        value
        for value in results
        if isinstance(value, torch.Tensor)
        and value.requires_grad
        and value.grad_fn is not None
    ]
    if not sources or not wanted:
        return []
    weights = [
        (torch.arange(value.numel(), device=value.device) % 3 + 1)
        .reshape(value.shape)
        .to(value.dtype)
        for value in sources
    ]
    found = torch.autograd.grad(
        sources, wanted, weights, allow_unused=True, materialize_grads=True
    )
    return [slope.clone(memory_format=torch.contiguous_format) for slope in found]


def shared(found: Sequence[tuple[int, Any]]) -> frozenset[tuple[int, int]]:
    """Return which tensors of an outcome lie in one storage, as pairs of numbers."""
    by_storage: dict[int, list[int]] = {}
    for number, (_, leaf) in enumerate(found):
        if isinstance(leaf, torch.Tensor) and leaf.numel():
            by_storage.setdefault(leaf.untyped_storage().data_ptr(), []).append(number)
    return frozenset(
        (group[0], other) for group in by_storage.values() for other in group[1:]
    )
