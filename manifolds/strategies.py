"""Hypothesis strategies: manifolds with a shape and dtype that they hold, and tensors.

Everything drawn is valid, and shrinks towards one small matrix of real numbers.

Example:
    >>> from hypothesis import find
    >>> case = find(cases(), lambda case: True)
    >>> case.manifold.in_manifold(case.weight())
    True
"""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from manifolds.charts import (
    PSD,
    SL,
    SO,
    SPD,
    SU,
    AlmostOrthogonal,
    Euclidean,
    GLPlus,
    Grassmannian,
    Hyperboloid,
    LowRank,
    Manifold,
    O,
    Positive,
    Product,
    Sphere,
    Stiefel,
    U,
)

REAL, COMPLEX = torch.float64, torch.complex128

MANIFOLDS: dict[str, tuple[Manifold, tuple[int, ...], tuple[torch.dtype, ...]]] = {
    "SO exp": (SO(), (3, 3), (REAL,)),
    "SO cayley": (SO("cayley"), (4, 4), (REAL,)),
    "O": (O(), (3, 3), (REAL,)),
    "O of det -1": (O(det=-1), (3, 3), (REAL,)),
    "U exp": (U(), (2, 2), (COMPLEX,)),
    "U cayley": (U("cayley"), (3, 3), (COMPLEX,)),
    "SU": (SU(), (3, 3), (COMPLEX,)),
    "Stiefel exp": (Stiefel(), (5, 2), (REAL, COMPLEX)),
    "Stiefel wide": (Stiefel(), (2, 4), (REAL, COMPLEX)),
    "Stiefel square": (Stiefel(), (3, 3), (REAL, COMPLEX)),
    "Stiefel cayley": (Stiefel("cayley"), (4, 2), (REAL, COMPLEX)),
    "Stiefel qr": (Stiefel("qr"), (4, 2), (REAL, COMPLEX)),
    "Grassmannian exp": (Grassmannian(), (4, 2), (REAL, COMPLEX)),
    "Grassmannian qr": (Grassmannian("qr"), (4, 2), (REAL, COMPLEX)),
    "sphere exp": (Sphere(), (4,), (REAL, COMPLEX)),
    "sphere project": (Sphere("project"), (4,), (REAL, COMPLEX)),
    "hyperboloid": (Hyperboloid(), (4,), (REAL,)),
    "SPD exp": (SPD(), (3, 3), (REAL, COMPLEX)),
    "SPD log": (SPD("log"), (3, 3), (REAL, COMPLEX)),
    "SPD cholesky": (SPD("cholesky"), (3, 3), (REAL, COMPLEX)),
    "GL+ exp": (GLPlus(), (3, 3), (REAL,)),
    "GL+ lie": (GLPlus("lie"), (3, 3), (REAL,)),
    "SL exp": (SL(), (3, 3), (REAL, COMPLEX)),
    "SL lie": (SL("lie"), (3, 3), (REAL, COMPLEX)),
    "positive exp": (Positive(), (3,), (REAL,)),
    "positive softplus": (Positive("softplus"), (3,), (REAL,)),
    "Euclidean": (Euclidean(), (3,), (REAL, COMPLEX)),
    "rank at most 2": (LowRank(2), (4, 3), (REAL, COMPLEX)),
    "rank 2": (LowRank(2, exact=True), (3, 4), (REAL, COMPLEX)),
    "PSD of rank 2": (PSD(2), (4, 4), (REAL, COMPLEX)),
    "almost orthogonal sin": (AlmostOrthogonal(0.3), (4, 2), (REAL, COMPLEX)),
    "almost orthogonal tanh": (AlmostOrthogonal(0.5, "tanh"), (3, 3), (REAL,)),
    "almost orthogonal sigmoid": (AlmostOrthogonal(1.0, "sigmoid"), (2, 3), (REAL,)),
    "product": (
        Product(((SO(), 3), (Sphere(), 1), (LowRank(1), 2))),
        (6, 3),
        (REAL,),
    ),
}
"""Name -> a manifold, the shape of its smallest interesting weight, its dtypes."""


@dataclass(frozen=True, slots=True)
class Case:
    """A manifold with a shape that it holds.

    Args:
        name: Key of ``MANIFOLDS``.
        manifold: The manifold.
        shape: Of its weights, with batch dims.
        dtype: Of its weights.
        seed: Of everything random.
    """

    name: str
    manifold: Manifold
    shape: tuple[int, ...]
    dtype: torch.dtype
    seed: int

    def weight(self) -> Tensor:
        """Return a random weight."""
        return self.manifold.sample(
            self.shape, dtype=self.dtype, generator=self._generator(0)
        )

    def points(self) -> tuple[Tensor, ...]:
        """Return the parts of the random weight."""
        return self.manifold.split(self.weight())

    def coordinates(self, scale: float, stream: int = 1) -> tuple[Tensor, ...]:
        """Return random coordinates for each part, of this size.

        Args:
            scale: Standard deviation.
            stream: Another number gives other coordinates.
        """
        generator = self._generator(stream)
        return tuple(
            torch.randn(point.shape, dtype=point.dtype, generator=generator) * scale
            for point in self.points()
        )

    def _generator(self, stream: int) -> torch.Generator:
        return torch.Generator().manual_seed(1000 * self.seed + stream)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a manifold, batch dims, a dtype and a seed.

    Returns:
        Cases; ``MANIFOLDS`` in order of shrinking.
    """
    name = draw(st.sampled_from(list(MANIFOLDS)))
    manifold, shape, dtypes = MANIFOLDS[name]
    batch = draw(st.sampled_from(((), (1,), (2,), (2, 1))))
    dtype = draw(st.sampled_from(dtypes))
    seed = draw(st.integers(0, 10_000))
    return Case(name, manifold, (*batch, *shape), dtype, seed)


def scales() -> st.SearchStrategy[float]:
    """Draw sizes of coordinates, zero first, up to beyond the first conjugate point."""
    return st.sampled_from((0.0, 1e-9, 1e-4, 0.1, 1.0, 3.0))
