"""Theorems with symbolic sizes: one question stands for a box of parameter sets."""

from .catalogue import queries, theorems
from .query import Parametric, Query

__all__ = ["Parametric", "Query", "queries", "theorems"]
