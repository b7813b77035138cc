"""Orthogonal and manifold-constrained training."""
