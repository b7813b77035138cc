"""Rows of a small matrix, chosen by integers, with a gradient that is one product."""

from typing import Any

import torch
from torch import Tensor

from manifolds.errors import ShapeError

FEW = 64
"""Up to so many rows the choice is a product with a matrix of zeros and ones."""


def choose_rows(matrix: Tensor, index: Tensor) -> Tensor:
    """Return ``matrix[index]``.

    Law: the gradient is that of ``torch.nn.functional.embedding``. Where there are few
    rows, each chosen often, adding up to them one by one is slow: the gradient is a
    product of two matrices instead.

    Args:
        matrix: [rows, n].
        index: Integers of any width, or booleans, from 0 to ``rows - 1`` [...].

    Returns:
        [..., n].

    Raises:
        ShapeError: An integer is out of range, where the CPU sees it.

    Example:
        >>> choose_rows(torch.tensor([[1.0], [2.0]]), torch.tensor([1, 1])).tolist()
        [[2.0], [2.0]]
    """
    if index.dtype not in (torch.int64, torch.int32):
        index = index.long()
    if torch.compiler.is_compiling():
        return torch.nn.functional.embedding(index, matrix)
    try:
        if len(matrix) > FEW:
            return torch.nn.functional.embedding(index, matrix)
        chosen: Tensor = _Rows.apply(matrix, index)  # type: ignore[no-untyped-call]
    except IndexError as error:
        raise ShapeError(
            f"integers from 0 to {len(matrix) - 1} are needed, but they are "
            f"{int(index.min())} to {int(index.max())}",
            rows=len(matrix),
        ) from error
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
