"""The compact groups: orthogonal and unitary matrices.

The chart at B is ``B exp(A)`` or ``B cay(A)``, A skew. The metric is bi-invariant, so
the exponential of the group is the Riemannian one, and coordinates keep their meaning
when the base changes.

Source: Lezcano-Casado, Martinez-Rubio, Cheap orthogonal constraints in neural networks,
ICML 2019, section 3; Lezcano-Casado, NeurIPS 2019, section 6.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import PrecisionError, RankError
from manifolds.expm import expm

from .algebra import cayley, skew, traceless
from .manifold import Chart, Shape, check_dtype, check_map, check_square, worst
from .polar import gram_defect, orthonormal, orthonormal_of_sign
from .tori import haar

Map = str | Callable[[Tensor], Tensor]
"""A name, or a function from skew to unitary matrices, ``I + A`` to first order."""

MAPS: dict[str, Callable[[Tensor], Tensor]] = {"exp": expm, "cayley": cayley}


def apply_map(map: Map, matrix: Tensor) -> Tensor:
    """Return the map of a skew matrix [..., n, n]."""
    return MAPS[map](matrix) if isinstance(map, str) else map(matrix)


@dataclass(frozen=True, slots=True)
class O(Chart):  # noqa: E742 the name of the group
    """Real orthogonal matrices of one determinant, or of each matrix's own.

    Args:
        det: 1, -1, or None: a weight keeps the sign that it has.
        map: ``"exp"``, ``"cayley"`` or a function of the skew matrix.

    Raises:
        RankError: No such determinant.
        MapError: No such map.

    Example:
        >>> O(det=-1).in_manifold(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        True
    """

    det: int | None = None
    map: Map = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, tuple(MAPS))
        if self.det not in (1, -1, None):
            raise RankError(
                f"a determinant 1, -1 or None is needed, but det={self.det!r}",
                det=self.det,
            )

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want real square matrices."""
        check_square(self, shape)
        check_dtype(self, dtype, complex=False)

    def nearest(self, weight: Tensor) -> Tensor:
        """Return the polar factor, with the least direction flipped for the sign."""
        if self.det is None:
            return orthonormal(weight)
        return orthonormal_of_sign(weight, self.det)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``||Q^T Q - I||_F``; infinite where the determinant is the other."""
        defects = gram_defect(weight)
        if self.det is not None:
            wrong = torch.linalg.det(weight) * self.det <= 0
            defects = defects.masked_fill(wrong, torch.inf)
        return worst(defects)

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return uniform matrices, by Haar measure."""
        q = haar(shape, dtype=dtype, device=device, generator=generator)
        if self.det is not None:
            q[..., 0] *= torch.linalg.det(q).sign()[..., None] * self.det
        return q

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``B A``, A read from the strict upper triangle."""
        return base @ skew(coordinates)

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``B map(A)``."""
        return base @ apply_map(self.map, skew(coordinates))


def SO(map: Map = "exp") -> O:  # noqa: N802 the name of the group
    """Return the manifold of rotations, orthogonal matrices of determinant one.

    Args:
        map: ``"exp"``, ``"cayley"`` or a function of the skew matrix.

    Returns:
        ``O(det=1, map=map)``.

    Example:
        >>> SO().in_manifold(torch.eye(3))
        True
    """
    return O(det=1, map=map)


@dataclass(frozen=True, slots=True)
class U(Chart):
    """Unitary matrices.

    Args:
        map: ``"exp"``, ``"cayley"`` or a function of the skew-Hermitian matrix.

    Raises:
        MapError: No such map.

    Example:
        >>> U().in_manifold(1j * torch.eye(2, dtype=torch.complex64))
        True
    """

    map: Map = "exp"

    def __post_init__(self) -> None:
        check_map(self, self.map, tuple(MAPS))

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want complex square matrices."""
        check_square(self, shape)
        check_complex(self, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Return the polar factor."""
        return orthonormal(weight)

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``||Q^H Q - I||_F``."""
        return worst(gram_defect(weight))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return uniform matrices, by Haar measure; complex64 by default."""
        dtype = dtype or torch.complex64
        return haar(shape, dtype=dtype, device=device, generator=generator)

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``B A``, A read from the upper triangle."""
        return base @ skew(coordinates)

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``B map(A)``."""
        return base @ apply_map(self.map, skew(coordinates))


@dataclass(frozen=True, slots=True)
class SU(Chart):
    """Unitary matrices of determinant one; the map is exp, which keeps it.

    Example:
        >>> SU().in_manifold(1j * torch.eye(2, dtype=torch.complex64))
        False
    """

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want complex square matrices."""
        check_square(self, shape)
        check_complex(self, dtype)

    def nearest(self, weight: Tensor) -> Tensor:
        """Return the polar factor, divided by a root of its determinant."""
        q = orthonormal(weight)
        root: Tensor = torch.linalg.det(q) ** (1 / q.shape[-1])
        return q / root[..., None, None]

    def defect(self, weight: Tensor) -> Tensor:
        """Return ``||Q^H Q - I||_F + |det Q - 1|``."""
        return worst(gram_defect(weight) + (torch.linalg.det(weight) - 1).abs())

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return uniform matrices, by Haar measure; complex64 by default."""
        dtype = dtype or torch.complex64
        q = haar(shape, dtype=dtype, device=device, generator=generator)
        q[..., 0] /= torch.linalg.det(q)[..., None]
        return q

    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``B A``, A read from the upper triangle and made traceless."""
        return base @ traceless(skew(coordinates))

    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return ``B exp(A)``."""
        return base @ expm(traceless(skew(coordinates)))


def check_complex(manifold: object, dtype: torch.dtype) -> None:
    """Refuse real dtypes.

    Raises:
        PrecisionError: Half precision, an integer, or real; O and SO hold those.
    """
    check_dtype(manifold, dtype)
    if not dtype.is_complex:
        raise PrecisionError(
            f"{type(manifold).__name__} holds complex matrices, but dtype={dtype}; use "
            "SO or O for real ones",
            dtype=dtype,
        )
