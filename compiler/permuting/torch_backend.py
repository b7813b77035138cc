"""Permutations on any device by PyTorch's own indexing: slow, and always there."""

import torch

from .granularity import coarsen_to
from .index_map import IndexMap

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def run_torch(source: torch.Tensor, target: torch.Tensor, map: IndexMap) -> None:
    """Write the permutation of ``source`` to ``target``.

    Args:
        source: Contiguous [batch * 2**bits].
        target: The same, on the same device, disjoint from ``source``.
        map: The permutation.
    """
    width = source.element_size()
    map, group_bytes = coarsen_to(map, width, max(width, 8))
    shape = (-1, 1 << map.bits, max(group_bytes // 8, 1))
    dtype = _INTEGERS[min(group_bytes, 8)]
    if source.storage_offset() * width % dtype.itemsize:
        source = source.clone()
    groups = _as_bytes(source).view(dtype).view(shape)
    result = groups[:, gather_index(map.invert(), source.device)]
    _as_bytes(target).copy_(result.reshape(-1).view(torch.uint8))


def gather_index(map: IndexMap, device: torch.device) -> torch.Tensor:
    """Return ``map(i)`` for each i, by doubling [2**bits, int64]."""
    index = torch.tensor([map.offset], dtype=torch.int64, device=device)
    for column in map.columns:
        index = torch.cat([index, index ^ column])
    return index


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(-1).view(torch.uint8)
