"""The recurrence over time, with its own backward pass.

``h_t = modrelu(x_t + h_{t-1} B; b)``. Sequences of different lengths are packed: step t
holds the rows of those that still run, longest first, so that a step is a slice and the
rows of the next step are a prefix of it.

The only residual is h. The backward pass runs the recurrence ``g_{t-1} = z_t B^H`` of
the gradients ``z_t`` before the nonlinearity; the gradient of B is one product over all
steps after it, and that of the bias one sum.

Three engines run either scan: one Triton launch (float32 on an NVIDIA GPU, n up to
512), compiled C++ (real numbers on the CPU), and a loop of torch's operations for all
else.

Source: Lezcano-Casado, Martinez-Rubio, ICML 2019, section 4 (the cell).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import launch, native
from .loop import backward_loop, forward_loop


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
    if torch.compiler.is_compiling():
        traced: Tensor = scan_operator(inputs, start, weight, bias, list(sizes))
        return traced
    with torch.autocast(inputs.device.type, enabled=False):
        states: Tensor = _Scan.apply(  # type: ignore[no-untyped-call]
            inputs, start, weight, bias, sizes
        )
    return states


def forward_scan(
    inputs: Tensor, start: Tensor, weight: Tensor, bias: Tensor, sizes: tuple[int, ...]
) -> Tensor:
    """Return h of all steps, by the engine for such tensors; see ``forward_loop``."""
    if native.serves(inputs):
        return native.forward_native(inputs, start, weight, bias, sizes)
    if launch.serves(inputs):
        return launch.forward_launch(inputs, start, weight, bias, sizes)
    return forward_loop(inputs, start, weight, bias, sizes)


def backward_scan(
    gradient: Tensor,
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    sizes: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """Return the gradients by the engine for such tensors; see ``backward_loop``."""
    if native.serves(states):
        return native.backward_native(gradient, states, weight, bias, sizes)
    if launch.serves(states):
        return launch.backward_launch(gradient, states, weight, bias, sizes)
    return backward_loop(gradient, states, weight, bias, sizes)


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
        states = forward_scan(inputs, start, weight, bias, sizes)
        ctx.sizes = sizes
        ctx.save_for_backward(states, start, weight, bias)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        states, start, weight, bias = ctx.saved_tensors
        _, to_start, to_weight, to_bias, _ = ctx.needs_input_grad
        with torch.autocast(gradient.device.type, enabled=False):
            before, bias_gradient = backward_scan(
                gradient, states, weight, bias, ctx.sizes
            )
            return (
                before,
                start_gradient(before, weight, ctx.sizes) if to_start else None,
                weight_gradient(states, start, before, ctx.sizes)
                if to_weight
                else None,
                bias_gradient if to_bias else None,
                None,
            )


def start_gradient(before: Tensor, weight: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the gradient of the state before the first step [sizes[0], n].

    Args:
        before: Gradients before the nonlinearity, packed [rows, n].
        weight: B [n, n].
        sizes: Rows of each step.
    """
    return before[: sizes[0] if sizes else 0] @ weight.mH


def weight_gradient(
    states: Tensor, start: Tensor, before: Tensor, sizes: tuple[int, ...]
) -> Tensor:
    """Return the gradient of B [n, n]: the product of all states and gradients.

    Args:
        states: h of all steps, packed [rows, n].
        start: h before the first step [sizes[0], n].
        before: Gradients before the nonlinearity, packed [rows, n].
        sizes: Rows of each step.
    """
    if not sizes or sizes[-1] != sizes[0]:
        return previous(states, start, sizes).mH @ before
    batch = sizes[0]
    later = states[: len(states) - batch].mH @ before[batch:]
    return later.addmm_(start.mH, before[:batch])


@torch.library.custom_op("tilewright::scan", mutates_args=())
def scan_operator(
    inputs: Tensor, start: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]
) -> Tensor:
    """The forward scan as one node of a compiler's graph.

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
        >>> scan_operator(torch.ones(2, 1), one, one, torch.zeros(1), [1, 1]).flatten()
        tensor([2., 3.])
    """
    return forward_scan(inputs, start, weight, bias, tuple(sizes))


@scan_operator.register_fake
def _like(
    inputs: Tensor, start: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]
) -> Tensor:
    return torch.empty_like(inputs, memory_format=torch.contiguous_format)


@torch.library.custom_op("tilewright::scan_backward", mutates_args=())
def scan_backward_operator(
    gradient: Tensor, states: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]
) -> tuple[Tensor, Tensor]:
    """The backward scan as one node of a compiler's graph; see ``backward_loop``."""
    return backward_scan(gradient, states, weight, bias, tuple(sizes))


@scan_backward_operator.register_fake
def _likes(
    gradient: Tensor, states: Tensor, weight: Tensor, bias: Tensor, sizes: list[int]
) -> tuple[Tensor, Tensor]:
    before = torch.empty_like(states, memory_format=torch.contiguous_format)
    return before, torch.empty_like(bias)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, start, weight, bias, sizes = inputs
    ctx.sizes = sizes
    ctx.save_for_backward(output, start, weight, bias)


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    states, start, weight, bias = ctx.saved_tensors
    before, to_bias = scan_backward_operator(gradient, states, weight, bias, ctx.sizes)
    sizes = tuple(ctx.sizes)
    to_start = start_gradient(before, weight, sizes)
    return (
        before,
        to_start,
        weight_gradient(states, start, before, sizes),
        to_bias,
        None,
    )


scan_operator.register_autograd(_differentiate, setup_context=_save)


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
