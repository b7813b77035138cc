"""CUDA graphs: record what a compiled function launches, replay it in one launch.

The first call of a shape runs as usual, so that kernels are compiled and libraries
initialised; the second records. An input that lies in the memory of another function's
recording, as what a forward pass keeps for its backward pass, is read where it lies:
the backward pass gets a recording for each of the forward pass. So is an input that had
the same address in both calls, which is taken to stay there (a parameter). The others
are copied into memory of the recording first.

Results lie in the recording's own memory, which a replay overwrites. A recording is
therefore replayed only while nobody holds a tensor on the storage of its last results,
views included, or on what else a replay would write
(:mod:`compiler.runtime.graph_memory`); if somebody does, another recording is used, and
when there are :data:`MOST` of them the call runs without a graph. So a result never
changes under its holder. No result is copied, but small ones of a forward pass that the
caller gets (a loss), so that holding them needs no second recording.
"""

import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import torch

from compiler import torch_api
from compiler.errors import FallbackWarning

from .graph_memory import (
    Gift,
    Pool,
    Recording,
    Site,
    addresses,
    key_of,
    like,
    owner,
)
from .graph_results import makers_of

MOST: Final = 3
"""Recordings of one shape that read the same memory; its square, of one shape."""

_MOVES: Final = 8
"""How often inputs taken to stay may turn out to move."""

_STRAYS: Final = 16
"""How many calls run without a graph because an input lies in no recording's memory
that did before; later ones copy it."""

Run = Callable[[list[Any]], tuple[Any, ...]]
Record = Callable[
    [Run, list[Any], Any], tuple[tuple[Any, ...], Callable[[], None], Any]
]
"""Takes a function, its arguments and a pool's handle, None for a new pool; returns the
results, the replay and the pool's handle."""


def record_cuda(
    run: Run, args: list[Any], pool: Any
) -> tuple[tuple[Any, ...], Callable[[], None], Any]:
    """Record a call on the current device.

    Recording runs nothing: the results are valid after the first replay. Products'
    workspaces are temporaries of the recording as others are. A pool's recordings are
    made on one stream, whose memory alone the allocator gives again.

    Raises:
        RuntimeError: What ran cannot be recorded; or an earlier recording did not end,
            after which the allocator's pools cannot be relied on.
    """
    if _UNENDED:
        raise RuntimeError(f"an earlier recording did not end: {_UNENDED[0]}")
    graph: Any = torch.cuda.CUDAGraph()
    before = torch.cuda.current_stream()
    stream = _recording_stream(torch.cuda.current_device())
    capture = torch.cuda.graph(
        graph, pool=pool, stream=stream, capture_error_mode="thread_local"
    )
    try:
        with torch_api.fresh_workspaces(), capture:
            results = run(args)
    except Exception as error:
        torch.cuda.set_stream(before)  # a capture that cannot end leaves its own
        try:
            graph.pool()
        except RuntimeError:
            _UNENDED.append(f"{type(error).__name__}: {error}")
        raise
    return results, graph.replay, graph.pool()


_UNENDED: Final[list[str]] = []


