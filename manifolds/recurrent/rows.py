"""Rows of a small matrix, chosen by integers, with a gradient that is one product."""

from typing import Any

import torch
from torch import Tensor

FEW = 64
"""Up to so many rows the choice is a product with a matrix of zeros and ones."""


def choose_rows(matrix: Tensor, index: Tensor) -> Tensor:
    """Return ``matrix[index]``.

    Law: the gradient is that of ``torch.nn.functional.embedding``. Where there are few
    rows, each chosen often, adding up to them one by one is slow: the gradient is a
    product of two matrices instead.

    Args:
        matrix: [rows, n].
        index: Integers below ``rows`` [...].

    Returns:
        [..., n].

    Example:
        >>> choose_rows(torch.tensor([[1.0], [2.0]]), torch.tensor([1, 1])).tolist()
        [[2.0], [2.0]]
    """
    if len(matrix) > FEW or torch.compiler.is_compiling():
        return torch.nn.functional.embedding(index, matrix)
    chosen: Tensor = _Rows.apply(matrix, index)  # type: ignore[no-untyped-call]
    return chosen


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.rows = len(matrix)
        return torch.nn.functional.embedding(index, matrix)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        flat = gradient.reshape(-1, gradient.shape[-1])
        numbers = torch.arange(ctx.rows, device=index.device)
        chosen = (index.reshape(1, -1) == numbers[:, None]).to(flat.dtype)
        return chosen @ flat, None
