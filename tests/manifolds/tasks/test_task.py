import math

import torch

from manifolds.tasks import Batch
from manifolds.tasks.task import cross_entropy, right_answers


def test_cross_entropy_of_a_uniform_guess() -> None:
    loss = cross_entropy(torch.zeros(5, 3, 8), torch.randint(8, (5, 3)))
    assert math.isclose(float(loss), math.log(8), rel_tol=1e-6)


def test_right_answers_are_a_part() -> None:
    outputs = torch.eye(4)
    assert right_answers(outputs, torch.arange(4)) == 1.0
    assert right_answers(outputs, torch.tensor([0, 1, 0, 0])) == 0.5


def test_batches_move_as_one() -> None:
    batch = Batch(torch.zeros(2, 1), torch.zeros(2, 1), torch.ones(2, 1)).to("meta")
    assert batch.mask is not None
    assert {t.device.type for t in (batch.inputs, batch.targets, batch.mask)} == {
        "meta"
    }
    assert Batch(torch.zeros(1), torch.zeros(1)).to("cpu").mask is None
