"""Planning and code generation: conversions, permutations, fused kernels."""

from . import permutations
from .permuting.api import permute

__all__ = ["permutations", "permute"]
