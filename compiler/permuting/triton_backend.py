"""Permutations on a GPU: plans as tables for the Triton kernel."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from compiler.codegen.triton.permute import permute_kernel
from compiler.triton_api import interpreted, reinterpret

from .granularity import absorb_batch, coarsen_to
from .index_map import IndexMap
from .tile_plan import TilePlan, plan_tile

_LINE_BITS = {1: 7, 2: 7, 4: 6, 8: 5}
"""Log2 of the line for each width: 128 to 256 bytes [elements]."""

_TILE_BITS = {1: 13, 2: 12, 4: 12, 8: 11}
"""Log2 of the smallest tile for each width [elements]."""

_VECTOR_BYTES = 16
_LARGEST_ELEMENT = 8
_MAX_GRID = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Launch:
    """A plan with the constants that select a compiled kernel.

    Attributes:
        plan: The tile plan.
        low_bits: Program bits that the low base tables cover.
        addresses: All tables in one list.
        constants: Value of each constant of the kernel.
        num_warps: Warps of a program.
    """

    plan: TilePlan
    low_bits: int
    addresses: list[int]
    constants: dict[str, Any]
    num_warps: int

    @property
    def address_type(self) -> torch.dtype:
        """The narrowest integer that holds every address."""
        return torch.int32 if self.plan.map.bits <= 31 else torch.int64


@lru_cache(maxsize=256)
def plan_launch(map: IndexMap, element_bytes: int) -> Launch:
    """Plan a permutation of elements of 1, 2, 4 or 8 bytes.

    Example:
        >>> launch = plan_launch(IndexMap((2, 1)), 4)
        >>> launch.constants["SHAPE"], launch.constants["AXES"], launch.num_warps
        ((2, 2), (1, 0), 1)
    """
    plan = plan_tile(
        map,
        line_bits=_LINE_BITS[element_bytes],
        vector_bits=(_VECTOR_BYTES // element_bytes).bit_length() - 1,
        tile_bits=_TILE_BITS[element_bytes],
    )
    addresses, low_bits = plan.tables()
    shape, axes = plan.transpose
    tile_bits = len(plan.source)
    constants = {
        "SOURCE_COLUMNS": 1 << plan.source_columns,
        "SOURCE_ROWS": 1 << (tile_bits - plan.source_columns),
        "TARGET_COLUMNS": 1 << plan.target_columns,
        "TARGET_ROWS": 1 << (tile_bits - plan.target_columns),
        "SOURCE_VECTOR": 1 << plan.source_vector,
        "TARGET_VECTOR": 1 << plan.target_vector,
        "SHAPE": shape,
        "AXES": axes,
    }
    num_warps = min(max((1 << tile_bits) >> 9, 1), 16)
    return Launch(plan, low_bits, addresses, constants, num_warps)


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
    launch = plan_launch(map, width)
    table = _device_table(map, width, source.device)
    program_bits = len(launch.plan.programs)
    kernel = interpreted(permute_kernel) if interpret else permute_kernel
    step = max(_MAX_GRID >> program_bits, 1)
    for first in range(0, batch, step):
        count = min(step, batch - first)
        pieces = (
            _piece(tensor, first, count, batch, width) for tensor in (source, target)
        )
        kernel[(count << program_bits,)](
            *pieces,
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
    return torch.tensor(launch.addresses, dtype=launch.address_type, device=device)


def _piece(tensor: torch.Tensor, first: int, count: int, batch: int, width: int) -> Any:
    rows = tensor.view(batch, -1)[first : first + count]
    return reinterpret(rows, width)
