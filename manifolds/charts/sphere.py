"""Unit vectors, and points of hyperbolic space in the hyperboloid model.

Points are vectors along the last dim; a batch of unit vectors is the oblique manifold.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import ShapeError

from .manifold import Chart, Shape, check_dtype, check_map, worst
from .stumpff import stumpff


@dataclass(frozen=True, slots=True)
class Sphere(Chart):
    """Unit vectors, real or complex.

    Args:
        map: ``"exp"``, along the great circle, or ``"project"``, ``(x + v) / |x + v|``.

    Raises:
        MapError: No such map.

    Example:
        >>> Sphere().in_manifold(torch.tensor([0.6, 0.8]))
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, ("exp", "project"))

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want vectors."""
        check_vectors(self, shape)
        check_dtype(self, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Divide by the length; the zero vector becomes the first unit vector."""
        length = torch.linalg.vector_norm(weight, dim=-1, keepdim=True)
        first = torch.zeros_like(weight)
        first[..., 0] = 1
        return torch.where(length > 0, weight / length, first)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``| |x| - 1 |``."""
        return worst((torch.linalg.vector_norm(weight, dim=-1) - 1).abs())

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return uniform points."""
        normal = torch.randn(*shape, dtype=dtype, device=device, generator=generator)
        return self.nearest(normal)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``y - Re<x, y> x``."""
        return coordinates - dot(base, coordinates) * base

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the map of the projection."""
        v = self.tangent(base, coordinates)
        square = dot(v, v)
        if self.map == "project":
            return (base + v) * (1 + square).rsqrt()
        return stumpff(0, square) * base + stumpff(1, square) * v

    def transport(self, base: Tensor, vector: Tensor) -> Tensor:
        """Project to the tangent space at the new base."""
        return self.tangent(base, vector)


@dataclass(frozen=True, slots=True)
class Hyperboloid(Chart):
    """Vectors with ``-x0^2 + x1^2 + ... == -1`` and ``x0 > 0``; the map is exp.

    Example:
        >>> Hyperboloid().in_manifold(torch.tensor([1.25, 0.75]))
        True
    """

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want real vectors."""
        check_vectors(self, shape)
        check_dtype(self, dtype, complex=False)

    def nearest(self, weight: Tensor) -> Tensor:
        """Keep the space-like part and solve for ``x0``."""
        space = weight[..., 1:]
        time = (1 + (space * space).sum(-1, keepdim=True)).sqrt()
        return torch.cat([time, space], -1)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``|<x, x>_J + 1| / x0^2``; infinite on the other sheet."""
        time = weight[..., 0]
        defects = (lorentz(weight, weight)[..., 0] + 1).abs() / time.square()
        return worst(defects.masked_fill(time <= 0, torch.inf))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return points whose space-like part is normal."""
        normal = torch.randn(*shape, dtype=dtype, device=device, generator=generator)
        return self.nearest(normal)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``y + <x, y>_J x``."""
        return coordinates + lorentz(base, coordinates) * base

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``cosh|v| x + sinh|v|/|v| v`` of the projection v."""
        v = self.tangent(base, coordinates)
        square = -lorentz(v, v)
        return stumpff(0, square) * base + stumpff(1, square) * v

    def transport(self, base: Tensor, vector: Tensor) -> Tensor:
        """Project to the tangent space at the new base."""
        return self.tangent(base, vector)


def dot(x: Tensor, y: Tensor) -> Tensor:
    """Return the real inner product along the last dim [..., 1].

    Example:
        >>> dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).tolist()
        [11.0]
    """
    return (x.conj() * y).real.sum(-1, keepdim=True)


def lorentz(x: Tensor, y: Tensor) -> Tensor:
    """Return the inner product of signature (-, +, ..., +) [..., 1].

    Example:
        >>> lorentz(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).tolist()
        [5.0]
    """
    products = x * y
    return products[..., 1:].sum(-1, keepdim=True) - products[..., :1]


def check_vectors(manifold: object, shape: Shape) -> None:
    """Refuse what has no vectors along its last dim.

    Raises:
        ShapeError: No dims, or vectors of no element.
    """
    if len(shape) < 1 or shape[-1] < 1:
        raise ShapeError(
            f"{type(manifold).__name__} holds vectors [..., n], n >= 1, but "
            f"shape={tuple(shape)}",
            shape=tuple(shape),
        )
