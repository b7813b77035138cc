"""Index formulas as compilers wrote them before layouts were linear maps."""

from .amd_mfma import amd_mfma, amd_mfma_operand
from .amd_rotating_shared import amd_rotating_shared
from .amd_wmma import amd_wmma, amd_wmma_operand
from .blocked import blocked
from .cga import (
    block_offset,
    block_offset_of_bases,
    shape_per_block,
    split_of_bases,
)
from .fma_operand import fma_operand
from .model import Digit, DistributedModel, SharedModel
from .nvidia_mma import nvidia_mma, nvidia_mma_operand
from .nvmma_shared import nvmma_shared
from .padded_shared import padded_address
from .placement import Placement, WarpGrid, warps_of
from .scales import mfma_scales, sm120_scales, wmma_scales
from .slice import slice_of
from .swizzled_shared import swizzled_shared
from .tensor_memory import (
    scale_tile_offset,
    tensor_memory,
    tensor_memory_scales,
)
from .upstream import COMMIT

__all__ = [
    "COMMIT",
    "Digit",
    "DistributedModel",
    "Placement",
    "SharedModel",
    "WarpGrid",
    "amd_mfma",
    "amd_mfma_operand",
    "amd_rotating_shared",
    "amd_wmma",
    "amd_wmma_operand",
    "block_offset",
    "block_offset_of_bases",
    "blocked",
    "fma_operand",
    "mfma_scales",
    "nvidia_mma",
    "nvidia_mma_operand",
    "nvmma_shared",
    "padded_address",
    "scale_tile_offset",
    "shape_per_block",
    "slice_of",
    "sm120_scales",
    "split_of_bases",
    "swizzled_shared",
    "tensor_memory",
    "tensor_memory_scales",
    "warps_of",
    "wmma_scales",
]
