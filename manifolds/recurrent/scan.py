"""The recurrence over time, with its own backward pass.

``h_t = modrelu(x_t + h_{t-1} B; b)``. Sequences of different lengths are packed: step t
holds the rows of those that still run, longest first, so that a step is a slice and the
rows of the next step are a prefix of it.

The only residual is h. The backward pass runs the recurrence ``g_{t-1} = z_t B^H`` of
the gradients ``z_t`` before the nonlinearity; the gradient of B is one product over all
steps after it, and that of the bias one sum.

Source: Lezcano-Casado, Martinez-Rubio, ICML 2019, section 4 (the cell).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .modrelu import modrelu_adjoint


def scan(
    inputs: Tensor,
    start: Tensor,
    weight: Tensor,
    bias: Tensor,
    batch_sizes: Sequence[int],
) -> Tensor:
    """Run the recurrence.

    Law: equals the loop over ``modrelu(x_t + h @ weight, bias)``, gradients included.

    Autocast does not reach into it: rounding to half precision at each step would not
    keep norms.

    Args:
        inputs: x, the projected inputs of all steps, packed [rows, n].
        start: h before the first step [batch_sizes[0], n].
        weight: B [n, n].
        bias: b, real [n].
        batch_sizes: Rows of each step, not increasing; their sum is ``rows``.

    Returns:
        h of all steps, packed [rows, n].

    Example:
        >>> one = torch.ones(1, 1)
        >>> scan(torch.ones(3, 1), one, one, torch.zeros(1), [1, 1, 1]).flatten()
        tensor([2., 3., 4.])
    """
    sizes = tuple(batch_sizes)
    inputs, start = inputs.to(weight.dtype), start.to(weight.dtype)
    with torch.autocast(inputs.device.type, enabled=False):
        states: Tensor = _Scan.apply(  # type: ignore[no-untyped-call]
            inputs, start, weight, bias, sizes
        )
    return states


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        start: Tensor,
        weight: Tensor,
        bias: Tensor,
        sizes: tuple[int, ...],
    ) -> Tensor:
        states = torch.empty_like(inputs, memory_format=torch.contiguous_format)
        h = start
        for x, out in zip(inputs.split(sizes), states.split(sizes), strict=True):
            z = torch.addmm(x, h[: len(x)], weight)
            size = z.abs().add_(bias).relu_()
            h = torch.mul(z.sgn_(), size, out=out)
        ctx.sizes = sizes
        ctx.save_for_backward(states, start, weight, bias)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        with torch.autocast(gradient.device.type, enabled=False):
            return _Scan.adjoint(ctx, gradient)

    @staticmethod
    def adjoint(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        states, start, weight, bias = ctx.saved_tensors
        sizes = ctx.sizes
        before = torch.empty_like(states)
        back = weight.mH
        carried = torch.zeros_like(start)
        steps = zip(
            gradient.split(sizes),
            states.split(sizes),
            before.split(sizes),
            strict=True,
        )
        for g, h, out in reversed(list(steps)):
            rows = len(h)
            total = g + carried[:rows]
            out.copy_(modrelu_adjoint(h, bias, total))
            torch.mm(out, back, out=carried[:rows])
        to_weight = to_bias = None
        if ctx.needs_input_grad[2]:
            to_weight = previous(states, start, sizes).mH @ before
        if ctx.needs_input_grad[3]:
            to_bias = (states.sgn().conj() * before).real.sum(0)
        return before, carried, to_weight, to_bias, None


def previous(states: Tensor, start: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the state before each row [rows, n].

    Args:
        states: Of all steps, packed [rows, n].
        start: Before the first step [sizes[0], n].
        sizes: Rows of each step.

    Example:
        >>> previous(torch.tensor([[1.0], [2.0], [3.0]]), torch.zeros(2, 1), (2, 1))
        tensor([[0.],
                [0.],
                [1.]])
    """
    if not sizes:
        return states
    if sizes[-1] == sizes[0]:
        return torch.cat([start, states[: len(states) - sizes[0]]])
    steps = states.split(sizes)
    pairs = zip(steps, sizes[1:], strict=False)
    return torch.cat([start, *(step[:size] for step, size in pairs)])
