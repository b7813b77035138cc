"""Compile the kernel of a quantised matmul and run its PTX on numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.quantised_matmul import KERNEL, kernel_text
from compiler.mixed.pack import PackedWeight
from compiler.mixed.tiling import Tiling
from verify.ptx.numeric import run_kernel

POISON = 0x7FC1
"""Bits of what results hold before the kernel runs: NaN in both 16-bit floats."""


class Simulated(NamedTuple):
    """What a kernel computed: the result, its PTX, and whether counters are zero."""

    out: torch.Tensor
    ptx: str
    counters_are_zero: bool


def simulate(
    weight: PackedWeight,
    x: torch.Tensor,
    tiling: Tiling,
    *,
    edit: Callable[[str], str] | None = None,
    arch: int = 90,
) -> Simulated:
    """Return what the kernel for a GPU computes, without a GPU.

    Args:
        weight: Packed, on the CPU.
        x: Activations [m, k].
        tiling: How the kernel cuts the problem.
        edit: Changes the PTX before it runs; to plant faults.
        arch: Compute capability times ten that it is compiled for.

    Raises:
        DimMismatchError: The tiling does not fit the problem.
    """
    from compiler.triton_api import compile_gluon

    problem, m = weight.problem, x.shape[0]
    text = kernel_text(problem, tiling, ragged=m % tiling.rows != 0)
    kernel = getattr(load_module(text.text), KERNEL)
    pointers = [name for name, kind in text.signature.items() if kind[0] == "*"]
    compiled: Any = compile_gluon(
        kernel,
        text.signature,
        {},
        aligned=pointers,
        num_warps=text.num_warps,
        arch=arch,
    )
    ptx: str = compiled.asm["ptx"]
    strips = -(-m // tiling.rows)
    programs = text.programs[0] * strips
    sums = programs * tiling.splits * tiling.columns * tiling.rows
    out = np.full((m, problem.n), POISON, np.uint16)
    counters = np.zeros(programs, np.int32)
    zeros = weight.weight if weight.zeros is None else weight.zeros
    run_kernel(
        ptx if edit is None else edit(ptx),
        [
            weight.weight.numpy(),
            weight.scales.view(torch.uint8).numpy(),
            zeros.view(torch.int32).numpy(),
            x.contiguous().view(torch.int16).numpy(),
            out,
            np.full(sums, np.nan, np.float32),
            counters,
            weight.alpha,
            m,
        ],
        (*text.programs, strips),
        batch=1 if tiling.splits > 1 else 64,
    )
    result = torch.from_numpy(out.view(np.int16)).view(x.dtype)
    return Simulated(result, ptx, not counters.any())
