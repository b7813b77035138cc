from dataclasses import replace
from pathlib import Path

import pytest
import torch

from manifolds.errors import PolicyError
from manifolds.tasks import Copying
from manifolds.training import Schedule, Settings, train
from manifolds.training.log import CSV, PLOT, Row, read
from manifolds.training.run import examine, is_solved, start, step

SETTINGS = Settings(length=3, hidden=6, batch=2, every=2, iterations=9)


def numbers(folder: Path) -> list[tuple[int, float]]:
    return [(row.iteration, row.loss) for row in read(folder / CSV)]


@pytest.mark.parametrize(("model", "stop"), [("dtriv", 3), ("dtriv", 4), ("lstm", 5)])
def test_a_stopped_run_goes_on_as_if_it_were_not(
    tmp_path: Path, model: str, stop: int
) -> None:
    settings = Settings(length=3, model=model, hidden=6, batch=2, every=2, iterations=9)
    whole = train(settings, tmp_path / "whole")
    train(settings, tmp_path / "parts", Schedule(stop_after=stop))
    parts = train(settings, tmp_path / "parts")
    assert numbers(tmp_path / "whole") == numbers(tmp_path / "parts")
    assert whole.loss == parts.loss
    assert whole.defect == parts.defect


def test_a_kill_between_checkpoints_repeats_the_steps_since(tmp_path: Path) -> None:
    train(SETTINGS, tmp_path / "whole")

    def die(row: Row) -> None:
        if row.iteration == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SETTINGS, tmp_path / "killed", Schedule(save_every=3), die)
    assert len(read(tmp_path / "killed" / CSV)) == 7
    train(SETTINGS, tmp_path / "killed", Schedule(save_every=3))
    assert numbers(tmp_path / "whole") == numbers(tmp_path / "killed")


def test_a_run_leaves_csv_plot_and_outcome(tmp_path: Path) -> None:
    seen: list[Row] = []
    outcome = train(SETTINGS, tmp_path, watch=seen.append)
    assert len(seen) == outcome.iterations == 9
    assert (tmp_path / PLOT).is_file()
    assert outcome.baseline == Copying(3).baseline
    assert outcome.test is None
    assert outcome.defect < 1e-5


def test_solved_runs_stop(tmp_path: Path) -> None:
    rows = [Row(i, 0.01, 1.0, 0.0, 0.0) for i in range(1, 21)]
    assert is_solved(rows, Copying(100), Schedule(until=0.1))
    assert not is_solved(rows, Copying(100), Schedule(until=0.05))
    assert not is_solved(rows[1:], Copying(100), Schedule(until=0.1))
    assert not is_solved(rows, Copying(100), Schedule())
    outcome = train(
        Settings(length=3, hidden=6, batch=2, iterations=40),
        tmp_path,
        Schedule(until=1e9),
    )
    assert outcome.iterations == 20


def test_data_sets_are_examined(tmp_path: Path) -> None:
    settings = Settings("mnist1d", hidden=6, batch=4, iterations=2)
    outcome = train(settings, tmp_path)
    assert outcome.test is not None
    assert 0 <= outcome.test <= 1
    task = settings.make_task()
    assert examine(SETTINGS, Copying(3), start(SETTINGS, Copying(3)).network) is None
    loss, accuracy = step(settings, task, start(settings, task))
    assert loss > 0
    assert 0 <= accuracy <= 1


def test_seeds_decide(tmp_path: Path) -> None:
    def first(seed: int) -> torch.Tensor:
        settings = Settings(length=3, hidden=6, batch=2, seed=seed)
        weight = start(settings, Copying(3)).network.head.weight
        return weight.detach().clone()

    assert torch.equal(first(1), first(1))
    assert not torch.equal(first(1), first(2))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["exprnn", "dtriv"])
def test_copying_100_is_learned(tmp_path: Path, model: str) -> None:
    """Below a tenth of the loss without memory."""
    settings = Settings(
        length=100, model=model, hidden=96, lr=1e-3, batch=32, iterations=800
    )
    outcome = train(settings, tmp_path, Schedule(until=0.1))
    assert outcome.loss < 0.1 * outcome.baseline
    assert outcome.defect < 1e-4


@pytest.mark.parametrize("name", ["save_every", "check_every", "until", "stop_after"])
def test_a_schedule_is_of_positive_numbers(name: str) -> None:
    with pytest.raises(PolicyError, match=f"{name}=0"):
        Schedule(**{name: 0})


def test_a_run_on_a_device_that_is_not_there_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="device='cuda:99'"):
        train(replace(SETTINGS, device="cuda:99"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
