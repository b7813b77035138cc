"""Permutations of four-bit elements, two to a byte, the first in the low half."""

import torch

from compiler.errors import SizeMismatchError

from .execute import Backend, check_out, permute_data
from .index_map import IndexMap

NIBBLE_BITS = 4
_BYTE_TYPES = (torch.uint8, torch.int8)


def permute_nibbles(
    tensor: torch.Tensor, map: IndexMap, out: torch.Tensor | None, backend: Backend
) -> torch.Tensor:
    """Move each half byte of a tensor to the place that the map gives its index.

    Law: ``unpack(permute_nibbles(x, f, ...))[f(i)] == unpack(x)[i]``. Where both halves
    of each byte move together, bytes are permuted; else the halves are unpacked,
    permuted as bytes and packed again.

    Raises:
        SizeMismatchError: The elements are no bytes, or too few for the map.
        OutputError: ``out`` does not fit, or overlaps the input.

    Example:
        >>> packed = torch.tensor([0x10, 0x32], dtype=torch.uint8)
        >>> permute_nibbles(packed, IndexMap((2, 1)), None, "auto").tolist()
        [32, 49]
    """
    halves = 2 * tensor.numel()
    if tensor.dtype not in _BYTE_TYPES or halves % (1 << map.bits):
        raise SizeMismatchError(
            f"elements of {NIBBLE_BITS} bits come two to a byte of uint8 or int8, a "
            f"multiple of 2**{map.bits} of them; got dtype={tensor.dtype}, "
            f"numel={tensor.numel()} bytes; pack them first",
            numel=halves,
            bits=map.bits,
        )
    if out is not None:
        check_out(out, tensor)
    if not map.bits:
        map = map.refine()
    pairs = map.coarsen()
    if pairs is not None:
        return permute_data(tensor, pairs, out, backend)
    moved = permute_data(unpack(tensor), map, None, backend)
    packed = pack(moved).view(tensor.dtype).view(tensor.shape)
    return packed if out is None else out.copy_(packed)


def unpack(tensor: torch.Tensor) -> torch.Tensor:
    """Return each half byte as a byte, low half first [2 * numel]."""
    whole = tensor.contiguous().view(torch.uint8).view(-1)
    return torch.stack([whole & 0xF, whole >> NIBBLE_BITS], dim=-1).view(-1)


def pack(halves: torch.Tensor) -> torch.Tensor:
    """Return pairs of half bytes as bytes: the inverse of ``unpack``."""
    low, high = halves.view(-1, 2).unbind(-1)
    return low | high << NIBBLE_BITS
