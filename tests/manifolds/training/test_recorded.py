from pathlib import Path

import pytest
import torch

from manifolds.tasks import Batch, Copying
from manifolds.training import Schedule, Settings, train
from manifolds.training.log import CSV, read
from manifolds.training.recorded import RecordedPass
from manifolds.training.run import start, take_step


def test_what_is_served() -> None:
    batch = Copying(3).draw(2, torch.Generator())
    assert not RecordedPass.serves("cpu", batch)
    assert RecordedPass.serves("cuda", batch) and RecordedPass.serves("cuda:1", batch)
    masked = Batch(batch.inputs, batch.targets, torch.ones(23, 2))
    assert not RecordedPass.serves("cuda", masked)


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["dtriv", "lstm"])
def test_a_recorded_pass_is_the_pass(model: str) -> None:
    """Losses and parameters of some steps, over changes of the base."""
    settings = Settings(
        length=5, model=model, hidden=70, batch=4, every=2, device="cuda"
    )
    task = settings.make_task()
    one, other = start(settings, task), start(settings, task)
    generator = torch.Generator().manual_seed(1)
    batches = [task.draw(4, generator) for _ in range(6)]
    recorded = RecordedPass(one.network, task, batches[0])
    assert recorded.fits(batches[1])
    assert not recorded.fits(task.draw(3, generator))
    for batch in batches:
        _, loss = recorded(batch)
        for optimizer in one.optimizers:
            optimizer.step()
        _, expected = take_step(task, other, batch.to("cuda"))
        torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-6)
    for name, value in one.network.state_dict().items():
        wanted = other.network.state_dict()[name]
        torch.testing.assert_close(value, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
def test_a_stopped_run_goes_on_as_if_it_were_not_on_a_gpu(tmp_path: Path) -> None:
    settings = Settings(
        length=5, hidden=70, batch=4, every=2, iterations=9, device="cuda"
    )
    train(settings, tmp_path / "whole")
    train(settings, tmp_path / "parts", Schedule(stop_after=4))
    train(settings, tmp_path / "parts")
    whole, parts = (
        [(row.iteration, row.loss) for row in read(tmp_path / name / CSV)]
        for name in ("whole", "parts")
    )
    assert whole == parts
