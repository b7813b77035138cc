"""Programs over torch as Python text: operations, modules, writes, sizes, capture."""

from .functions import functions
from .operations import EXPRESSIONS, FAMILIES, STATEMENTS
from .program import Program
from .statements import BLOCKS
from .strategy import programs

__all__ = [
    "BLOCKS",
    "EXPRESSIONS",
    "FAMILIES",
    "STATEMENTS",
    "Program",
    "functions",
    "programs",
]
