"""A weight as the image of free parameters, around a base that may move.

The parameters y are coordinates of a chart at the base p. With a static base this is
the exponential parametrization; moving the base to the present point every K steps is
the dynamic trivialization of period K, and K = 1 is Riemannian gradient descent.

The base moves between an optimizer step and the next forward pass: the new graph is
built in the new chart, so that the gradient is that of the chart in which it is
applied. Base and coordinates are changed in place. A graph built before cannot be used
after: autograd refuses it; and a compiled module needs no new compilation.

Source: Lezcano-Casado, NeurIPS 2019, algorithm 5.1.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from manifolds.charts import Manifold
from manifolds.errors import PolicyError, PrecisionError, ShapeError

HALVES = (torch.bfloat16, torch.float16)


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype in which a weight's parameter is kept.

    Args:
        dtype: Of the weight.

    Returns:
        float32 for half precision, else the same.

    Example:
        >>> working_dtype(torch.bfloat16)
        torch.float32
    """
    return torch.float32 if dtype in HALVES else dtype


class Trivialization(nn.Module):
    """Parametrization of one weight, for ``torch.nn.utils.parametrize``.

    Law: at zero coordinates the weight is the base. Assigning a weight of the manifold
    gives that weight back. Changing the base changes no weight but for rounding.

    Buffers, all in the state: ``base_0`` and so on, one for each part of the weight;
    ``steps``, optimizer steps so far; ``rebases``, changes of the base so far.

    A weight in half precision has its base and its parameter in float32 and is rounded
    at the end, so it is as orthogonal as its dtype allows.

    Args:
        manifold: Where the weight lives.
        weight: On the manifold, in the dtype of the parameter; becomes the base.
        dtype: Of the weight that ``forward`` returns, if it is not the parameter's.
        every: K, optimizer steps between changes of the base; None is never.
        project_every: M, changes of the base between repairs of its rounding errors;
            None is never.

    Raises:
        NotOnManifoldError: The weight is not on the manifold.
        ShapeError: The manifold has no such shape.
        PrecisionError: The manifold has no such dtype.
        PolicyError: A period is not positive.

    Example:
        >>> from manifolds.charts import Sphere
        >>> t = Trivialization(Sphere(), torch.tensor([1.0, 0.0]))
        >>> t(torch.tensor([5.0, torch.pi])).round(decimals=5).tolist()
        [-1.0, -0.0]
    """

    steps: Tensor
    rebases: Tensor

    def __init__(
        self,
        manifold: Manifold,
        weight: Tensor,
        *,
        dtype: torch.dtype | None = None,
        every: int | None = None,
        project_every: int | None = 30,
    ) -> None:
        super().__init__()
        check_period("every", every)
        check_period("project_every", project_every)
        self.manifold = manifold
        self.every = every
        self.project_every = project_every
        self.rounded_to = dtype if dtype in HALVES else None
        for position, point in enumerate(self._split(weight)):
            self.register_buffer(f"base_{position}", point.clone())
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rebases", torch.zeros((), dtype=torch.int64))
        self._steps = self._rebases = 0
        self.register_load_state_dict_post_hook(  # type: ignore[no-untyped-call]
            _read_counters
        )

    @property
    def base(self) -> tuple[Tensor, ...]:
        """The base point of each part."""
        return tuple(
            self.get_buffer(f"base_{position}")
            for position in range(len(self.manifold.charts))
        )

    def forward(self, *coordinates: Tensor) -> Tensor:
        """Return the weight.

        Args:
            coordinates: One tensor for each part, of the shape of its base.

        Returns:
            The weight; rounded if it is to be of half precision.

        Raises:
            PrecisionError: The parameters were converted to half precision.
        """
        if coordinates[0].dtype in HALVES:
            raise PrecisionError(
                "parameters of a trivialization are needed in float32 or float64, but "
                f"dtype={coordinates[0].dtype}; convert the module to half precision "
                "before it is parametrized, not after",
                dtype=coordinates[0].dtype,
            )
        charts = self.manifold.charts
        parts = zip(charts, self.base, coordinates, strict=True)
        # a product in half precision is not orthogonal
        with torch.autocast(coordinates[0].device.type, enabled=False):
            weight = self.manifold.join([c.move(p, y) for c, p, y in parts])
        return weight if self.rounded_to is None else weight.to(self.rounded_to)

    def right_inverse(self, weight: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Make a weight the base; the coordinates are zero.

        Args:
            weight: On the manifold up to the square root of its dtype's eps; smaller
                errors are repaired.

        Returns:
            Zeros for each part; a lone tensor if there is one.

        Raises:
            NotOnManifoldError: The weight is too far from the manifold.
            ShapeError: The shape is not that of the weight.
            PrecisionError: An integer, or the manifold has no such dtype.
        """
        with torch.no_grad():
            points = self._split(weight)
            for base, point in zip(self.base, points, strict=True):
                if point.shape != base.shape:
                    raise ShapeError(
                        "a weight of the shape it had was needed, a part of which is "
                        f"{tuple(base.shape)}, but shape={tuple(weight.shape)} gives "
                        f"{tuple(point.shape)}",
                        shape=tuple(weight.shape),
                    )
            for base, point in zip(self.base, points, strict=True):
                base.copy_(point)
        zeros = tuple(torch.zeros_like(base) for base in self.base)
        return zeros[0] if len(zeros) == 1 else zeros

    def tick(self) -> bool:
        """Count an optimizer step; tell whether the base is to move now."""
        self._steps += 1
        self.steps.fill_(self._steps)
        return self.every is not None and self._steps % self.every == 0

    @torch.no_grad()
    def rebase(self, coordinates: Sequence[Tensor]) -> None:
        """Move the base to the present point and set the coordinates to zero, in place.

        Every ``project_every`` times the new base is replaced by the nearest point of
        the manifold.

        Args:
            coordinates: The parameters, one for each part.
        """
        self._rebases += 1
        self.rebases.fill_(self._rebases)
        every = self.project_every
        repair = every is not None and self._rebases % every == 0
        parts = zip(self.manifold.charts, self.base, coordinates, strict=True)
        for chart, base, free in parts:
            point = chart.move(base, free)
            base.copy_(chart.nearest(point) if repair else point)
            free.zero_()

    def extra_repr(self) -> str:
        """Name the manifold and the periods."""
        return (
            f"{self.manifold}, every={self.every}, project_every={self.project_every}"
        )

    def _split(self, weight: Tensor) -> tuple[Tensor, ...]:
        if not (weight.is_floating_point() or weight.is_complex()):
            raise PrecisionError(
                "a weight of floating-point numbers was needed, but "
                f"dtype={weight.dtype}; convert it",
                dtype=weight.dtype,
            )
        tolerance = torch.finfo(weight.dtype).eps ** 0.5
        exact = weight.detach().to(working_dtype(weight.dtype))
        return self.manifold.split_checked(exact, tolerance)


def _read_counters(module: Trivialization, _: object) -> None:
    module._steps = int(module.steps)
    module._rebases = int(module.rebases)


def check_period(name: str, period: int | None) -> None:
    """Refuse periods that are not positive.

    Raises:
        PolicyError: Neither None nor an integer of at least 1.

    Example:
        >>> check_period("every", 1)
    """
    whole = isinstance(period, int) and not isinstance(period, bool)
    if period is not None and not (whole and period >= 1):
        raise PolicyError(
            f"{name} must be an integer of at least 1, or None for never, but "
            f"{name}={period!r}",
            period=period,
        )
