"""Products of manifolds, as the blocks of one weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import ShapeError

from .manifold import Chart, Manifold, Shape, worst


@dataclass(frozen=True, slots=True)
class Product(Manifold):
    """Weights cut into blocks along one dim, each on its own manifold.

    Args:
        blocks: Pairs of a manifold and the extent of its block.
        dim: Negative number of the dim that is cut.

    Raises:
        ShapeError: There is no block, an extent is not positive, or dim is not
            negative.

    Example:
        >>> from manifolds.charts import SO, Sphere
        >>> both = Product(((SO(), 2), (Sphere(), 1)))
        >>> both.in_manifold(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))
        True
    """

    blocks: tuple[tuple[Manifold, int], ...]
    dim: int = -2

    def __post_init__(self) -> None:
        if not self.blocks or self.dim >= 0 or min(self.sizes) < 1:
            raise ShapeError(
                "blocks of positive extents and a negative dim are needed, but "
                f"sizes={self.sizes}, dim={self.dim}",
                sizes=self.sizes,
                dim=self.dim,
            )

    @property
    def sizes(self) -> list[int]:
        """The extents of the blocks."""
        return [size for _, size in self.blocks]

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Those of all blocks, in order."""
        return tuple(chart for part, _ in self.blocks for chart in part.charts)

    def check(self, shape: Shape, dtype: torch.dtype) -> None:
        """Want an extent that is the sum of the blocks', and check each block."""
        if len(shape) < -self.dim or shape[self.dim] != sum(self.sizes):
            raise ShapeError(
                f"dim {self.dim} must have extent {sum(self.sizes)}, the sum of the "
                f"blocks {self.sizes}, but shape={tuple(shape)}",
                shape=tuple(shape),
            )
        for part, size in self.blocks:
            block = list(shape)
            block[self.dim] = size
            part.check(block, dtype)

    def split(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the parts of all blocks, in order."""
        cut = weight.split(self.sizes, self.dim)
        pairs = zip(self.blocks, cut, strict=True)
        return tuple(point for (part, _), block in pairs for point in part.split(block))

    def join(self, points: Sequence[Tensor]) -> Tensor:
        """Concatenate the blocks."""
        rest = iter(points)
        blocks = [
            part.join([next(rest) for _ in part.charts]) for part, _ in self.blocks
        ]
        return torch.cat(blocks, self.dim)

    def defect(self, weight: Tensor) -> Tensor:
        """Return the largest defect of the blocks."""
        cut = weight.split(self.sizes, self.dim)
        defects = [
            part.defect(block)
            for (part, _), block in zip(self.blocks, cut, strict=True)
        ]
        return worst(torch.stack(defects))

    def sample(
        self,
        shape: Shape,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return a sample of each block."""
        samples = []
        for part, size in self.blocks:
            block = list(shape)
            block[self.dim] = size
            samples.append(
                part.sample(block, dtype=dtype, device=device, generator=generator)
            )
        return torch.cat(samples, self.dim)
