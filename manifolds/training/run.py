"""One training run: from settings to a folder with a CSV, a plot and a checkpoint."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from manifolds.tasks import Batch, Task

from . import checkpoint, log
from .checkpoint import Progress
from .log import Row
from .network import Network, make_optimizers
from .settings import Settings

Watch = Callable[[Row], None]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When things happen besides steps.

    Args:
        save_every: Steps between checkpoints.
        check_every: Steps between checks of the recurrent weight.
        until: Stop when the mean loss of 20 steps is below this part of the baseline;
            None never does.
        stop_after: Stop when this many steps are done in all, with a checkpoint.
    """

    save_every: int = 100
    check_every: int = 20
    until: float | None = None
    stop_after: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Args:
        iterations: Steps done in all.
        loss: Mean of the last 20 steps.
        baseline: Of an answer without memory.
        test: Accuracy on the test set, or its loss for a regression; None without one.
        defect: Of the recurrent weight at the end.
        seconds: Of training [s].
    """

    iterations: int
    loss: float
    baseline: float
    test: float | None
    defect: float
    seconds: float


def train(
    settings: Settings,
    folder: Path,
    schedule: Schedule | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Train, from the checkpoint in the folder if there is one.

    Law: a run that was killed and resumed gives the numbers of one that was not.

    Args:
        settings: What to train.
        folder: Takes checkpoint, CSV and plot; made if it is not there.
        schedule: When to save, check and stop.
        watch: Called with each row.

    Returns:
        The outcome.

    Raises:
        CheckpointError: The folder's checkpoint is of another run.
        DataError: The task's files are not there.
    """
    schedule = schedule or Schedule()
    folder.mkdir(parents=True, exist_ok=True)
    task = settings.make_task()
    progress = start(settings, task)
    done = checkpoint.load(folder, settings, progress)
    rows = log.read(folder / log.CSV, until=done)
    log.write(folder / log.CSV, rows)
    end = min(settings.steps, schedule.stop_after or settings.steps)
    before = rows[-1].seconds if rows else 0.0
    started = time.perf_counter()
    while done < end and not is_solved(rows, task, schedule):
        loss, accuracy = step(settings, task, progress)
        done += 1
        checked = done % schedule.check_every == 0 or done == end
        defect = progress.network.defect() if checked else math.nan
        seconds = before + time.perf_counter() - started
        row = Row(done, loss, accuracy, defect, seconds)
        rows.append(row)
        log.append(folder / log.CSV, row)
        if watch is not None:
            watch(row)
        if done % schedule.save_every == 0:
            checkpoint.save(folder, settings, progress, done)
    checkpoint.save(folder, settings, progress, done)
    log.plot({settings.title: rows}, task.baseline, folder / log.PLOT)
    return Outcome(
        done,
        log.smooth([row.loss for row in rows])[-1] if rows else math.nan,
        task.baseline,
        examine(settings, task, progress.network),
        progress.network.defect(),
        rows[-1].seconds if rows else 0.0,
    )


def start(settings: Settings, task: Task) -> Progress:
    """Return a new network, its optimizers and the source of its data.

    Args:
        settings: Of the run; the seed decides on everything.
        task: What is learned.
    """
    torch.manual_seed(settings.seed)
    network = Network(settings, task).to(settings.device)
    generator = torch.Generator().manual_seed(settings.seed)
    return Progress(network, make_optimizers(settings, network), generator)


def step(settings: Settings, task: Task, progress: Progress) -> tuple[float, float]:
    """Take one optimizer step.

    Returns:
        The loss before it; the accuracy, or not a number.
    """
    batch = task.draw(settings.batch, progress.generator).to(settings.device)
    for optimizer in progress.optimizers:
        optimizer.zero_grad()
    outputs = progress.network(batch.inputs)
    loss = task.loss(outputs, batch)
    loss.backward()
    for optimizer in progress.optimizers:
        optimizer.step()
    accuracy = task.accuracy(outputs.detach(), batch)
    return float(loss.detach()), math.nan if accuracy is None else accuracy


def is_solved(rows: list[Row], task: Task, schedule: Schedule) -> bool:
    """Tell whether the mean loss of the last 20 steps is low enough to stop."""
    if schedule.until is None or len(rows) < 20:
        return False
    mean = sum(row.loss for row in rows[-20:]) / 20
    return mean < schedule.until * task.baseline


@torch.no_grad()
def examine(settings: Settings, task: Task, network: Network) -> float | None:
    """Return accuracy on the test set, or the loss where there is none.

    Args:
        settings: Device.
        task: Its test set may be None.
        network: Trained.
    """
    whole = task.examine()
    if whole is None:
        return None
    batch: Batch = whole.to(settings.device)
    outputs = network(batch.inputs)
    accuracy = task.accuracy(outputs, batch)
    return float(task.loss(outputs, batch)) if accuracy is None else accuracy
