"""Programs over torch as Python text: views, writes, reductions, indexing, casts."""

from .operations import EXPRESSIONS, FAMILIES, STATEMENTS
from .program import Program
from .strategy import programs

__all__ = ["EXPRESSIONS", "FAMILIES", "STATEMENTS", "Program", "programs"]
