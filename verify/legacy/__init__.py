"""Index formulas as compilers wrote them before layouts were linear maps."""

from .amd_mfma import amd_mfma, amd_mfma_operand
from .amd_wmma import Placement, amd_wmma, amd_wmma_operand, warps_of
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
from .slice import slice_of
from .swizzled_shared import swizzled_shared
from .upstream import COMMIT

__all__ = [
    "COMMIT",
    "Digit",
    "DistributedModel",
    "Placement",
    "SharedModel",
    "amd_mfma",
    "amd_mfma_operand",
    "amd_wmma",
    "amd_wmma_operand",
    "block_offset",
    "block_offset_of_bases",
    "blocked",
    "fma_operand",
    "nvidia_mma",
    "nvidia_mma_operand",
    "shape_per_block",
    "slice_of",
    "split_of_bases",
    "swizzled_shared",
    "warps_of",
]
