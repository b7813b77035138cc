"""What a recording reads and writes, and who holds its memory.

Recordings that read one another's results share a pool of memory. What a recording
leaves free in it, its temporaries, a later one may be given; what is still held it may
not. So a replay writes over nothing but its own results and those of recordings made
later in its pool, and it is allowed while nobody holds any of these. Results of earlier
recordings are safe: their memory was held when this one was made.
"""

import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from compiler import torch_api

Make = Callable[[Sequence[Any]], Any]
"""Arguments of a call -> one of its results."""

_OWNERS: Final["weakref.WeakValueDictionary[int, Recording]"] = (
    weakref.WeakValueDictionary()
)
"""Storage of a live recording's result -> the recording."""


@dataclass(eq=False)
class Site:
    """A function that is recorded, as its recordings know it.

    Attributes:
        apart: Whether its recordings get pools of their own: somebody held its results
            when an earlier recording in their pool was to be replayed.
    """

    apart: bool = False


@dataclass(eq=False)
class Pool:
    """Memory that recordings share.

    Attributes:
        handle: What the recorder knows it by, None before its first recording.
        leases: One a recording, in the order in which they were made.
    """

    handle: Any = None
    leases: list["_Lease"] = field(default_factory=list)


@dataclass(eq=False)
class _Lease:
    recording: "weakref.ref[Recording]"
    gone: list[Callable[[], bool]]

    def held(self) -> bool:
        """Return whether somebody else than the recording holds a result of it."""
        found = self.recording()
        if found is not None:
            return not found.free()
        return not all(gone() for gone in self.gone)


@dataclass(eq=False)
class Recording:
    """What one graph reads and writes.

    Attributes:
        replay: Run it.
        fixed: Input's number -> the address that was recorded.
        copied: Input's number -> the recording's own memory for it.
        makers: What makes each result after a replay.
        site: The function.
        pool: Where its temporaries and results lie.
        sources: Input's number -> the recording in whose memory it lies.
        storages: Memory of its own that results lie in.
        retired: Whether it is not to be replayed any more.
        lineage: Its function and those whose memory it depends on through sources.
    """

    replay: Callable[[], None]
    fixed: dict[int, int]
    copied: dict[int, torch.Tensor]
    makers: tuple[Make, ...]
    site: Site
    pool: Pool
    sources: dict[int, "weakref.ref[Recording]"]
    storages: list[torch.UntypedStorage]
    retired: bool = False
    lineage: frozenset[Site] = frozenset()
    _handles: list[int] = field(default_factory=list)
    _users: list[int] = field(default_factory=list)
    _lease: _Lease | None = None

    def __post_init__(self) -> None:
        """Enter its memory into the pool and among the memory that is known."""
        self.lineage = frozenset({self.site}).union(
            *(found.lineage for ref in self.sources.values() if (found := ref()))
        )
        self._handles = [storage._cdata for storage in self.storages]
        for handle in self._handles:
            _OWNERS[handle] = self
        gone = [torch_api.gone(storage) for storage in self.storages]
        self._lease = _Lease(weakref.ref(self), gone)
        leases = self.pool.leases
        leases[:] = [lease for lease in leases if lease.recording() or lease.held()]
        leases.append(self._lease)

    def settle(self) -> None:
        """Take who holds the results now for its own holders."""
        self._users = torch_api.users_of(self._handles)

    def fits(self, args: Sequence[Any]) -> bool:
        """Return whether the inputs that it reads in place lie where it reads them."""
        return all(args[i].data_ptr() == at for i, at in self.fixed.items())

    def free(self) -> bool:
        """Return whether nobody else holds a result."""
        return self._users == torch_api.users_of(self._handles)

    def alive(self) -> bool:
        """Return whether it may be replayed again."""
        return not self.retired and all(ref() for ref in self.sources.values())

    def endangered(self) -> list["Recording | None"]:
        """Return later recordings of the pool whose results somebody holds.

        None stands for one that is gone.
        """
        leases = self.pool.leases
        assert self._lease is not None
        later = leases[leases.index(self._lease) + 1 :]
        return [lease.recording() for lease in later if lease.held()]

    def run(self, args: list[Any], written: frozenset[int]) -> tuple[Any, ...]:
        """Replay for a call.

        Args:
            args: Arguments of the call; they are cleared.
            written: Numbers of the arguments that the function writes into.
        """
        for number, memory in self.copied.items():
            apart(memory).copy_(apart(args[number]))
        self.replay()
        for number in written & self.copied.keys():
            apart(args[number]).copy_(apart(self.copied[number]))
        results = tuple(make(args) for make in self.makers)
        args.clear()
        return results


