"""Checkpoints that survive a kill, and go on with the very next step."""

import io
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from manifolds.errors import CheckpointError

from .network import Network
from .settings import Settings

NAME = "checkpoint.pt"

UNREADABLE = (pickle.UnpicklingError, RuntimeError, EOFError, LookupError, OSError)
"""What torch raises for a file that is no checkpoint, or only a part of one."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What changes during a run, apart from the parameters.

    Args:
        generator: Source of the data.
        optimizers: In order.
        network: The parameters, bases and counters.
    """

    network: Network
    optimizers: list[torch.optim.Optimizer]
    generator: torch.Generator


def save(folder: Path, settings: Settings, progress: Progress, iteration: int) -> Path:
    """Write a checkpoint, whole or not at all.

    Args:
        folder: Of the run; there already.
        settings: Of the run.
        progress: The state to be kept.
        iteration: Steps done.

    Returns:
        The file.

    Raises:
        OSError: The disk is full, for example; the last checkpoint is still there.
    """
    state = {
        "settings": settings.as_facts(),
        "iteration": iteration,
        "network": progress.network.state_dict(),
        "optimizers": [each.state_dict() for each in progress.optimizers],
        "generator": progress.generator.get_state(),
    }
    # in memory first: torch hides the error of a full disk behind its own
    whole = io.BytesIO()
    torch.save(state, whole)
    path = folder / NAME
    unfinished = folder / f"{NAME}.{os.getpid()}"
    try:
        with unfinished.open("wb") as file:
            file.write(whole.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return path


def load(folder: Path, settings: Settings, progress: Progress) -> int:
    """Read the checkpoint of a run, if there is one.

    Args:
        folder: Of the run.
        settings: Must equal those of the checkpoint but for device and end.
        progress: Takes the state.

    Returns:
        Steps done; 0 where there is no checkpoint.

    Raises:
        CheckpointError: The checkpoint is of another run, or cannot be read.
    """
    path = folder / NAME
    if not path.is_file():
        return 0
    try:
        state: dict[str, Any] = torch.load(
            path, map_location=settings.device, weights_only=True
        )
        theirs = state["settings"]
    except UNREADABLE as error:
        raise CheckpointError(
            f"a checkpoint was needed, but {path} cannot be read as one "
            f"({type(error).__name__}); delete it to start again, or choose another "
            "folder",
            path=path,
        ) from error
    ours = settings.as_facts()
    other = {name for name in theirs | ours if theirs.get(name) != ours.get(name)}
    if other:
        differences = ", ".join(
            f"{name}={theirs.get(name)!r}, now {ours.get(name)!r}"
            for name in sorted(other)
        )
        raise CheckpointError(
            f"{path} was written with other settings: {differences}; go on with those, "
            "or choose another folder",
            path=path,
            differences=tuple(sorted(other)),
        )
    progress.network.load_state_dict(state["network"])
    for optimizer, its in zip(progress.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(its)
    progress.generator.set_state(state["generator"].cpu())
    iteration: int = state["iteration"]
    return iteration
