"""Matrices given by a factorisation: low rank, low-rank positive, almost orthogonal.

Each is ``U diag(s) V^H`` with orthonormal columns of U and V. The parts are U, s and V,
and each has its own chart; a change of the base moves all three.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import MapError, RankError

from .algebra import hermitian
from .definite import Euclidean, Positive
from .manifold import Chart, Manifold, Shape, check_dtype, check_square, worst
from .polar import svd
from .stiefel import Stiefel, check_frames


@dataclass(frozen=True, slots=True)
class LowRank(Manifold):
    """Matrices of rank at most r, or of rank exactly r.

    Args:
        rank: r, at least 1 and at most the shorter extent.
        exact: Whether singular values must be positive.
        map: Map of the two orthonormal factors.

    Raises:
        RankError: The rank is not a positive integer.
        MapError: No such map.

    Example:
        >>> LowRank(1).in_manifold(torch.ones(3, 2))
        True
    """

    rank: int
    exact: bool = False
    map: str = "exp"

    def __post_init__(self) -> None:
        check_rank(self.rank)
        Stiefel(self.map)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Left factor, singular values, right factor."""
        values = Positive() if self.exact else Euclidean()
        return Stiefel(self.map), values, Stiefel(self.map)

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want matrices of extents no less than the rank."""
        check_frames(self, shape, dtype)
        check_rank(self.rank, min(shape[-2:]))

    def split(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the largest singular values and their vectors."""
        with torch.no_grad():
            left, values, right = svd(weight)
            values = values[..., : self.rank]
            if self.exact:
                values = Positive().nearest(values)
            return left[..., : self.rank], values, right[..., : self.rank, :].mH

    def join(self, points: Sequence[Tensor]) -> Tensor:
        """Return ``U diag(s) V^H``."""
        left, values, right = points
        return (left * values[..., None, :]) @ right.mH

    def defect(self, weight: Tensor) -> Tensor:
        """Return the relative size of the singular values beyond the rank.

        Infinite where the rank must be exact and is less, up to rounding.
        """
        _, values, _ = svd(weight)
        largest = values[..., 0].clamp(min=torch.finfo(weight.dtype).tiny)
        rest = torch.linalg.vector_norm(values[..., self.rank :], dim=-1)
        defects = rest / largest
        if self.exact:
            lost = values[..., self.rank - 1] <= 0
            defects = defects.masked_fill(lost, torch.inf)
        return worst(defects)

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return products of two normal matrices, of unit variance."""
        rows, columns = shape[-2:]
        inner = min(self.rank, rows, columns)
        left, right = (
            torch.randn(
                *shape[:-2], n, inner, dtype=dtype, device=device, generator=generator
            )
            for n in (rows, columns)
        )
        return left @ right.mH / math.sqrt(inner)


@dataclass(frozen=True, slots=True)
class PSD(Manifold):
    """Hermitian matrices with r positive eigenvalues and the others zero.

    Args:
        rank: r, at least 1 and at most the extent.
        map: Map of the orthonormal factor.

    Raises:
        RankError: The rank is not a positive integer.
        MapError: No such map.

    Example:
        >>> PSD(1).in_manifold(torch.ones(3, 3))
        True
    """

    rank: int
    map: str = "exp"

    def __post_init__(self) -> None:
        check_rank(self.rank)
        Stiefel(self.map)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Eigenvectors, eigenvalues."""
        return Stiefel(self.map), Positive()

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want square matrices of extent no less than the rank."""
        check_square(self, shape)
        check_dtype(self, dtype)
        check_rank(self.rank, shape[-1])

    def split(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the largest eigenvalues, made positive, and their vectors."""
        with torch.no_grad():
            values, vectors = torch.linalg.eigh(hermitian(weight))
            positive = Positive().nearest(values[..., -self.rank :])
            return vectors[..., -self.rank :], positive

    def join(self, points: Sequence[Tensor]) -> Tensor:
        """Return ``U diag(s) U^H``."""
        vectors, values = points
        return hermitian((vectors * values[..., None, :]) @ vectors.mH)

    def defect(self, weight: Tensor) -> Tensor:
        """Return asymmetry and the other eigenvalues, relative to the largest.

        Infinite where fewer than r eigenvalues are positive.
        """
        broken = ~weight.isfinite().all(-1).all(-1)
        weight = weight.masked_fill(broken[..., None, None], 0)
        values = torch.linalg.eigvalsh(hermitian(weight))
        tiny = torch.finfo(weight.dtype).tiny
        largest = values.abs().amax(-1).clamp(min=tiny)
        rest = torch.linalg.vector_norm(values[..., : -self.rank], dim=-1)
        skewed = torch.linalg.matrix_norm(weight - weight.mH)
        lost = (values[..., -self.rank] <= 0) | broken
        return worst(((rest + skewed) / largest).masked_fill(lost, torch.inf))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return ``X X^H / r`` for a normal X of r columns."""
        x = torch.randn(
            *shape[:-1],
            min(self.rank, shape[-1]),
            dtype=dtype,
            device=device,
            generator=generator,
        )
        return hermitian(x @ x.mH / x.shape[-1])


@dataclass(frozen=True, slots=True)
class Wave:
    """A bounded odd function with derivative at zero, and its inverse on [-1, 1]."""

    forward: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]


WAVES = {
    "sin": Wave(torch.sin, torch.asin),
    "tanh": Wave(torch.tanh, torch.atanh),
    "sigmoid": Wave(lambda x: torch.tanh(x / 2), lambda y: 2 * torch.atanh(y)),
}


@dataclass(frozen=True, slots=True)
class AlmostOrthogonal(Manifold):
    """Matrices whose singular values lie within a distance of one.

    Args:
        radius: lambda in (0, 1], the largest distance.
        wave: f in ``1 + lambda f(s)``: ``"sin"``, ``"tanh"``, or ``"sigmoid"``, which
            is ``tanh(s/2)``.
        map: Map of the two orthonormal factors.

    Raises:
        RankError: The radius is out of range.
        MapError: No such map or function.

    Example:
        >>> AlmostOrthogonal(0.25).in_manifold(torch.diag(torch.tensor([0.8, 1.2])))
        True
    """

    radius: float
    wave: str = "sin"
    map: str = "exp"

    def __post_init__(self) -> None:
        if not 0 < self.radius <= 1:
            raise RankError(
                f"a radius in (0, 1] is needed, but radius={self.radius}",
                radius=self.radius,
            )
        if self.wave not in WAVES:
            raise MapError(
                f"the functions are {', '.join(WAVES)}, but wave={self.wave!r}",
                wave=self.wave,
                known=tuple(WAVES),
            )
        Stiefel(self.map)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Left factor, arguments of f, right factor."""
        return Stiefel(self.map), Euclidean(), Stiefel(self.map)

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want matrices."""
        check_frames(self, shape, dtype)

    def split(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Clip the singular values; those at the border are moved inside by eps."""
        with torch.no_grad():
            left, values, right = svd(weight)
            eps = torch.finfo(weight.dtype).eps
            scaled = ((values - 1) / self.radius).clamp(eps - 1, 1 - eps)
            return left, WAVES[self.wave].inverse(scaled), right.mH

    def join(self, points: Sequence[Tensor]) -> Tensor:
        """Return ``U diag(1 + lambda f(s)) V^H``."""
        left, arguments, right = points
        values = 1 + self.radius * WAVES[self.wave].forward(arguments)
        return (left * values[..., None, :]) @ right.mH

    def defect(self, weight: Tensor) -> Tensor:
        """Return how far the singular values leave their interval."""
        _, values, _ = svd(weight)
        return worst(((values - 1).abs() - self.radius).clamp(min=0))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return uniform factors and singular values uniform in the interval."""
        rows, columns = shape[-2:]
        inner = min(rows, columns)
        left, right = (
            Stiefel().sample(
                (*shape[:-2], n, inner), dtype=dtype, device=device, generator=generator
            )
            for n in (rows, columns)
        )
        uniform = torch.rand(
            *shape[:-2],
            inner,
            dtype=left.real.dtype,
            device=device,
            generator=generator,
        )
        values = 1 + self.radius * (2 * uniform - 1)
        return (left * values[..., None, :]) @ right.mH


def check_rank(rank: int, extent: int | None = None) -> None:
    """Refuse a rank that is out of range.

    Raises:
        RankError: Less than 1, or more than the extent.
    """
    if rank < 1 or (extent is not None and rank > extent):
        limit = "" if extent is None else f" and at most {extent}"
        raise RankError(
            f"a rank of at least 1{limit} is needed, but rank={rank}",
            rank=rank,
            extent=extent,
        )
