"""Launching the kernel of a quantised matmul on a GPU."""

from functools import cache
from typing import Any

import torch

from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.quantised_matmul import KERNEL, KernelText, kernel_text
from compiler.mixed.pack import PackedWeight
from compiler.mixed.tiling import Problem, Tiling

MOST_ELEMENTS = 2**31 - 1
"""Indices of elements are 32-bit."""


@cache
def build(problem: Problem, tiling: Tiling, ragged: bool) -> tuple[KernelText, Any]:
    """Return a kernel's text and the ``@gluon.jit`` function; imports triton."""
    text = kernel_text(problem, tiling, ragged=ragged)
    return text, getattr(load_module(text.text), KERNEL)


@cache
def _scratch(
    device: torch.device, stream: int, sums: int, counters: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return memory for partial sums, and counters that are zero between launches."""
    partial = torch.empty(sums, dtype=torch.float32, device=device)
    return partial, torch.zeros(counters, dtype=torch.int32, device=device)


def launch(
    x: torch.Tensor, weight: PackedWeight, out: torch.Tensor, tiling: Tiling
) -> None:
    """Launch ``out = x @ weight^T``.

    Args:
        x: Contiguous [m, k], of the weight's ``dtype``, on its device.
        weight: Packed.
        out: Contiguous [m, n], of the same type.
        tiling: How the kernel cuts the problem.
    """
    problem = weight.problem
    strip = MOST_ELEMENTS // max(problem.n, problem.k) // tiling.rows * tiling.rows
    for first in range(0, x.shape[0], strip):
        rows = slice(first, first + strip)
        _launch(x[rows], weight, out[rows], tiling)


def _launch(
    x: torch.Tensor, weight: PackedWeight, out: torch.Tensor, tiling: Tiling
) -> None:
    m = x.shape[0]
    text, kernel = build(weight.problem, tiling, m % tiling.rows != 0)
    strips = -(-m // tiling.rows)
    tiles = text.programs[0] * strips if tiling.splits > 1 else 0
    stream = torch.cuda.current_stream(x.device).cuda_stream
    partial, counter = _scratch(
        x.device,
        stream,
        max(1, tiles * tiling.splits * tiling.columns * tiling.rows),
        max(1, tiles),
    )
    zeros = weight.weight if weight.zeros is None else weight.zeros.view(torch.int32)
    options = {"launch_pdl": True} if tiling.dependent else {}
    kernel[(*text.programs, strips)](
        weight.weight,
        weight.scales,
        zeros,
        x,
        out,
        partial,
        counter,
        weight.alpha,
        m,
        num_warps=text.num_warps,
        **options,
    )
