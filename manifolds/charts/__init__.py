"""Manifolds of weights, and a chart around each of their points."""

from .algebra import cayley, hermitian, skew, traceless
from .definite import SPD, Euclidean, Positive
from .factored import PSD, AlmostOrthogonal, LowRank
from .linear_groups import SL, GLPlus
from .manifold import Chart, Manifold
from .product import Product
from .rotations import SO, SU, O, U
from .sphere import Hyperboloid, Sphere
from .stiefel import Grassmannian, Stiefel
from .tori import haar, torus

__all__ = [
    "PSD",
    "SL",
    "SO",
    "SPD",
    "SU",
    "AlmostOrthogonal",
    "Chart",
    "Euclidean",
    "GLPlus",
    "Grassmannian",
    "Hyperboloid",
    "LowRank",
    "Manifold",
    "O",
    "Positive",
    "Product",
    "Sphere",
    "Stiefel",
    "U",
    "cayley",
    "haar",
    "hermitian",
    "skew",
    "torus",
    "traceless",
]
