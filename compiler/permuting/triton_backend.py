"""Permutations on a GPU: plans as tables for the Triton kernel."""

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import torch

from compiler.codegen.triton.permute import permute_kernel
from compiler.triton_api import interpreted, reinterpret

from .granularity import absorb_batch, coarsen_to
from .index_map import IndexMap
from .launch import plan_launch
from .vector_backend import run_vectors

_LARGEST_ELEMENT = 8
_INTEGERS = {32: torch.int32, 64: torch.int64}
_MAX_GRID = (1 << 31) - 1


def run_triton(
    source: torch.Tensor,
    target: torch.Tensor,
    map: IndexMap,
    *,
    interpret: bool = False,
) -> None:
    """Write the permutation of ``source`` to ``target``.

    Args:
        source: Contiguous and aligned to its element [batch * 2**bits].
        target: The same, on the same device, disjoint from ``source``.
        map: The permutation.
        interpret: Run in Triton's interpreter, on the CPU.
    """
    map, batch = absorb_batch(map, source.numel() >> map.bits)
    width = source.element_size()
    if width > _LARGEST_ELEMENT:
        map, width = map.refine(), width // 2
    alignment = source.data_ptr() | target.data_ptr() | _LARGEST_ELEMENT
    map, width = coarsen_to(map, width, alignment & -alignment)
    if not interpret and run_vectors(source, target, map, width, batch):
        return
    launch = plan_launch(map, width)
    table = _device_table(map, width, source.device)
    program_bits = len(launch.plan.programs)
    kernel = interpreted(permute_kernel) if interpret else permute_kernel
    step = max(_MAX_GRID >> program_bits, 1)
    on_device: AbstractContextManager[object]
    on_device = nullcontext() if interpret else torch.cuda.device(source.device)
    with on_device:
        for first in range(0, batch, step):
            count = min(step, batch - first)
            kernel[(count << program_bits,)](
                _piece(source, first, count, batch, width),
                _piece(target, first, count, batch, width),
                table,
                map.bits,
                program_bits,
                launch.low_bits,
                **launch.constants,
                num_warps=launch.num_warps,
            )


@lru_cache(maxsize=128)
def _device_table(map: IndexMap, width: int, device: torch.device) -> torch.Tensor:
    launch = plan_launch(map, width)
    return torch.tensor(
        launch.addresses, dtype=_INTEGERS[launch.address_bits], device=device
    )


def _piece(tensor: torch.Tensor, first: int, count: int, batch: int, width: int) -> Any:
    rows = tensor.view(batch, -1)[first : first + count]
    return reinterpret(rows, width)
