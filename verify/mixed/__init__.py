"""Kernels of mixed-precision matmuls, run on numbers without a GPU."""

from .random_weights import random_weight
from .simulate import simulate

__all__ = ["random_weight", "simulate"]
