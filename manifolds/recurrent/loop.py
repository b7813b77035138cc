"""The recurrence as a loop of torch's operations: any device, dtype and size."""

import torch
from torch import Tensor

from .modrelu import modrelu_adjoint


def forward_loop(
    inputs: Tensor, start: Tensor, weight: Tensor, bias: Tensor, sizes: tuple[int, ...]
) -> Tensor:
    """Return h of all steps.

    Args:
        inputs: x of all steps, packed [rows, n].
        start: h before the first step [sizes[0], n].
        weight: B [n, n].
        bias: b, real [n].
        sizes: Rows of each step, not increasing.

    Returns:
        h, packed [rows, n].

    Example:
        >>> one = torch.ones(1, 1)
        >>> forward_loop(torch.ones(2, 1), one, one, torch.zeros(1), (1, 1)).flatten()
        tensor([2., 3.])
    """
    states = torch.empty_like(inputs, memory_format=torch.contiguous_format)
    h = start
    for x, out in zip(inputs.split(sizes), states.split(sizes), strict=True):
        z = torch.addmm(x, h[: len(x)], weight)
        size = z.abs().add_(bias).relu_()
        h = torch.mul(z.sgn_(), size, out=out)
    return states


def backward_loop(
    gradient: Tensor,
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    sizes: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """Return the gradients before the nonlinearity, and that of the bias.

    Args:
        gradient: With respect to h of all steps, packed [rows, n].
        states: h, packed [rows, n].
        weight: B [n, n].
        bias: b, real [n].
        sizes: Rows of each step.

    Returns:
        With respect to ``x_t + h_{t-1} B``, packed [rows, n]; and to b [n].
    """
    before = torch.empty_like(states)
    back = weight.mH
    carried = states.new_zeros(sizes[0] if sizes else 0, states.shape[-1])
    steps = zip(
        gradient.split(sizes), states.split(sizes), before.split(sizes), strict=True
    )
    for g, h, out in reversed(list(steps)):
        rows = len(h)
        out.copy_(modrelu_adjoint(h, bias, g + carried[:rows]))
        torch.mm(out, back, out=carried[:rows])
    return before, (states.sgn().conj() * before).real.sum(0)
