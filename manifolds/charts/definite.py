"""Positive definite matrices and positive numbers.

Coordinates are relative to the base, ``L S L^H`` with the Cholesky factor L, so that a
step of moderate size stays moderate however near the border the base is.

Source: X. Pennec, P. Fillard, N. Ayache 2006 (affine-invariant); V. Arsigny et al. 2007
(log-Euclidean); Z. Lin, Riemannian geometry of symmetric positive definite matrices via
Cholesky decomposition, SIAM J. Matrix Anal. Appl. 40 (2019).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.expm import expm, frechet

from .algebra import hermitian
from .manifold import Chart, Shape, check_dtype, check_map, check_square, worst


@dataclass(frozen=True, slots=True)
class SPD(Chart):
    """Symmetric or Hermitian positive definite matrices.

    All maps reach every such matrix from every base.

    Args:
        map: ``"exp"``, the geodesic ``L exp(S) L^H`` of the affine-invariant metric;
            ``"log"``, ``exp(log B + S)`` of the log-Euclidean one; ``"cholesky"``, of
            the log-Cholesky one: L times the lower half of S, its diagonal by exp.

    Raises:
        MapError: No such map.

    Example:
        >>> SPD().in_manifold(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, ("exp", "log", "cholesky"))

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want square matrices."""
        check_square(self, shape)
        check_dtype(self, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Raise the eigenvalues of the Hermitian part to ``sqrt(eps)`` of the largest.

        The nearest matrix itself is singular where one is not positive.
        """
        values, vectors = torch.linalg.eigh(hermitian(weight))
        floor = torch.finfo(weight.dtype).eps ** 0.5 * values[..., -1:].abs()
        tiny = torch.finfo(weight.dtype).tiny ** 0.5
        raised = torch.maximum(values, floor.clamp(min=tiny))
        repaired = hermitian((vectors * raised[..., None, :]) @ vectors.mH)
        fine = (values >= raised).all(-1)[..., None, None]
        return torch.where(fine, hermitian(weight), repaired)

    def defect(self, weight: Tensor) -> Tensor:
        """Return the relative asymmetry; infinite where an eigenvalue is not positive.

        Positive means that the Cholesky factorisation succeeds.
        """
        norm = torch.linalg.matrix_norm(weight)
        defects = torch.linalg.matrix_norm(weight - weight.mH) / norm
        failed = torch.linalg.cholesky_ex(hermitian(weight)).info != 0
        return worst(defects.masked_fill(failed, torch.inf))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return Wishart matrices of 4 n degrees of freedom and mean I."""
        freedom = 4 * shape[-1]
        normal = torch.randn(
            *shape[:-1], freedom, dtype=dtype, device=device, generator=generator
        )
        return hermitian(normal @ normal.mH / freedom)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``L S L^H`` for the Hermitian part S; for log, ``D exp_log(B)[S]``."""
        s = hermitian(coordinates)
        if self.map == "log":
            return frechet(logarithm(base), s)
        factor: Tensor = torch.linalg.cholesky_ex(base)[0]
        return factor @ s @ factor.mH

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the map of the Hermitian part."""
        s = hermitian(coordinates)
        if self.map == "log":
            return hermitian(expm(logarithm(base) + s))
        factor = torch.linalg.cholesky_ex(base)[0]
        if self.map == "exp":
            return hermitian(factor @ expm(s) @ factor.mH)
        diagonal = (s.diagonal(dim1=-2, dim2=-1).real / 2).exp()
        lower = factor @ (s.tril(-1) + torch.diag_embed(diagonal.to(s.dtype)))
        return hermitian(lower @ lower.mH)


def logarithm(base: Tensor) -> Tensor:
    """Return the logarithm of positive definite matrices [..., n, n].

    Example:
        >>> logarithm(torch.eye(2)).abs().max().item()
        0.0
    """
    values, vectors = torch.linalg.eigh(base)
    return hermitian((vectors * values.log()[..., None, :]) @ vectors.mH)


@dataclass(frozen=True, slots=True)
class Positive(Chart):
    """Tensors of positive numbers.

    Args:
        map: ``"exp"``, ``p exp(v)``, the geodesic of the scale-invariant metric; or
            ``"softplus"``, its inverse at p plus v, which grows linearly.

    Raises:
        MapError: No such map.

    Example:
        >>> Positive().in_manifold(torch.tensor([0.5, 3.0]))
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, ("exp", "softplus"))

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want real numbers."""
        check_dtype(self, dtype, complex=False)

    def nearest(self, weight: Tensor) -> Tensor:
        """Raise to the square root of the smallest normal number."""
        return weight.clamp(min=torch.finfo(weight.dtype).tiny ** 0.5)

    def defect(self, weight: Tensor) -> Tensor:
        """Return 0; infinite where a number is not positive."""
        return worst(torch.zeros_like(weight).masked_fill(~(weight > 0), torch.inf))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return log-normal numbers."""
        return torch.randn(
            *shape, dtype=dtype, device=device, generator=generator
        ).exp()

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``p v``, or ``(1 - exp(-p)) v`` for softplus."""
        slope = base if self.map == "exp" else -torch.expm1(-base)
        return slope * coordinates

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the map."""
        if self.map == "exp":
            return base * coordinates.exp()
        before = base + (-torch.expm1(-base)).log()
        return torch.nn.functional.softplus(before + coordinates)


@dataclass(frozen=True, slots=True)
class Euclidean(Chart):
    """All tensors of a shape; the map is addition.

    Example:
        >>> Euclidean().in_manifold(torch.tensor([-1.0]))
        True
    """

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want floating-point numbers."""
        check_dtype(self, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Return a copy."""
        return weight.clone()

    def defect(self, weight: Tensor) -> Tensor:
        """Return 0; infinite where a number is not finite."""
        zero = torch.zeros(weight.shape, device=weight.device)
        return worst(zero.masked_fill(~weight.isfinite(), torch.inf))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return normal numbers."""
        return torch.randn(*shape, dtype=dtype, device=device, generator=generator)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the coordinates."""
        return coordinates

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the sum."""
        return base + coordinates
