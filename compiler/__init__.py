"""Planning and code generation: conversions, permutations, fused kernels."""

from . import permutations
from .mixed.matmul import quantised_matmul
from .mixed.preshuffle import preshuffle
from .permuting.api import permute

__all__ = ["permutations", "permute", "preshuffle", "quantised_matmul"]
