"""Hypothesis strategies: valid by construction, shrinking to the simplest case."""

from .conversions import ConversionCase, conversions
from .encodings import KernelCase, encodings, kernels
from .layouts import affine_layouts, bijections, layouts, matrices, surjections

__all__ = [
    "ConversionCase",
    "KernelCase",
    "affine_layouts",
    "bijections",
    "conversions",
    "encodings",
    "kernels",
    "layouts",
    "matrices",
    "surjections",
]
