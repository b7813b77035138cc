"""The matrix exponential and its Frechet derivatives."""

from .function import expm, frechet

__all__ = ["expm", "frechet"]
