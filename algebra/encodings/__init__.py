"""Encodings: the layouts of GPU compilers by name and parameters.

``encoding.to_linear_layout(shape)`` is the map. Formulas: Triton's
``LinearLayoutConversions.cpp``.
"""

from .amd_mfma import AmdMfma
from .amd_wmma import AmdWmma, CtaLayout
from .blocked import Blocked
from .cga import Cga
from .dot_operand import DotOperand
from .encoding import Encoding
from .from_dict import from_dict, to_dict
from .nvidia_mma import NvidiaMma
from .parameters import RELEASES
from .slice import Slice
from .swizzled_shared import SwizzledShared

__all__ = [
    "RELEASES",
    "AmdMfma",
    "AmdWmma",
    "Blocked",
    "Cga",
    "CtaLayout",
    "DotOperand",
    "Encoding",
    "NvidiaMma",
    "Slice",
    "SwizzledShared",
    "from_dict",
    "to_dict",
]
