"""The adding problem."""

from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import ShapeError

from .task import Batch


@dataclass(frozen=True, slots=True)
class Adding:
    """Add the two numbers of a long sequence that are marked.

    Args:
        length: Steps, at least 2; a number is marked in each half.

    Raises:
        ShapeError: The length is less than 2.

    Example:
        >>> batch = Adding(10).draw(3, torch.Generator().manual_seed(0))
        >>> numbers, marks = batch.inputs.unbind(-1)
        >>> torch.equal((numbers * marks).sum(0), batch.targets[:, 0])
        True

    Source: S. Hochreiter, J. Schmidhuber 1997.
    """

    length: int = 200

    def __post_init__(self) -> None:
        if self.length < 2:
            raise ShapeError(
                f"a length of at least 2 is needed, but length={self.length}",
                length=self.length,
            )

    @property
    def input_size(self) -> int:
        """Number and mark."""
        return 2

    @property
    def output_size(self) -> int:
        """The sum."""
        return 1

    @property
    def every_step(self) -> bool:
        """One target at the end."""
        return False

    @property
    def baseline(self) -> float:
        """The variance of a sum of two uniform numbers, 1/6."""
        return 1 / 6

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Return random sequences [length, size, 2] and sums [size, 1]."""
        numbers = torch.rand(self.length, size, generator=generator)
        marks = torch.zeros(self.length, size)
        half = self.length // 2
        columns = torch.arange(size)
        marks[torch.randint(half, (size,), generator=generator), columns] = 1
        second = torch.randint(half, self.length, (size,), generator=generator)
        marks[second, columns] = 1
        total = (numbers * marks).sum(0)
        return Batch(torch.stack([numbers, marks], -1), total.unsqueeze(-1))

    def examine(self) -> Batch | None:
        """Nothing: draws are endless."""
        return None

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the mean squared error."""
        return torch.nn.functional.mse_loss(outputs, batch.targets)

    def accuracy(self, outputs: Tensor, batch: Batch) -> float | None:
        """Nothing: it is a regression."""
        return None
