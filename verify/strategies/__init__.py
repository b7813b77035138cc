"""Hypothesis strategies: valid by construction, shrinking to the simplest case."""

from .conversions import ConversionCase, conversions
from .layouts import affine_layouts, bijections, layouts, matrices, surjections

__all__ = [
    "ConversionCase",
    "affine_layouts",
    "bijections",
    "conversions",
    "layouts",
    "matrices",
    "surjections",
]
