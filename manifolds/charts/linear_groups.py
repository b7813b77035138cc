"""Invertible matrices of positive determinant, and those of determinant one.

The default map ``g exp(X^H) exp(X - X^H)`` is the geodesic of the left-invariant
Frobenius metric, which reaches every element. The exponential of the group,
``g exp(X)``, does not: a real matrix with a lone negative eigenvalue has no logarithm.

Source: E. Andruchow, G. Larotonda, L. Recht, A. Varela, The left invariant metric in
the general linear group, J. Geom. Phys. 86 (2014), theorem 2.14.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.expm import expm

from .algebra import traceless
from .manifold import Chart, Shape, check_dtype, check_map, check_square, worst
from .polar import nonsingular, svd, unimodular

_MAPS = ("exp", "lie")


def geodesic(matrix: Tensor) -> Tensor:
    """Return ``exp(X^H) exp(X - X^H)`` [..., n, n].

    Example:
        >>> geodesic(torch.zeros(1, 1)).tolist()
        [[1.0]]
    """
    return expm(matrix.mH) @ expm(matrix - matrix.mH)


@dataclass(frozen=True, slots=True)
class GLPlus(Chart):
    """Real matrices of positive determinant.

    Args:
        map: ``"exp"``, the geodesic, or ``"lie"``, the one-parameter subgroup.

    Raises:
        MapError: No such map.

    Example:
        >>> GLPlus().in_manifold(torch.tensor([[0.0, -2.0], [1.0, 0.0]]))
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, _MAPS)

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want real square matrices."""
        check_square(self, shape)
        check_dtype(self, dtype, complex=False)

    def nearest(self, weight: Tensor) -> Tensor:
        """Flip the least direction where the determinant is negative."""
        return nonsingular(weight)

    def defect(self, weight: Tensor) -> Tensor:
        """Return 0; infinite where the determinant is not positive."""
        sign = torch.linalg.slogdet(weight).sign
        return worst(torch.zeros_like(sign).masked_fill(~(sign > 0), torch.inf))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return normal matrices, with the first column's sign changed if needed."""
        g = torch.randn(*shape, dtype=dtype, device=device, generator=generator)
        g[..., 0] *= torch.linalg.slogdet(g).sign[..., None]
        return g

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``g X``."""
        return base @ coordinates

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return g times the map of X."""
        return base @ (
            geodesic(coordinates) if self.map == "exp" else expm(coordinates)
        )


@dataclass(frozen=True, slots=True)
class SL(Chart):
    """Matrices of determinant one, real or complex.

    Args:
        map: ``"exp"``, the geodesic, or ``"lie"``, the one-parameter subgroup.

    Raises:
        MapError: No such map.

    Example:
        >>> SL().in_manifold(torch.tensor([[2.0, 0.0], [0.0, 0.5]]))
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, _MAPS)

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want square matrices."""
        check_square(self, shape)
        check_dtype(self, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Divide by a root of the determinant, after a flip if it is negative."""
        return unimodular(weight)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``|det g - 1| / max(1, |g|_2 |g^-1|_2)``, the error of a determinant.

        Infinite where the matrix is singular.
        """
        _, values, _ = svd(weight)
        condition = values[..., 0] / values[..., -1]
        return worst((torch.linalg.det(weight) - 1).abs() / condition.clamp(min=1))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return normal matrices scaled to determinant one."""
        g = torch.randn(*shape, dtype=dtype, device=device, generator=generator)
        return unimodular(g)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``g X``, X made traceless."""
        return base @ traceless(coordinates)

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return g times the map of the traceless X."""
        x = traceless(coordinates)
        return base @ (geodesic(x) if self.map == "exp" else expm(x))
