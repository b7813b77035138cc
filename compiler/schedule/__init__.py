"""The scheduler: which loops run, in which order, on which memory.

``pipeline`` has the passes in order; each is a module and works on a program (dead
code, inlining, views, reductions) or on loop nests (refinement of digits, pairing,
merging, groups, loop order, memory).
"""

from .pipeline import schedule

__all__ = ["schedule"]
