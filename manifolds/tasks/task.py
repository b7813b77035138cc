"""What a sequence task offers to training."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs and targets, time first.

    Args:
        inputs: [time, batch, features], or integers [time, batch].
        targets: [time, batch, ...], or of the whole sequence [batch, ...].
        mask: Which targets count [time, batch]; None is all.
    """

    inputs: Tensor
    targets: Tensor
    mask: Tensor | None = None

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on a device."""
        mask = None if self.mask is None else self.mask.to(device)
        return Batch(self.inputs.to(device), self.targets.to(device), mask)


class Task(Protocol):
    """A source of batches with its loss."""

    @property
    def input_size(self) -> int:
        """Features of an input, or its number of classes."""

    @property
    def output_size(self) -> int:
        """Numbers that the network must give."""

    @property
    def every_step(self) -> bool:
        """Whether there is a target at each step, or one at the end."""

    @property
    def baseline(self) -> float:
        """The loss of an answer that remembers nothing."""

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Return a random batch to train on."""

    def examine(self) -> Batch | None:
        """Return what is kept for testing; None where draws are endless."""

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the mean loss [scalar].

        Args:
            outputs: [time, batch, output_size], or without time.
            batch: What they answer.
        """

    def accuracy(self, outputs: Tensor, batch: Batch) -> float | None:
        """Return the part of right answers; None for a regression."""


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy over all steps and sequences.

    Args:
        outputs: Logits [..., classes].
        targets: Integers [...].

    Example:
        >>> float(cross_entropy(torch.zeros(3, 2, 1), torch.zeros(3, 2).long()))
        0.0
    """
    return torch.nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten())


def right_answers(outputs: Tensor, targets: Tensor) -> float:
    """Return the part of targets that have the largest logit.

    Example:
        >>> right_answers(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([1, 1]))
        0.5
    """
    return float((outputs.argmax(-1) == targets).double().mean())
