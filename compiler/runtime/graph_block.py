"""Memory of a recording that it writes and does not hold.

A backward pass may write over what was kept for it. A forward recording that held it
for ever would keep the backward recording from it: the step would need the memory of
both passes side by side. So the forward recording lets go of it, and knows its address
alone; each replay makes a storage there, which owns nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compiler import torch_api


@dataclass(eq=False)
class Block:
    """Where results of a recording lie that it let go of.

    Attributes:
        address: Of its first byte.
        nbytes: Its size [bytes].
        device: Where it lies.
        since: Number in its pool of the first recording that it may be given to.
        handle: The last storage's ``_cdata``, 0 before the first one.
    """

    address: int
    nbytes: int
    device: torch.device
    since: int
    handle: int = 0
    _gone: Callable[[], bool] = lambda: True
    _storage: torch.UntypedStorage | None = None

    @classmethod
    def of(cls, storage: torch.UntypedStorage, since: int) -> "Block":
        """Return the memory of a storage, which is in use."""
        block = cls(storage.data_ptr(), storage.nbytes(), storage.device, since)
        block._gone = torch_api.gone(storage)
        return block

    def gone(self) -> bool:
        """Return whether nobody holds a storage on it."""
        return self._gone()

    def open(self) -> int:
        """Make a storage on it and hold it; return its ``_cdata``."""
        made = torch_api.storage_at(self.address, self.nbytes, self.device)
        before, now = self._gone, torch_api.gone(made)
        # of the storage that owned it, somebody may hold a tensor still
        self._gone = now if before() else lambda: before() and now()
        self._storage = made
        self.handle = made._cdata
        return self.handle

    def close(self) -> None:
        """Hold the storage no more."""
        self._storage = None

    def views(self, tensor: torch.Tensor) -> Callable[[Sequence[Any]], torch.Tensor]:
        """Return what makes a tensor like one that lies there, while it is open."""
        kind, offset = tensor.dtype, tensor.storage_offset()
        shape, strides = tensor.shape, tensor.stride()

        def make(args: Sequence[Any]) -> torch.Tensor:
            assert self._storage is not None, "it is open"
            view = torch.empty(0, dtype=kind, device=self.device)
            return view.set_(self._storage, offset, shape, strides)

        return make
