"""Outside judges: what a released Triton says, in a process of its own."""

from .comparison import (
    Comparison,
    compare_encodings,
    compare_operations,
    exposed_kinds,
)
from .random_encodings import KINDS, Case, random_case, random_cases
from .random_operations import OPERATIONS, Operation, random_operation
from .wheel import Wheel

__all__ = [
    "KINDS",
    "OPERATIONS",
    "Case",
    "Comparison",
    "Operation",
    "Wheel",
    "compare_encodings",
    "compare_operations",
    "exposed_kinds",
    "random_case",
    "random_cases",
    "random_operation",
]
