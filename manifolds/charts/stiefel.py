"""Matrices with orthonormal columns, and the subspaces that they span.

A tangent vector D at U splits into ``A = U^H D``, skew-Hermitian, and ``K = D - U A``,
orthogonal to U. The geodesic of the canonical metric is usually written with a QR
factorisation of K, whose derivative does not exist at K = 0, where training starts
after each change of the base. With ``S = K^H K`` it is also

    ``exp_U(D) = U X + K y``,  ``[X; y] = exp([[A, -S], [I, 0]]) [I; 0]``,

which is smooth everywhere and costs O(n k^2): one exponential of size 2k.

A wide matrix has orthonormal rows: it is treated as its adjoint.

Source: A. Edelman, T. Arias, S. Smith, The geometry of algorithms with orthogonality
constraints, SIAM J. Matrix Anal. Appl. 20 (1998), corollary 2.2; Z. Wen, W. Yin, A
feasible method for optimization with orthogonality constraints (2013), lemma 4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import ShapeError
from manifolds.expm import expm

from .algebra import hermitian
from .manifold import Chart, Shape, check_dtype, check_map, worst
from .polar import gram_defect, orthonormal
from .tori import haar, phased_qr


@dataclass(frozen=True, slots=True)
class Stiefel(Chart):
    """Matrices with orthonormal columns, or rows where they are wide.

    Args:
        map: ``"exp"`` (geodesic of the canonical metric), ``"cayley"`` or ``"qr"``.

    Raises:
        MapError: No such map.

    Example:
        >>> Stiefel().in_manifold(torch.eye(4)[:, :2])
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, tuple(MAPS))

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want matrices."""
        check_frames(self, shape, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Return the polar factor."""
        return orthonormal(weight)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``||U^H U - I||_F``."""
        return worst(gram_defect(weight))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return uniform matrices, by Haar measure."""
        return haar(shape, dtype=dtype, device=device, generator=generator)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the orthogonal projection ``Y - U herm(U^H Y)``."""
        return upright(_project, base, coordinates)

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the map of the projection."""
        return upright(self._move, base, coordinates)

    def transport(self, base: Tensor, vector: Tensor) -> Tensor:
        """Project to the tangent space at the new base."""
        return self.tangent(base, vector)

    def _move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        return MAPS[self.map](base, _project(base, coordinates))


@dataclass(frozen=True, slots=True)
class Grassmannian(Chart):
    """Subspaces, each held by an orthonormal basis of it.

    Args:
        map: ``"exp"`` (geodesic) or ``"qr"``.

    Raises:
        MapError: No such map.

    Example:
        >>> Grassmannian().in_manifold(torch.eye(4)[:, :2])
        True
    """

    map: str = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, ("exp", "qr"))

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want matrices."""
        check_frames(self, shape, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Return the polar factor, a basis of the column space."""
        return orthonormal(weight)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``||U^H U - I||_F``."""
        return worst(gram_defect(weight))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return bases of uniform subspaces."""
        return haar(shape, dtype=dtype, device=device, generator=generator)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``Y - U U^H Y``, the part that turns the subspace."""
        return upright(_project_out, base, coordinates)

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the map of the projection."""
        return upright(self._move, base, coordinates)

    def transport(self, base: Tensor, vector: Tensor) -> Tensor:
        """Project to the tangent space at the new base."""
        return self.tangent(base, vector)

    def _move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        return MAPS[self.map](base, _project_out(base, coordinates))


def check_frames(manifold: object, shape: Shape, dtype: torch.dtype) -> None:
    """Refuse what has no orthonormal columns.

    Raises:
        ShapeError: Fewer than two dims, or no row or column.
        PrecisionError: Half precision or an integer.
    """
    check_dtype(manifold, dtype)
    if len(shape) < 2 or min(shape[-2:]) < 1:
        raise ShapeError(
            f"{type(manifold).__name__} holds matrices [..., n, k], n and k >= 1, but "
            f"shape={tuple(shape)}",
            shape=tuple(shape),
        )


def upright(
    f: Callable[[Tensor, Tensor], Tensor], base: Tensor, coordinates: Tensor
) -> Tensor:
    """Apply a function of tall matrices, to the adjoints where they are wide."""
    if base.shape[-2] >= base.shape[-1]:
        return f(base, coordinates)
    # physical: optimizers refuse gradients whose conjugation is pending
    return f(base.mH, coordinates.mT.conj_physical()).mH


def _project(base: Tensor, free: Tensor) -> Tensor:
    return free - base @ hermitian(base.mH @ free)


def _project_out(base: Tensor, free: Tensor) -> Tensor:
    return free - base @ (base.mH @ free)


def geodesic(base: Tensor, tangent: Tensor) -> Tensor:
    """Follow the geodesic of the canonical metric for unit time.

    The two off-diagonal blocks are balanced by the square root of the norm of S, a
    similarity that changes neither the value nor the gradient.

    Args:
        base: U, orthonormal columns [..., n, k].
        tangent: D at U [..., n, k].

    Returns:
        A point [..., n, k].

    Example:
        >>> u = torch.tensor([[1.0], [0.0]])
        >>> d = torch.tensor([[0.0], [torch.pi / 2]])
        >>> geodesic(u, d).round(decimals=5).flatten().abs().tolist()
        [0.0, 1.0]
    """
    a, k, s = _parts(base, tangent)
    size = s.shape[-1]
    norm = s.detach().abs().sum(-2).amax(-1)[..., None, None]
    balance = norm.sqrt().clamp(min=1)
    eye = torch.eye(size, dtype=s.dtype, device=s.device).expand_as(s)
    upper = torch.cat([a, -s / balance], -1)
    lower = torch.cat([eye * balance, torch.zeros_like(s)], -1)
    column = expm(torch.cat([upper, lower], -2))[..., :size]
    return base @ column[..., :size, :] + k @ (column[..., size:, :] / balance)


def cayley_step(base: Tensor, tangent: Tensor) -> Tensor:
    """Apply to U the Cayley transform of ``(U A + K) U^H - U K^H``.

    Args:
        base: U, orthonormal columns [..., n, k].
        tangent: D at U [..., n, k].

    Returns:
        A point [..., n, k], by one solve of size 2k.

    Example:
        >>> u = torch.tensor([[1.0], [0.0]])
        >>> cayley_step(u, torch.tensor([[0.0], [2.0]])).flatten().abs().tolist()
        [0.0, 1.0]
    """
    a, _, s = _parts(base, tangent)
    size = s.shape[-1]
    eye = torch.eye(size, dtype=s.dtype, device=s.device).expand_as(s)
    zero = torch.zeros_like(s)
    upper = torch.cat([eye - a / 2, eye / 2], -1)
    lower = torch.cat([-s / 2, eye], -1)
    unit = torch.cat([eye, zero], -2)
    column: Tensor = torch.linalg.solve_ex(torch.cat([upper, lower], -2), unit)[0]
    return base + tangent @ column[..., :size, :] - base @ column[..., size:, :]


def _parts(base: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    a = base.mH @ tangent
    k = tangent - base @ a
    return a, k, k.mH @ k


def qr_step(base: Tensor, tangent: Tensor) -> Tensor:
    """Return the Q factor of ``U + D`` whose R has a positive diagonal.

    Example:
        >>> u = torch.tensor([[1.0], [0.0]])
        >>> qr_step(u, torch.tensor([[0.0], [0.0]])).flatten().abs().tolist()
        [1.0, 0.0]
    """
    return phased_qr(base + tangent)


MAPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "exp": geodesic,
    "cayley": cayley_step,
    "qr": qr_step,
}
