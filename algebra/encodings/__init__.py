"""Encodings: the layouts of GPU compilers by name and parameters.

``encoding.to_linear_layout(shape)`` is the map. Formulas: Triton's
``LinearLayoutConversions.cpp``.
"""

from .amd_mfma import AmdMfma
from .amd_rotating_shared import AmdRotatingShared
from .amd_scales import MfmaScale, WmmaScale
from .amd_wmma import AmdWmma
from .blocked import Blocked
from .cga import Cga
from .cta_layout import CtaLayout
from .dot_operand import DotOperand
from .dot_scales import Sm120DotScaledScale
from .encoding import Encoding
from .from_dict import from_dict, to_dict
from .linear import Linear, SharedLinear
from .nvidia_mma import NvidiaMma
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .parameters import RELEASES
from .partitioned_shared import PartitionedShared
from .shmem_reg_to_reg import ShmemRegToReg
from .slice import Slice
from .swizzled_shared import SwizzledShared
from .tensor_memory import TensorMemory
from .tensor_memory_scales import ScaleSmemForTmemCopy, TensorMemoryScales

__all__ = [
    "RELEASES",
    "AmdMfma",
    "AmdRotatingShared",
    "AmdWmma",
    "Blocked",
    "Cga",
    "CtaLayout",
    "DotOperand",
    "Encoding",
    "Linear",
    "MfmaScale",
    "NvidiaMma",
    "NvmmaShared",
    "PaddedShared",
    "PartitionedShared",
    "ScaleSmemForTmemCopy",
    "SharedLinear",
    "ShmemRegToReg",
    "Slice",
    "Sm120DotScaledScale",
    "SwizzledShared",
    "TensorMemory",
    "TensorMemoryScales",
    "WmmaScale",
    "from_dict",
    "to_dict",
]
