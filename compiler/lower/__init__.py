"""From a captured graph to the IR: one table of lowerings, one file a family.

``lower`` walks a graph of ATen operators and emits a program; an operator without a
lowering, or with arguments that its lowering does not take, becomes an extern call
with a reason. ``decompositions`` is what the lowerings want taken apart beforehand.
"""

from .builder import Array, Builder
from .decompositions import decompositions
from .graph import lower
from .normalisation import FUSED
from .registry import JOINT_REWRITES, REWRITES, NotLowered, lowering, rewriting

__all__ = [
    "FUSED",
    "JOINT_REWRITES",
    "REWRITES",
    "Array",
    "Builder",
    "NotLowered",
    "decompositions",
    "lower",
    "lowering",
    "rewriting",
]
