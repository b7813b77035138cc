import torch

from manifolds.tasks.mnist1d import STEPS, TEMPLATES, distort, mnist1d


def test_sizes_and_classes() -> None:
    task = mnist1d(200)
    assert task.train[0].shape == (160, STEPS)
    assert task.test[0].shape == (40, STEPS)
    assert torch.bincount(task.test[1]).tolist() == [4] * 10
    assert all(len(template) == 12 for template in TEMPLATES)


def test_the_seed_repeats_it() -> None:
    assert torch.equal(mnist1d(20, 1).train[0], mnist1d(20, 1).train[0])
    assert not torch.equal(mnist1d(20, 1).train[0], mnist1d(20, 2).train[0])


def test_a_class_is_nearer_to_itself() -> None:
    """Nearest neighbours get more than a third right; a guess gets a tenth."""
    task = mnist1d(2000)
    distances = torch.cdist(task.test[0], task.train[0])
    found = task.train[1][distances.argmin(1)]
    assert (found == task.test[1]).double().mean() > 0.33


def test_values_are_finite() -> None:
    shapes = torch.tensor(TEMPLATES)
    assert distort(shapes, torch.Generator()).isfinite().all()