@cache
def _recording_stream(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


@dataclass
class _Shape:
    """What is known of calls with inputs of one shape.

    Attributes:
        addresses: Where the inputs of the first call lay.
        moving: Numbers of inputs that were taken to stay, and moved.
        bound: Numbers of inputs that have lain in a recording's memory.
        recordings: Those that may be replayed.
        moves: How often inputs moved.
        strays: How often inputs of ``bound`` lay elsewhere.
    """

    addresses: list[int | None]
    moving: set[int] = field(default_factory=set)
    bound: set[int] = field(default_factory=set)
    recordings: list[Recording] = field(default_factory=list)
    moves: int = 0
    strays: int = 0


class GraphedCall:
    """A function of one list of arguments that replays recordings of itself.

    Attributes:
        reason: Why it stopped recording, "" while it does; a warning says so once.
        replays: Number of calls that replayed a recording.
    """

    def __init__(
        self,
        run: Run,
        *,
        written: Sequence[int] = (),
        donated: Sequence[int] = (),
        shown: int = 0,
        fixed_sizes: bool = False,
        name: str = "graph",
        record: Record = record_cuda,
    ) -> None:
        """Wrap a function.

        Args:
            run: Takes a list of arguments, which it may clear; launches the same work
                for arguments of equal shapes, on the current stream of one device.
            written: Numbers of the arguments that it writes into.
            donated: Numbers of the arguments that nobody reads after a call and that
                lie alone in their storages.
            shown: Number of results, the first ones, that the caller gets where the
                others are kept for a backward pass.
            fixed_sizes: Whether all calls have arguments of the same shapes.
            name: For the warning.
            record: Records a call; :func:`record_cuda` but in tests.
        """
        self.run = run
        self.written = frozenset(written)
        self.donated = tuple(donated)
        self.shown = shown
        self.name = name
        self.reason = ""
        self.replays = 0
        self._fixed_sizes = fixed_sizes
        self._record = record
        self._site = Site()
        self._shapes: dict[Hashable, _Shape] = {}

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """Those that may be replayed, of all shapes."""
        return tuple(r for shape in self._shapes.values() for r in shape.recordings)

    def __call__(self, args: list[Any]) -> tuple[Any, ...]:
        """Run, record or replay."""
        if self.reason:
            return self.run(args)
        key = None if self._fixed_sizes else key_of(args)
        shape = self._shapes.get(key)
        if shape is None:
            self._shapes[key] = _Shape(addresses(args), bound=set(self._sources(args)))
            return self.run(args)
        recording = self._usable(shape, args)
        if recording is None:
            return self.run(args)
        self.replays += 1
        return recording.run(args, self.written)

    def _usable(self, shape: _Shape, args: list[Any]) -> Recording | None:
        """Return a recording to replay: one that copies nothing of others' memory."""
        spare = None
        fitting = 0
        blocked = False
        for recording in shape.recordings:
            if recording.retired or not recording.fits(args):
                continue
            copies = any(self._source(args[number]) for number in recording.copied)
            fitting += not copies
            if not recording.free():
                continue
            endangered = recording.endangered()
            for other in endangered:
                if other is not None:
                    other.site.apart = other.retired = blocked = True
            if endangered:
                continue
            if not copies:
                return recording
            spare = spare or recording
        if blocked:  # what is in the way goes to a pool of its own, for the next call
            return spare
        return self._another(shape, args, fitting) or spare

    def _another(
        self, shape: _Shape, args: list[Any], fitting: int
    ) -> Recording | None:
        """Record a call, unless there are enough recordings or it is not typical."""
        shape.recordings = [r for r in shape.recordings if r.alive()]
        sources = self._sources(args)
        shape.bound |= sources.keys()
        if not fitting and not self._unmoved(shape, addresses(args)):
            return None
        if shape.bound - sources.keys():
            shape.strays += 1
            if shape.strays <= _STRAYS:
                return None
        if fitting >= MOST or len(shape.recordings) >= MOST**2:
            return None
        try:
            recording = self._recorded(shape, args, sources)
        except Exception as error:
            self._give_up(f"recording failed: {type(error).__name__}: {error}")
            return None
        shape.recordings.append(recording)
        return recording

    def _unmoved(self, shape: _Shape, now: list[int | None]) -> bool:
        """Drop recordings whose inputs moved; return whether it is worth going on."""
        kept = []
        moved: set[int] = set()
        for recording in shape.recordings:
            loose = {
                number
                for number, at in recording.fixed.items()
                if number not in recording.sources and now[number] != at
            }
            moved |= loose
            if not loose:
                kept.append(recording)
        if moved:
            shape.moving |= moved
            # recordings whose results are held still own memory; those are dropped too
            shape.recordings = kept
            shape.moves += 1
            if shape.moves > _MOVES:
                self._give_up("inputs keep moving")
                return False
        return True

    def _recorded(
        self, shape: _Shape, args: list[Any], sources: dict[int, Recording]
    ) -> Recording:
        fixed: dict[int, int] = {}
        copied: dict[int, torch.Tensor] = {}
        inputs: list[Any] = list(args)
        for number, (arg, before) in enumerate(zip(args, shape.addresses, strict=True)):
            if not isinstance(arg, torch.Tensor):
                continue
            stays = arg.data_ptr() == before and number not in shape.moving
            if number in sources or stays:
                fixed[number] = arg.data_ptr()
            else:
                copied[number] = like(arg, written=number in self.written)
                inputs[number] = copied[number]
        pools = Counter(source.pool for source in sources.values())
        shared = pools and not self._site.apart
        pool = pools.most_common(1)[0][0] if shared else Pool()
        if pool.closed():
            pool = Pool()
        call, arg = list(inputs), None  # nothing else is to hold what is given away
        given = [
            Gift(source, number, args, inputs)
            for number, source in sources.items()
            if number in self.donated and source.pool is pool
            # other allocators may take back memory that is known by its address alone
            if torch_api.keeps_pools(args[number].device)
        ]
        try:
            results, replay, pool.handle = self._record(self.run, call, pool.handle)
        finally:
            used_up = {gift.number for gift in given if gift.back(args, inputs)}
        # what lies where an input was that died is no view of it
        places = {n: at for n, at in fixed.items() if n not in used_up}
        makers, storages = makers_of(results, inputs, places, self.shown)
        recording = Recording(
            replay,
            fixed,
            copied,
            makers,
            self._site,
            pool,
            {number: weakref.ref(source) for number, source in sources.items()},
            storages,
            frozenset(gift.block.address for gift in given if gift.block),
        )
        del results, inputs
        recording.settle()
        return recording

    def _sources(self, args: Sequence[Any]) -> dict[int, Recording]:
        return {i: found for i, arg in enumerate(args) if (found := self._source(arg))}

    def _source(self, value: Any) -> Recording | None:
        """Return the recording in whose memory an input lies that can be read there.

        Not one that depends on this function itself: in a loop each recording would
        need another.
        """
        if not isinstance(value, torch.Tensor):
            return None
        found = owner(value)
        if found is None or found.retired or self._site in found.lineage:
            return None
        return found

    def _give_up(self, reason: str) -> None:
        self.reason = reason
        self._shapes.clear()
        warnings.warn(
            f"{self.name} runs without CUDA graphs, slower, because {reason}",
            FallbackWarning,
            stacklevel=2,
        )
