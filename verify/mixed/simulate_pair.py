"""Compile the kernel of a pair of operand types and run its PTX on numbers."""

from typing import Any, NamedTuple

import numpy as np
import torch

from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.pair_matmul import KERNEL, NUM_WARPS, TILE, pair_kernel_text
from compiler.mixed.pairs import operand_type, unit_type
from verify.mixed.random_operands import RandomOperand
from verify.ptx.numeric import run_kernel

POISON = -0x55555556
"""What the result's words hold before the kernel runs."""


class SimulatedPair(NamedTuple):
    """The result and the PTX."""

    out: torch.Tensor
    ptx: str


def simulate_pair(
    names: tuple[str, str],
    orders: tuple[str, str],
    a: RandomOperand,
    b: RandomOperand,
) -> SimulatedPair:
    """Return what the kernel computes, without a GPU.

    Args:
        names: Operand types.
        orders: Which axis of each is contiguous.
        a: Left operand, on the CPU.
        b: Right operand.
    """
    from compiler.triton_api import compile_gluon

    kinds = operand_type(names[0]), operand_type(names[1])
    text = pair_kernel_text(*kinds, orders)
    compiled: Any = compile_gluon(
        getattr(load_module(text.text), KERNEL),
        text.signature,
        {},
        aligned=("a", "b", "out"),
        num_warps=NUM_WARPS,
    )
    ptx: str = compiled.asm["ptx"]
    (m, k), n = a.values.shape, b.values.shape[0]
    out = np.full((m, n), POISON, np.int32)
    arrays = [t.contiguous().view(torch.uint8).numpy() for t in (a.data, b.data)]
    scales = [t.contiguous().numpy() for t in (a.scales, b.scales)]
    run_kernel(ptx, [*arrays, *scales, out, m, n, k], (-(-m // TILE), -(-n // TILE), 1))
    result = torch.from_numpy(out)
    if not unit_type(*kinds).whole:
        result = result.view(torch.float32)
    return SimulatedPair(result, ptx)
