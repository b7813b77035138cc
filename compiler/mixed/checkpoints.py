"""Int4 weights as checkpoints store them: AWQ and GPTQ.

Both pack eight output or input features into an int32 word; the order in it is a layout
(``compiler.permutations.awq_order``), so unpacking is a permutation of half bytes.
"""

from typing import NamedTuple

import torch

from algebra.errors import DimMismatchError, OutOfRangeError
from compiler.errors import NotATensorError
from compiler.permutations import awq_order
from compiler.permuting.api import permute
from compiler.permuting.nibbles import unpack

PER_WORD = 8


class Int4Weight(NamedTuple):
    """Arguments of ``preshuffle``: codes [n, k], scales and zeros [n, k / group]."""

    codes: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor


def from_awq(
    qweight: torch.Tensor, qzeros: torch.Tensor, scales: torch.Tensor
) -> Int4Weight:
    """Return a weight that is stored in AWQ's order.

    Args:
        qweight: int32 [k, n / 8], eight output features a word in the order
            0 2 4 6 1 3 5 7 from the lowest bits.
        qzeros: int32 [k / group, n / 8], in the same order.
        scales: [k / group, n].

    Raises:
        NotATensorError: ``qweight`` or ``qzeros`` is no matrix of int32.
        DimMismatchError: The shapes do not fit each other.

    Example:
        >>> words = torch.tensor([[0x75316420]], dtype=torch.int32)
        >>> from_awq(words, words, torch.ones(1, 8)).codes.T.tolist()
        [[0, 1, 2, 3, 4, 5, 6, 7]]
    """
    codes, zeros = _awq(qweight, "qweight"), _awq(qzeros, "qzeros")
    _check(codes, zeros, scales)
    return Int4Weight(*(t.T.contiguous() for t in (codes, scales, zeros)))


def from_gptq(
    qweight: torch.Tensor,
    qzeros: torch.Tensor,
    scales: torch.Tensor,
    g_idx: torch.Tensor | None = None,
) -> Int4Weight:
    """Return a weight that is stored in GPTQ's order.

    Args:
        qweight: int32 [k / 8, n], eight input features a word, lowest bits first.
        qzeros: int32 [k / group, n / 8], eight output features a word; one less than
            the zero point is stored.
        scales: [k / group, n].
        g_idx: Group of each input feature, if the checkpoint has it [k].

    Raises:
        NotATensorError: ``qweight`` or ``qzeros`` is no matrix of int32.
        DimMismatchError: The shapes do not fit each other.
        OutOfRangeError: Input features are not in the order of their groups, or a zero
            point is 16.

    Example:
        >>> words = torch.tensor([[0x76543210]], dtype=torch.int32)
        >>> zeros = torch.full((1, 1), 0x77777777, dtype=torch.int32)
        >>> found = from_gptq(words.expand(1, 8), zeros, torch.ones(1, 8))
        >>> found.codes[0].tolist(), found.zeros[0].tolist()
        ([0, 1, 2, 3, 4, 5, 6, 7], [8])
    """
    rows, n = _words(qweight, "qweight").shape
    halves = unpack(qweight.contiguous().view(torch.uint8)).view(rows, n, PER_WORD)
    codes = halves.permute(1, 0, 2).reshape(n, rows * PER_WORD)
    words = _words(qzeros, "qzeros")
    zeros = unpack(words.contiguous().view(torch.uint8)).view(words.shape[0], -1) + 1
    _check(codes.T, zeros, scales)
    if int(zeros.max()) > 15:
        raise OutOfRangeError(
            "zero points must be 1 to 15, got a stored 15, which means 16; requantise "
            "with symmetric weights or AWQ's order"
        )
    if g_idx is not None:
        k = codes.shape[1]
        due = torch.arange(k, device=g_idx.device) // (k // scales.shape[0])
        if not torch.equal(g_idx.to(due.dtype), due):
            raise OutOfRangeError(
                "input features must be in the order of their groups, got g_idx of an "
                "act-order checkpoint; permute the input features and the activations"
            )
    return Int4Weight(codes, scales.T.contiguous(), zeros.T.contiguous())


def _words(tensor: torch.Tensor, name: str) -> torch.Tensor:
    if (
        not isinstance(tensor, torch.Tensor)
        or tensor.dtype != torch.int32
        or tensor.dim() != 2
    ):
        got = getattr(tensor, "dtype", type(tensor).__name__)
        raise NotATensorError(
            f"{name} must be a matrix of int32, got dtype={got}, "
            f"shape={tuple(getattr(tensor, 'shape', ()))}"
        )
    return tensor


def _awq(words: torch.Tensor, name: str) -> torch.Tensor:
    rows = _words(words, name).shape[0]
    data = words.contiguous().view(torch.uint8)
    plain = permute(data, awq_order().invert(), element_bits=4)
    return unpack(plain).view(rows, -1)


def _check(codes: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor) -> None:
    """Raise unless codes are [k, n] and the others [k / group, n]."""
    k, n = codes.shape
    shape = tuple(getattr(scales, "shape", ()))
    groups = shape[0] if shape else 0
    if shape != (groups, n) or tuple(zeros.shape) != shape or not groups or k % groups:
        raise DimMismatchError(
            f"scales must have the shape (k / group, n) with k={k}, n={n}, and qzeros "
            f"as many, got scales={shape}, zeros={tuple(zeros.shape)}"
        )
