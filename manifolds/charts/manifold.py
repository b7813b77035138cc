"""What a manifold of weights can do, and what a chart around one of its points is.

A chart at a base point p is a smooth map ``move(p, .)`` from a linear space of
coordinates onto the manifold, or nearly so, with ``move(p, 0) == p``. Coordinates are
tensors that an optimizer may change freely. Where a chart reads only a part of them (a
triangle, a projection), the gradient on the rest is zero.

``tangent`` is the derivative of ``move`` at zero, onto the tangent space at p. For a
group it is the base times the element of the Lie algebra that the coordinates name, so
that they keep their meaning when the base changes; definite matrices do likewise. For
the others coordinates live in the surrounding space and ``tangent`` is the orthogonal
projection.

A weight may be made of several points (a factorisation, a product): ``split`` takes it
apart, ``join`` makes it, and each part has its own chart.

Source: M. Lezcano-Casado, Trivializations for gradient-based optimization on manifolds,
NeurIPS 2019, sections 3 to 6.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from manifolds.errors import MapError, NotOnManifoldError, PrecisionError, ShapeError

Shape = Sequence[int]


class Manifold(ABC):
    """A set of weights with a chart around each of its points."""

    __slots__ = ()

    @property
    @abstractmethod
    def charts(self) -> "tuple[Chart, ...]":
        """The chart of each part of a weight."""

    @abstractmethod
    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Refuse weights of a shape or dtype that the manifold does not have.

        Raises:
            ShapeError: The shape.
            PrecisionError: The dtype.
            RankError: A parameter of the manifold does not fit the shape.
        """

    @abstractmethod
    def split(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the parts of the nearest weight of the manifold, without gradient."""

    @abstractmethod
    def join(self, points: Sequence[Tensor]) -> Tensor:
        """Return the weight made of these parts; differentiable."""

    @abstractmethod
    def defect(self, weight: Tensor) -> Tensor:
        """Return how far the worst weight of the batch is from the manifold [scalar].

        Zero on the manifold but for rounding; infinite in another component or beyond
        an open border.
        """

    @abstractmethod
    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return random weights [shape]; uniform where the manifold is compact."""

    def project(self, weight: Tensor) -> Tensor:
        """Return the nearest weights of the manifold [shape of weight]."""
        with torch.no_grad():
            return self.join(self.split(weight))

    def in_manifold(self, weight: Tensor, tolerance: float | None = None) -> bool:
        """Tell whether all weights of the batch lie on the manifold.

        Args:
            weight: [..., n, k], or [..., n] for vectors.
            tolerance: Of the defect; ``10 * eps`` times the largest extent by default.

        Returns:
            False also where an element is not finite.
        """
        self.check(weight.shape, weight.dtype)
        if tolerance is None:
            extent = max([*weight.shape[-2:], 1])
            tolerance = 10 * extent * torch.finfo(weight.dtype).eps
        return bool(self.defect(weight.detach()) <= tolerance)

    def split_checked(self, weight: Tensor, tolerance: float) -> tuple[Tensor, ...]:
        """Split a weight that lies on the manifold but for small errors.

        Args:
            weight: As ``check`` wants it.
            tolerance: The largest defect to be repaired in silence.

        Returns:
            The parts of the nearest weight.

        Raises:
            NotOnManifoldError: The defect is larger, or not a number.
        """
        self.check(weight.shape, weight.dtype)
        defect = float(self.defect(weight)) if weight.numel() else 0.0
        if not defect <= tolerance:
            raise NotOnManifoldError(
                f"a weight on {self} was needed, but its defect is {defect:.3g}, "
                f"tolerance={tolerance:.3g}; assign manifold.project(weight)",
                defect=defect,
                tolerance=tolerance,
            )
        return self.split(weight)


class Chart(Manifold):
    """A manifold whose weights have one part, with its map from coordinates."""

    __slots__ = ()

    @property
    def charts(self) -> "tuple[Chart, ...]":
        """Itself."""
        return (self,)

    def split(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the nearest point."""
        with torch.no_grad():
            return (self.nearest(weight),)

    def join(self, points: Sequence[Tensor]) -> Tensor:
        """Return the point."""
        (point,) = points
        return point

    @abstractmethod
    def nearest(self, weight: Tensor) -> Tensor:
        """Return the nearest point of the manifold."""

    @abstractmethod
    def tangent(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the tangent vector at the base that the coordinates name."""

    @abstractmethod
    def move(self, base: Tensor, coordinates: Tensor) -> Tensor:
        """Return the point that the coordinates name around the base.

        Law: ``move(p, 0) == p`` and its derivative at 0 is ``tangent(p, .)``.
        """

    def transport(self, base: Tensor, vector: Tensor) -> Tensor:
        """Carry coordinates of a tangent vector elsewhere to this base.

        Groups keep them as they are, which is this default.
        """
        return vector


def check_map(manifold: object, map: object, known: Sequence[str]) -> None:
    """Refuse a map that the manifold does not have.

    Raises:
        MapError: ``map`` is neither one of the known names nor callable.
    """
    if not callable(map) and map not in known:
        name = type(manifold).__name__
        raise MapError(
            f"{name} has the maps {', '.join(known)}, but map={map!r}",
            map=map,
            known=tuple(known),
        )


def check_dtype(manifold: object, dtype: torch.dtype, complex: bool = True) -> None:
    """Refuse dtypes in which a point cannot be held with precision.

    Raises:
        PrecisionError: Integer or half precision; or complex where it makes no sense.
    """
    known = [torch.float32, torch.float64]
    if complex:
        known += [torch.complex64, torch.complex128]
    if dtype not in known:
        names = ", ".join(str(each).removeprefix("torch.") for each in known)
        raise PrecisionError(
            f"{type(manifold).__name__} needs one of {names}, but dtype={dtype}; "
            "convert the weight, or let manifolds.constrain keep the parameter of a "
            "half-precision weight in float32",
            dtype=dtype,
        )


def check_square(manifold: object, shape: Shape) -> None:
    """Refuse shapes that are not of square matrices with at least one row.

    Raises:
        ShapeError: Not [..., n, n] with n >= 1.
    """
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 1:
        raise ShapeError(
            f"{type(manifold).__name__} holds square matrices [..., n, n], n >= 1, but "
            f"shape={tuple(shape)}",
            shape=tuple(shape),
        )


def worst(defects: Tensor) -> Tensor:
    """Return the largest defect of a batch, NaN counting as infinite [scalar]."""
    if not defects.numel():
        return defects.new_zeros(())
    return defects.nan_to_num(nan=torch.inf, posinf=torch.inf).amax()
