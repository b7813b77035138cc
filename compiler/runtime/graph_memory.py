"""What a recording reads and writes, and who holds its memory.

Recordings that read one another's results share a pool of memory. What a recording
leaves free in it, its temporaries, a later one may be given; what is still held it may
not. So a replay writes over nothing but its own results and those of recordings made
later in its pool, and it is allowed while nobody holds any of these. Results of earlier
recordings are safe: their memory was held when this one was made.

But what a backward pass may write over, the forward recording lets go of when the
backward pass is recorded, which may then be given it once it has read it
(:mod:`compiler.runtime.graph_block`). From then on it is safe from recordings made
before alone.
"""

import weakref
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from compiler import torch_api

from .graph_block import Block
from .graph_results import Detached, Make, given

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
        count: Number of recordings that were made.
    """

    handle: Any = None
    leases: list["_Lease"] = field(default_factory=list)
    count: int = 0

    def closed(self) -> bool:
        """Return whether a new recording could be given memory that is in use."""
        return any(lease.lies_open(self.count) for lease in self.leases)


@dataclass(eq=False)
class _Lease:
    number: int
    recording: "weakref.ref[Recording]"
    gone: list[Callable[[], bool]]
    blocks: list[Block] = field(default_factory=list)

    def held(self) -> bool:
        """Return whether somebody else than the recording holds a result of it."""
        found = self.recording()
        if found is not None:
            return not found.free()
        return not all(gone() for gone in self.gone) or self.lies_open()

    def lies_open(self, number: int | None = None, but: Collection[int] = ()) -> bool:
        """Return whether somebody holds memory that the recording does not.

        Args:
            number: Only what a recording of that number can have been given.
            but: Addresses that do not count.
        """
        return any(
            not block.gone()
            for block in self.blocks
            if (number is None or block.since <= number) and block.address not in but
        )


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
        taken: Addresses of inputs that were let go of for it.
        retired: Whether it is not to be replayed any more.
        lineage: Its function and those whose memory it depends on through sources.
    """

    replay: Callable[[], None]
    fixed: dict[int, int]
    copied: dict[int, torch.Tensor]
    makers: list[Make]
    site: Site
    pool: Pool
    sources: dict[int, "weakref.ref[Recording]"]
    storages: list[torch.UntypedStorage]
    taken: frozenset[int] = frozenset()
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
        _sweep()
        gone = [torch_api.gone(storage) for storage in self.storages]
        self._lease = _Lease(self.pool.count, weakref.ref(self), gone)
        self.pool.count += 1
        leases = self.pool.leases
        leases[:] = [lease for lease in leases if lease.recording() or lease.held()]
        leases.append(self._lease)
        # the recorder's memory lasts as long as what replays it
        weakref.finalize(self, _outlive, self._lease, self.replay).atexit = False

    def settle(self) -> None:
        """Take who holds the results now for its own holders."""
        self._users = torch_api.users_of(self._handles)

    def fits(self, args: Sequence[Any]) -> bool:
        """Return whether the inputs that it reads in place lie where it reads them."""
        return all(args[i].data_ptr() == at for i, at in self.fixed.items())

    def free(self) -> bool:
        """Return whether nobody else holds a result."""
        held = self._users != torch_api.users_of(self._handles)
        return not held and not self._mine.lies_open()

    def alive(self) -> bool:
        """Return whether it may be replayed again."""
        return not self.retired and all(ref() for ref in self.sources.values())

    def endangered(self) -> list["Recording | None"]:
        """Return recordings of the pool whose results it would destroy, and are held.

        Later ones, and those that let go of memory. None stands for one that is gone.
        """
        number = self._mine.number
        return [
            lease.recording()
            for lease in self.pool.leases
            if (lease.number > number and lease.held())
            or (lease.number < number and lease.lies_open(number, self.taken))
        ]

    def let_go(self, tensor: torch.Tensor) -> Block | None:
        """Hold the memory of a result no more, which the caller alone holds besides.

        From now on a later recording of the pool may be given it, once the caller
        holds it no more.

        Args:
            tensor: A result of the last replay.

        Returns:
            The memory; None where it lies with what others may hold.
        """
        handle = tensor.untyped_storage()._cdata
        if handle not in self._handles:
            return None
        at = self._handles.index(handle)
        makers: list[Any] = self.makers
        numbers = [
            number
            for number, make in enumerate(makers)
            if isinstance(make, Detached) and make.handle == handle
        ]
        alone = torch_api.users_of([handle]) == [self._users[at] + 1]
        if not alone or not tensor.untyped_storage().nbytes():
            return None
        block = Block.of(tensor.untyped_storage(), self.pool.count)
        for number in numbers:
            makers[number] = block.views(makers[number].result)
        del self.storages[at], self._handles[at], self._users[at], _OWNERS[handle]
        self._mine.blocks.append(block)
        return block

    def open(self, block: Block) -> None:
        """Make memory that it let go of known as its own, for results of a replay."""
        if _OWNERS.get(block.handle) is self:
            del _OWNERS[block.handle]
        _OWNERS[block.open()] = self

    def holds(self, storage: torch.UntypedStorage) -> bool:
        """Return whether it is memory that the recording writes."""
        place = storage.data_ptr()
        return storage._cdata in self._handles or any(
            block.address == place for block in self._mine.blocks
        )

    @property
    def _mine(self) -> _Lease:
        assert self._lease is not None
        return self._lease

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
        blocks = self._mine.blocks
        try:
            for block in blocks:
                self.open(block)
            results = tuple(make(args) for make in self.makers)
        finally:
            for block in blocks:
                block.close()
        args.clear()
        return results


class Gift:
    """An input that a new recording may write over, let go of where it lies."""

    def __init__(
        self, source: Recording, number: int, args: list[Any], inputs: list[Any]
    ) -> None:
        """Take an input out of both lists, if its recording can let go of it."""
        self.number = number
        self._source = source
        self._view = given(number)
        self.block = source.let_go(args[number])
        if self.block is not None:
            self._view = self.block.views(args[number])
            args[number] = inputs[number] = None

    def back(self, args: list[Any], inputs: list[Any]) -> bool:
        """Put it into the lists again; return whether it died in between."""
        if self.block is None:
            return False
        died = self.block.gone()
        try:
            self._source.open(self.block)
            args[self.number] = inputs[self.number] = self._view([])
        finally:
            self.block.close()
        return died


_OUTLIVED: Final[list[tuple[_Lease, Callable[[], None]]]] = []


def _sweep() -> None:
    for pair in list(_OUTLIVED):  # others may add some meanwhile
        if not pair[0].lies_open():
            _OUTLIVED.remove(pair)


def _outlive(lease: _Lease, replay: Callable[[], None]) -> None:
    """Keep a recorder's memory while somebody holds some that no storage owns."""
    _sweep()
    if lease.lies_open():
        _OUTLIVED.append((lease, replay))


def owner(tensor: torch.Tensor) -> Recording | None:
    """Return the recording in whose memory a tensor lies."""
    storage = tensor.untyped_storage()
    found = _OWNERS.get(storage._cdata)
    return found if found is not None and found.holds(storage) else None


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
