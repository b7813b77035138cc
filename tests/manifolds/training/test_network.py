import pytest
import torch

from manifolds.rebase import trivializations
from manifolds.tasks import Adding, Copying
from manifolds.training.network import Network, make_optimizers
from manifolds.training.settings import MODELS, Settings


@pytest.mark.parametrize("model", MODELS)
def test_every_model_does_every_kind_of_task(model: str) -> None:
    for task, shape in ((Copying(5), (25, 3, 9)), (Adding(6), (3, 1))):
        network = Network(Settings(model=model, hidden=8), task)
        batch = task.draw(3, torch.Generator().manual_seed(0))
        outputs = network(batch.inputs)
        assert outputs.shape == shape
        task.loss(outputs, batch).backward()
        assert all(p.grad is not None for p in network.parameters())
        assert network.defect() < 1e-5


def test_the_recurrent_weight_learns_at_a_tenth() -> None:
    network = Network(Settings(hidden=8), Copying(5))
    (optimizer,) = make_optimizers(Settings(hidden=8), network)
    assert isinstance(optimizer, torch.optim.RMSprop)
    plain, slow = optimizer.param_groups
    assert plain["lr"] == 10 * slow["lr"] == 2e-4
    assert [p.shape for p in slow["params"]] == [(8, 8)]


def test_timit_has_two_optimizers_and_one_of_them_counts() -> None:
    settings = Settings("timit", hidden=8, every=2)
    network = Network(settings, Copying(5))
    adam, rmsprop = make_optimizers(settings, network)
    assert isinstance(adam, torch.optim.Adam)
    batch = Copying(5).draw(2, torch.Generator().manual_seed(0))
    for _ in range(2):
        network(batch.inputs).sum().backward()
        adam.step()
        rmsprop.step()
    ((trivialization, _),) = trivializations(network)
    assert int(trivialization.steps) == 2
    assert int(trivialization.rebases) == 1


def test_free_models_have_one_group() -> None:
    settings = Settings(model="lstm", hidden=8)
    (optimizer,) = make_optimizers(settings, Network(settings, Copying(5)))
    assert len(optimizer.param_groups) == 1
