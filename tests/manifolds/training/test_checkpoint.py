import errno
from pathlib import Path

import pytest
import torch

from manifolds.errors import CheckpointError
from manifolds.training.checkpoint import NAME, load, save
from manifolds.training.run import start, step
from manifolds.training.settings import Settings

SETTINGS = Settings(length=3, hidden=6, batch=2, every=2)


def test_a_checkpoint_is_the_whole_state(tmp_path: Path) -> None:
    task = SETTINGS.make_task()
    one = start(SETTINGS, task)
    for _ in range(3):
        step(SETTINGS, task, one)
    save(tmp_path, SETTINGS, one, 3)
    other = start(SETTINGS, task)
    step(SETTINGS, task, other)
    assert load(tmp_path, SETTINGS, other) == 3
    assert [step(SETTINGS, task, one) for _ in range(3)] == [
        step(SETTINGS, task, other) for _ in range(3)
    ]
    for name, value in one.network.state_dict().items():
        assert torch.equal(value, other.network.state_dict()[name]), name


def test_no_checkpoint_is_the_start(tmp_path: Path) -> None:
    assert load(tmp_path, SETTINGS, start(SETTINGS, SETTINGS.make_task())) == 0


def test_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    progress = start(SETTINGS, SETTINGS.make_task())
    for iteration in range(2):
        save(tmp_path, SETTINGS, progress, iteration)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_checkpoints_of_other_runs_are_refused(tmp_path: Path) -> None:
    progress = start(SETTINGS, SETTINGS.make_task())
    save(tmp_path, SETTINGS, progress, 1)
    other = Settings(length=3, hidden=6, batch=2, every=5)
    with pytest.raises(CheckpointError, match="every=2, now 5") as caught:
        load(tmp_path, other, progress)
    assert caught.value.facts["differences"] == ("every",)


@pytest.mark.parametrize("content", ["nothing", "text", "half", "other"])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content: str) -> None:
    progress = start(SETTINGS, SETTINGS.make_task())
    path = save(tmp_path, SETTINGS, progress, 1)
    whole = path.read_bytes()
    if content == "other":
        torch.save({"weight": torch.ones(1)}, path)
    else:
        broken = {
            "nothing": b"",
            "text": b"garbage\n",
            "half": whole[: len(whole) // 2],
        }
        path.write_bytes(broken[content])
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt cannot be read"):
        load(tmp_path, SETTINGS, progress)


def test_a_full_disk_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = start(SETTINGS, SETTINGS.make_task())
    before = save(tmp_path, SETTINGS, progress, 1).read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, SETTINGS, progress, 2)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]