def owner(tensor: torch.Tensor) -> Recording | None:
    """Return the recording in whose memory a tensor lies."""
    return _OWNERS.get(tensor.untyped_storage()._cdata)


def makers_of(
    results: Sequence[Any], inputs: Sequence[Any], fixed: dict[int, int], shown: int
) -> tuple[tuple[Make, ...], list[torch.UntypedStorage]]:
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
            makers.append(_given(same[0]) if same else _view(place, result))
        else:
            copies = small and number < shown and _dense(result) and alone(result)
            makers.append(_copy(result) if copies else _detached(result))
    return tuple(makers), list(own.values())


def like(tensor: torch.Tensor, *, written: bool) -> torch.Tensor:
    """Return memory of a tensor's shape and strides, aligned as the tensor is.

    Args:
        tensor: Any.
        written: Whether the memory is copied back.

    Raises:
        ValueError: It is copied back, and elements of it share memory.
    """
    if written and apart(tensor) is not tensor:
        raise ValueError("an input that moves and is written overlaps itself")
    offset = tensor.data_ptr() % 256 // tensor.element_size()
    count = offset + _reach(tensor) + 1 if tensor.numel() else 0
    memory = torch.empty(count, dtype=tensor.dtype, device=tensor.device)
    return memory.as_strided(tensor.shape, tensor.stride(), offset if count else 0)


def apart(tensor: torch.Tensor) -> torch.Tensor:
    """Return a view of a tensor's memory whose elements share none.

    Example:
        >>> apart(torch.zeros(3, 1).expand(3, 4)).shape
        torch.Size([3, 1])
        >>> apart(torch.zeros(6).unfold(0, 4, 1)).shape
        torch.Size([6])
    """
    pairs = list(zip(tensor.shape, tensor.stride(), strict=True))
    if tensor.numel() < 2 or tensor.is_contiguous():
        return tensor
    sizes = [1 if stride == 0 else size for size, stride in pairs]
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), sizes, strict=True)):
        if size > 1 and stride <= reach:
            return tensor.as_strided((_reach(tensor) + 1,), (1,))
        reach += (size - 1) * stride
    if sizes == list(tensor.shape):
        return tensor
    return tensor.as_strided(sizes, tensor.stride())


def key_of(args: Sequence[Any]) -> Hashable:
    """Return what calls that one recording can serve have in common."""
    return tuple(
        (arg.shape, arg.stride(), arg.dtype) if isinstance(arg, torch.Tensor) else arg
        for arg in args
    )


def addresses(args: Sequence[Any]) -> list[int | None]:
    """Return where each argument lies, None for what is no tensor."""
    return [arg.data_ptr() if isinstance(arg, torch.Tensor) else None for arg in args]


def _reach(tensor: torch.Tensor) -> int:
    return sum(
        (size - 1) * stride
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )


def _home(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _small(shown: Sequence[Any], own: dict[int, torch.UntypedStorage]) -> bool:
    size = sum(r.nbytes for r in shown if isinstance(r, torch.Tensor))
    return 32 * size <= sum(storage.nbytes() for storage in own.values())


def _dense(tensor: torch.Tensor) -> bool:
    return torch.empty_like(tensor, device="meta").stride() == tensor.stride()


def _constant(value: Any) -> Make:
    return lambda args: value


def _given(number: int) -> Make:
    return lambda args: args[number]


def _detached(result: torch.Tensor) -> Make:
    return lambda args: result.detach()


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
