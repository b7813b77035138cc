import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from manifolds.errors import ShapeError
from manifolds.tasks import Copying


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 99))
def test_what_is_shown_is_to_be_repeated(length: int, size: int, seed: int) -> None:
    batch = Copying(length).draw(size, torch.Generator().manual_seed(seed))
    x, y = batch.inputs, batch.targets
    assert x.shape == y.shape == (length + 20, size)
    assert torch.equal(x[:10], y[-10:])
    assert ((x[:10] >= 1) & (x[:10] <= 8)).all()
    assert not x[10 : length + 10].any()
    assert (x[length + 10] == 9).all()
    assert not x[length + 11 :].any()
    assert not y[:-10].any()


def test_baseline_is_the_loss_of_blanks_and_guesses() -> None:
    task = Copying(100)
    batch = task.draw(4000, torch.Generator().manual_seed(0))
    outputs = torch.full((120, 4000, 9), -1e4)
    outputs[:-10, :, 0] = 0
    outputs[-10:, :, 1:] = 0
    assert math.isclose(float(task.loss(outputs, batch)), task.baseline, rel_tol=1e-5)
    assert math.isclose(task.baseline, 0.1733, abs_tol=1e-4)
    assert math.isclose(Copying(1000).baseline, 0.02039, abs_tol=1e-5)


def test_accuracy_is_of_the_symbols_only() -> None:
    task = Copying(5)
    batch = task.draw(3, torch.Generator().manual_seed(0))
    right = torch.nn.functional.one_hot(batch.targets, 9).float()
    assert task.accuracy(right, batch) == 1.0
    right[:-10] = 0
    assert task.accuracy(right, batch) == 1.0
    assert task.examine() is None
    assert (task.input_size, task.output_size, task.every_step) == (10, 9, True)


def test_length_is_positive() -> None:
    with pytest.raises(ShapeError, match="length=0"):
        Copying(0)
