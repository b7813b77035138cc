import math

import pytest
import torch

from manifolds.errors import ShapeError
from manifolds.tasks import Adding


@pytest.mark.parametrize("length", [2, 3, 50])
def test_one_number_is_marked_in_each_half(length: int) -> None:
    batch = Adding(length).draw(20, torch.Generator().manual_seed(0))
    numbers, marks = batch.inputs.unbind(-1)
    half = length // 2
    assert (marks[:half].sum(0) == 1).all()
    assert (marks[half:].sum(0) == 1).all()
    assert torch.equal((numbers * marks).sum(0), batch.targets[:, 0])


def test_baseline_is_the_loss_of_the_mean() -> None:
    task = Adding(20)
    batch = task.draw(20_000, torch.Generator().manual_seed(0))
    loss = float(task.loss(torch.ones(20_000, 1), batch))
    assert math.isclose(loss, task.baseline, rel_tol=0.05)
    assert task.accuracy(batch.targets, batch) is None
    assert task.examine() is None
    assert (task.input_size, task.output_size, task.every_step) == (2, 1, False)


def test_length_is_at_least_two() -> None:
    with pytest.raises(ShapeError, match="length=1"):
        Adding(1)
