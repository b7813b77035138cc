"""What makes the results of a replay: views of memory that is known."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

Make = Callable[[Sequence[Any]], Any]
"""Arguments of a call -> one of its results."""


def makers_of(
    results: Sequence[Any], inputs: Sequence[Any], fixed: dict[int, int], shown: int
) -> tuple[list[Make], list[torch.UntypedStorage]]:
    """Return what makes the results of a replay, and memory of the recording's own.

    A result in the memory of an input that is read in place is found there again, so
    that a recording holds no memory of others.

    Args:
        results: What the recorded function returned.
        inputs: What it was given.
        fixed: Input's number -> address, of those read in place.
        shown: So many results, the first ones, are copied where that costs little
            beside the others, which may then be written again while these are held.
    """
    homes = {_home(inputs[number]): number for number in fixed if _home(inputs[number])}
    tensors = [result for result in results if isinstance(result, torch.Tensor)]
    own = {_home(t): t.untyped_storage() for t in tensors if _home(t) not in homes}
    small = _small(results[:shown], own)
    makers: list[Make] = []

    def alone(result: torch.Tensor) -> bool:
        return [_home(other) for other in tensors].count(_home(result)) == 1

    for number, result in enumerate(results):
        if not isinstance(result, torch.Tensor):
            makers.append(_constant(result))
        elif (place := homes.get(_home(result))) is not None:
            same = [n for n in fixed if inputs[n] is result]
            makers.append(given(same[0]) if same else _view(place, result))
        else:
            copies = small and number < shown and _dense(result) and alone(result)
            makers.append(_copy(result) if copies else Detached(result))
    return makers, list(own.values())


def _home(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _small(shown: Sequence[Any], own: dict[int, torch.UntypedStorage]) -> bool:
    size = sum(r.nbytes for r in shown if isinstance(r, torch.Tensor))
    return 32 * size <= sum(storage.nbytes() for storage in own.values())


def _dense(tensor: torch.Tensor) -> bool:
    return torch.empty_like(tensor, device="meta").stride() == tensor.stride()


def _constant(value: Any) -> Make:
    return lambda args: value


def given(number: int) -> Make:
    """Return what finds a result among the arguments."""
    return lambda args: args[number]


class Detached:
    """Makes a result that lies in memory of the recording's own.

    Attributes:
        result: The recorded one.
        handle: Its storage's ``_cdata``.
    """

    def __init__(self, result: torch.Tensor) -> None:
        self.result = result
        self.handle = result.untyped_storage()._cdata

    def __call__(self, args: Sequence[Any]) -> torch.Tensor:
        """Return a tensor on the same memory."""
        return self.result.detach()


def _copy(result: torch.Tensor) -> Make:
    return lambda args: result.clone()


def _view(number: int, result: torch.Tensor) -> Make:
    at, shape, strides = result.data_ptr(), result.shape, result.stride()
    kind, device = result.dtype, result.device

    def make(args: Sequence[Any]) -> torch.Tensor:
        storage = args[number].untyped_storage()
        view = torch.empty(0, dtype=kind, device=device)
        offset = (at - storage.data_ptr()) // view.element_size()
        return view.set_(storage, offset, shape, strides)

    return make
