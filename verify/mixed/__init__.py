"""Kernels of mixed-precision matmuls, run on numbers without a GPU."""

from .random_operands import random_operand
from .random_weights import random_weight
from .simulate import simulate
from .simulate_pair import simulate_pair

__all__ = ["random_operand", "random_weight", "simulate", "simulate_pair"]
