"""Failing graphs made small, each a test file of a few lines."""

from .graph import GraphError, read, save
from .reduce import GoneError, Reduced, Reduction

__all__ = ["GoneError", "GraphError", "Reduced", "Reduction", "read", "save"]
