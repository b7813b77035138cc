"""Hypothesis strategies: valid by construction, shrinking to the simplest case."""

from .layouts import affine_layouts, bijections, layouts, matrices, surjections

__all__ = ["affine_layouts", "bijections", "layouts", "matrices", "surjections"]
