"""The copying memory problem."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from manifolds.errors import ShapeError

from .task import Batch, cross_entropy, right_answers

TOKENS = 10
SYMBOLS = 8


@dataclass(frozen=True, slots=True)
class Copying:
    """Repeat ten symbols after a long blank.

    Inputs are ten symbols 1 to 8, ``length`` blanks 0, the marker 9, nine blanks.
    Targets are ``length + 10`` blanks, then the symbols.

    Args:
        length: Blanks between the symbols and the marker, at least 1.

    Raises:
        ShapeError: The length is less than 1.

    Example:
        >>> task = Copying(3)
        >>> batch = task.draw(2, torch.Generator().manual_seed(0))
        >>> batch.inputs.shape, batch.targets[:13].any().item()
        (torch.Size([23, 2]), False)

    Source: S. Hochreiter, J. Schmidhuber 1997; set-up of Arjovsky et al. 2016.
    """

    length: int = 1000

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ShapeError(
                f"a length of at least 1 is needed, but length={self.length}",
                length=self.length,
            )

    @property
    def input_size(self) -> int:
        """Blank, symbols, marker."""
        return SYMBOLS + 2

    @property
    def output_size(self) -> int:
        """Blank, symbols."""
        return SYMBOLS + 1

    @property
    def every_step(self) -> bool:
        """A target at each step."""
        return True

    @property
    def baseline(self) -> float:
        """Blanks where they are due, then guesses: ``10 ln 8 / (length + 20)``."""
        return TOKENS * math.log(SYMBOLS) / (self.length + 2 * TOKENS)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Return random sequences [length + 20, size]."""
        symbols = torch.randint(1, SYMBOLS + 1, (TOKENS, size), generator=generator)
        inputs = torch.zeros(self.length + 2 * TOKENS, size, dtype=torch.int64)
        inputs[:TOKENS] = symbols
        inputs[self.length + TOKENS] = SYMBOLS + 1
        targets = torch.zeros_like(inputs)
        targets[-TOKENS:] = symbols
        return Batch(inputs, targets)

    def examine(self) -> Batch | None:
        """Nothing: draws are endless."""
        return None

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the cross-entropy over all steps."""
        return cross_entropy(outputs, batch.targets)

    def accuracy(self, outputs: Tensor, batch: Batch) -> float | None:
        """Return the part of the symbols that were repeated."""
        return right_answers(outputs[-TOKENS:], batch.targets[-TOKENS:])
