"""CUDA graphs: record what a compiled function launches, replay it in one launch.

The first call of a shape runs as usual, so that kernels are compiled and libraries
initialised; the second records. An input that had the same address in both is taken to
stay there (a parameter); the others are copied into memory of the recording first.

Results lie in the recording's own memory, which a replay overwrites. A recording is
therefore replayed only while nobody holds a tensor on the storage of its last results,
views included; if somebody does, another recording is used, and when there are
:data:`MOST` of them the call runs without a graph. So a result never changes under its
holder, and no result is copied.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from compiler import torch_api

MOST: Final = 3
"""Recordings of one shape."""

_MOVES: Final = 4
"""How often an input taken to be static may turn out to move."""

Run = Callable[[list[Any]], tuple[Any, ...]]
Record = Callable[[Callable[[], tuple[Any, ...]]], tuple[Any, Callable[[], None]]]


def record_cuda(work: Callable[[], tuple[Any, ...]]) -> tuple[Any, Callable[[], None]]:
    """Record work on the current device; return its results and the replay.

    Recording runs nothing: the results are valid after the first replay.
    """
    graph: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = work()
    return results, graph.replay


@dataclass
class _Recording:
    """What one graph reads and writes.

    Attributes:
        replay: Run it.
        fixed: Input's number -> the address that was recorded.
        copied: Input's number -> the recording's own memory for it.
        results: Tensors in the recording's memory, and what else was returned.
        users: Holders of each result's storage while nobody else has it.
    """

    replay: Callable[[], None]
    fixed: dict[int, int]
    copied: dict[int, torch.Tensor]
    results: tuple[Any, ...]
    users: list[int] = field(default_factory=list)

    def fits(self, args: Sequence[Any]) -> bool:
        return all(args[i].data_ptr() == at for i, at in self.fixed.items())

    def free(self) -> bool:
        return self.users == self._users()

    def _users(self) -> list[int]:
        return [
            torch_api.storage_users(result)
            for result in self.results
            if isinstance(result, torch.Tensor)
        ]


@dataclass
class _Shape:
    """What is known of calls with inputs of one shape."""

    addresses: list[int | None]
    moving: set[int] = field(default_factory=set)
    recordings: list[_Recording] = field(default_factory=list)
    moves: int = 0


class GraphedCall:
    """A function of one list of arguments that replays recordings of itself.

    Attributes:
        reason: Why it stopped recording, "" while it does.
    """

    def __init__(
        self,
        run: Run,
        *,
        written: Sequence[int] = (),
        record: Record = record_cuda,
    ) -> None:
        """Wrap a function.

        Args:
            run: Takes a list of arguments, which it may clear; launches the same work
                for arguments of equal shapes, on the current stream of one device.
            written: Numbers of the arguments that it writes into.
            record: Records work; :func:`record_cuda` but in tests.
        """
        self.run = run
        self.written = frozenset(written)
        self.reason = ""
        self._record = record
        self._shapes: dict[Hashable, _Shape] = {}

    def __call__(self, args: list[Any]) -> tuple[Any, ...]:
        """Run, record or replay."""
        if self.reason:
            return self.run(args)
        key = tuple(
            (arg.shape, arg.stride(), arg.dtype)
            if isinstance(arg, torch.Tensor)
            else arg
            for arg in args
        )
        shape = self._shapes.get(key)
        if shape is None:
            self._shapes[key] = _Shape(_addresses(args))
            return self.run(args)
        recording = self._usable(shape, args)
        if recording is None:
            return self.run(args)
        return _replayed(recording, args, self.written)

    def _usable(self, shape: _Shape, args: list[Any]) -> _Recording | None:
        fitting = [r for r in shape.recordings if r.fits(args)]
        if shape.recordings and not fitting:
            shape.moves += 1
            now = _addresses(args)
            shape.moving |= {
                i for r in shape.recordings for i, at in r.fixed.items() if now[i] != at
            }
            # recordings whose results are held still own memory; those are dropped too
            shape.recordings.clear()
            if shape.moves > _MOVES:
                self.reason = "inputs keep moving"
                return None
        for recording in fitting:
            if recording.free():
                return recording
        if len(fitting) >= MOST:
            return None
        try:
            recording = self._recorded(shape, args)
        except Exception as error:
            self.reason = f"recording failed: {type(error).__name__}: {error}"
            return None
        shape.recordings.append(recording)
        return recording

    def _recorded(self, shape: _Shape, args: list[Any]) -> _Recording:
        fixed: dict[int, int] = {}
        copied: dict[int, torch.Tensor] = {}
        inputs: list[Any] = []
        for number, (arg, before) in enumerate(zip(args, shape.addresses, strict=True)):
            if not isinstance(arg, torch.Tensor):
                inputs.append(arg)
                continue
            if arg.data_ptr() == before and number not in shape.moving:
                fixed[number] = arg.data_ptr()
                inputs.append(arg)
                continue
            copied[number] = _like(arg)
            inputs.append(copied[number])
        results, replay = self._record(lambda: self.run(list(inputs)))
        own = {t.untyped_storage().data_ptr() for t in copied.values()}
        tensors = [result for result in results if isinstance(result, torch.Tensor)]
        if any(result.untyped_storage().data_ptr() in own for result in tensors):
            raise ValueError("a result shares the memory of an input")
        recording = _Recording(replay, fixed, copied, tuple(results))
        recording.users = recording._users()
        return recording


def _addresses(args: Sequence[Any]) -> list[int | None]:
    return [arg.data_ptr() if isinstance(arg, torch.Tensor) else None for arg in args]


def _like(tensor: torch.Tensor) -> torch.Tensor:
    """Return memory of a tensor's shape and strides, aligned as the tensor is."""
    if any(
        stride == 0 and size > 1
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    ):
        raise ValueError("an input that moves overlaps itself")
    offset = tensor.data_ptr() % 256 // tensor.element_size()
    reach = sum(
        (size - 1) * stride
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    count = offset + reach + 1 if tensor.numel() else 0
    memory = torch.empty(count, dtype=tensor.dtype, device=tensor.device)
    return memory.as_strided(tensor.shape, tensor.stride(), offset if count else 0)


def _replayed(
    recording: _Recording, args: list[Any], written: frozenset[int]
) -> tuple[Any, ...]:
    for number, memory in recording.copied.items():
        memory.copy_(args[number])
    recording.replay()
    for number in written & recording.copied.keys():
        args[number].copy_(recording.copied[number])
    args.clear()
    return tuple(
        result.detach() if isinstance(result, torch.Tensor) else result
        for result in recording.results
    )
