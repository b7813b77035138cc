import math
from pathlib import Path

import pytest

from manifolds.errors import DataError, MapError, PolicyError
from manifolds.tasks import Adding, Copying, Images
from manifolds.training.settings import DEFAULTS, MODELS, TASKS, Settings, check_device


def test_defaults_are_the_papers() -> None:
    copying = Settings("copying")
    assert (copying.size, copying.rate, copying.steps) == (190, 2e-4, 4000)
    assert (copying.batch, copying.seed) == (128, 5544)
    table = {
        ("mnist", 170): 7e-4,
        ("mnist", 360): 5e-4,
        ("mnist", 512): 3e-4,
        ("pmnist", 170): 1e-3,
        ("pmnist", 360): 7e-4,
        ("pmnist", 512): 5e-4,
        ("timit", 224): 1e-3,
        ("timit", 322): 7e-4,
        ("timit", 425): 7e-4,
    }
    for (task, hidden), rate in table.items():
        assert Settings(task, hidden=hidden).rate == rate
    assert DEFAULTS["mnist"].init == "cayley"
    assert DEFAULTS["timit"].init == "henaff"


def test_own_values_win() -> None:
    settings = Settings("mnist", lr=0.1, hidden=7, iterations=3)
    assert (settings.rate, settings.size, settings.steps) == (0.1, 7, 3)


def test_only_dtriv_has_a_period() -> None:
    periods = {model: Settings(model=model).period for model in MODELS}
    assert periods == {"exprnn": None, "dtriv": 100, "lstm": None, "rnn": None}
    titles = {Settings(task, model).title for task in TASKS for model in MODELS}
    assert len(titles) == len(TASKS) * len(MODELS)


def test_tasks_are_made() -> None:
    assert Settings("copying", length=7).make_task() == Copying(7)
    assert Settings("adding", length=7).make_task() == Adding(7)
    assert isinstance(Settings("mnist1d").make_task(), Images)
    for task in ("mnist", "pmnist", "timit"):
        with pytest.raises(DataError):
            Settings(task).make_task()
    with pytest.raises(DataError):
        Settings("pdigits", data_dir=Path("/nowhere")).make_task()


def test_place_and_end_are_no_part_of_a_run() -> None:
    one, other = Settings(iterations=5), Settings(iterations=9, device="cuda")
    assert one.as_facts() == other.as_facts()
    assert one.as_facts() != Settings(length=5).as_facts()


def test_mistakes_are_named() -> None:
    with pytest.raises(MapError, match="task='sorting'"):
        Settings("sorting")
    with pytest.raises(MapError, match="model='gru'"):
        Settings(model="gru")
    with pytest.raises(PolicyError, match="batch=0"):
        Settings(batch=0)
    with pytest.raises(PolicyError, match="lr=-1"):
        Settings(lr=-1)


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_rates_are_positive_and_finite(value: float) -> None:
    with pytest.raises(PolicyError, match="lr="):
        Settings(lr=value)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", ""])
def test_a_device_of_this_machine_is_needed(device: str) -> None:
    with pytest.raises(PolicyError, match=f"device='{device}'"):
        check_device(device)
