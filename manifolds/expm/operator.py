"""The same derivatives as one operator that compilers see, ``tilewright::frechet``.

A traced graph cannot read the norm that decides on the scaling, so the whole evaluation
is one node of it: ``frechet(matrix, directions)``. Its derivative is the same node with
one direction more, never a block of twice the size.
"""

from typing import Any

import torch
from torch import Tensor

from .evaluation import compute


@torch.library.custom_op("tilewright::frechet", mutates_args=())
def frechet_operator(matrix: Tensor, directions: list[Tensor]) -> Tensor:
    """Return the derivative of the matrix exponential in all directions.

    Args:
        matrix: float32, float64, complex64 or complex128 [..., n, n].
        directions: Of the same dtype and shape; none gives the exponential itself.

    Returns:
        A new tensor [..., n, n].

    Example:
        >>> frechet_operator(torch.zeros(1, 1), []).tolist()
        [[1.0]]
    """
    return compute([matrix, *directions])[0]


@frechet_operator.register_fake
def _like(matrix: Tensor, directions: list[Tensor]) -> Tensor:
    return torch.empty_like(matrix, memory_format=torch.contiguous_format)


def _save(ctx: Any, inputs: tuple[Tensor, list[Tensor]], output: Tensor) -> None:
    matrix, directions = inputs
    ctx.save_for_backward(matrix, *directions)


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor, list[Tensor]]:
    matrix, *directions = ctx.saved_tensors
    adjoints = [direction.mH for direction in directions]
    to_matrix = frechet_operator(matrix.mH, [gradient, *adjoints])
    to_directions = [
        frechet_operator(matrix.mH, [gradient, *adjoints[:i], *adjoints[i + 1 :]])
        for i in range(len(directions))
    ]
    return to_matrix, to_directions


frechet_operator.register_autograd(_differentiate, setup_context=_save)
