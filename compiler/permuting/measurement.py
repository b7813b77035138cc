"""Which of several kernels is fastest on this GPU, measured once."""

import statistics
from collections.abc import Callable, Sequence
from typing import Final

import torch

_ROUNDS: Final = 5


def fastest(actions: Sequence[Callable[[], object]]) -> int:
    """Return the number of the action whose median time on the GPU is least.

    Args:
        actions: Each queues the same work on the current stream; all may run again
            and again. The first runs of each, which compile, are not counted.
    """
    for action in actions:
        action()
    spans: list[list[tuple[torch.cuda.Event, torch.cuda.Event]]] = [[] for _ in actions]
    for _ in range(_ROUNDS):
        for action, kept in zip(actions, spans, strict=True):
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            begin.record()
            action()
            end.record()
            kept.append((begin, end))
    torch.cuda.synchronize()
    times = [
        statistics.median(begin.elapsed_time(end) for begin, end in kept)
        for kept in spans
    ]
    return times.index(min(times))
