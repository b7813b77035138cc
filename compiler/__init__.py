"""Planning and code generation: conversions, permutations, fused kernels."""

from .permuting.api import permute

__all__ = ["permute"]
