"""From tensors of any strides and batch dims to jets, and back."""

import torch
from torch import Tensor

from . import direct
from .graphs import exp_unread
from .jet import Tape, exp_of_jet, make_plan, prepare


def compute(tensors: list[Tensor]) -> tuple[Tensor, Tape | None]:
    """Return the derivative in all directions, and the tape of the exponential.

    Args:
        tensors: The matrix, then the directions [..., n, n each].

    Returns:
        The value [..., n, n]; the tape, or None where there is nothing to multiply and
        where one call of compiled code did all of it.
    """
    shape = tensors[0].shape
    if not tensors[0].numel():
        return torch.empty_like(tensors[0]), None
    if len(tensors) <= 2 and direct.serves(tensors[0]):
        return direct.exponentiate(*tensors), None
    matrix, *directions = (flatten(x) for x in tensors)
    jet = [matrix]
    for direction in directions:
        size = len(jet)
        jet += [direction, *(torch.zeros_like(matrix) for _ in range(size - 1))]
    with torch.autocast(matrix.device.type, enabled=False):
        if matrix.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return exp_unread(jet).view(shape), None
        prepare(matrix.dtype, matrix.device)
        plan = make_plan(matrix, max(len(directions), 1))
        components, tape = exp_of_jet(jet, plan)
    return spoil(components[-1].view(shape), plan.broken), tape


def flatten(matrix: Tensor) -> Tensor:
    """Return the matrices as one contiguous batch [batch, n, n]."""
    flat = matrix.detach().reshape(-1, *matrix.shape[-2:])
    return flat.resolve_conj().contiguous()


def spoil(value: Tensor, positions: tuple[int, ...]) -> Tensor:
    """Fill the matrices at these positions of the flat batch with NaN."""
    if positions:
        value.view(-1, *value.shape[-2:])[list(positions)] = torch.nan
    return value
