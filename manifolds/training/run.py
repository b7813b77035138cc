"""One training run: from settings to a folder with a CSV, a plot and a checkpoint."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from torch import Tensor

from manifolds.errors import PolicyError
from manifolds.tasks import Batch, Task

from . import checkpoint, log
from .checkpoint import Progress
from .log import Row
from .network import Network, make_optimizers
from .recorded import RecordedPass
from .settings import Settings, check_device

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

    Raises:
        PolicyError: A number is not positive.
    """

    save_every: int = 100
    check_every: int = 20
    until: float | None = None
    stop_after: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not value > 0:
                raise PolicyError(
                    f"{field.name} must be positive, but {field.name}={value}",
                    value=value,
                )


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
        PolicyError: This machine has no such device.
    """
    run = Run(settings, folder, schedule or Schedule())
    while not run.is_over:
        run.begin_step()
        row = run.end_step()
        if watch is not None:
            watch(row)
        run.save_if_due()
    return run.finish()


class Run:
    """A run that is taken step by step, so that several can share a process.

    A step has two halves: one that gives work to the device, and one that waits for it.

    Args:
        settings: What to train.
        folder: Takes checkpoint, CSV and plot; made if it is not there.
        schedule: When to save, check and stop.

    Raises:
        CheckpointError: The folder's checkpoint is of another run.
        DataError: The task's files are not there.
        PolicyError: This machine has no such device.
    """

    def __init__(self, settings: Settings, folder: Path, schedule: Schedule) -> None:
        check_device(settings.device)
        folder.mkdir(parents=True, exist_ok=True)
        self.settings, self.folder, self.schedule = settings, folder, schedule
        self.task = settings.make_task()
        self.progress = start(settings, self.task)
        self.done = checkpoint.load(folder, settings, self.progress)
        self.rows = log.read(folder / log.CSV, until=self.done)
        log.write(folder / log.CSV, self.rows)
        self.end = min(settings.steps, schedule.stop_after or settings.steps)
        self.before = self.rows[-1].seconds if self.rows else 0.0
        self.started = time.perf_counter()
        self.recorded: RecordedPass | None = None
        self.pending: tuple[Batch, Tensor, Tensor] | None = None

    @property
    def is_over(self) -> bool:
        """Whether no step is left, or the task is solved."""
        return self.done >= self.end or is_solved(self.rows, self.task, self.schedule)

    def begin_step(self) -> None:
        """Draw a batch and give one optimizer step to the device."""
        batch = self.task.draw(self.settings.batch, self.progress.generator)
        device = self.settings.device
        if self.recorded is None and RecordedPass.serves(device, batch):
            self.recorded = RecordedPass(self.progress.network, self.task, batch)
        if self.recorded is not None and self.recorded.fits(batch):
            outputs, loss = self.recorded(batch)
            batch = self.recorded.batch
            for optimizer in self.progress.optimizers:
                optimizer.step()
        else:
            batch = batch.to(device)
            outputs, loss = take_step(self.task, self.progress, batch)
        self.pending = (batch, outputs, loss)

    def end_step(self) -> Row:
        """Wait for the step that was begun, log it and return its row."""
        assert self.pending is not None
        batch, outputs, loss = self.pending
        accuracy = self.task.accuracy(outputs, batch)
        self.done += 1
        due = self.done % self.schedule.check_every == 0 or self.done == self.end
        row = Row(
            self.done,
            float(loss),
            math.nan if accuracy is None else accuracy,
            self.progress.network.defect() if due else math.nan,
            self.before + time.perf_counter() - self.started,
        )
        self.rows.append(row)
        log.append(self.folder / log.CSV, row)
        self.pending = None
        return row

    def save_if_due(self) -> None:
        """Write a checkpoint every so many steps."""
        if self.done % self.schedule.save_every == 0:
            checkpoint.save(self.folder, self.settings, self.progress, self.done)

    def finish(self) -> Outcome:
        """Write checkpoint and plot; return the outcome so far."""
        checkpoint.save(self.folder, self.settings, self.progress, self.done)
        curves = {self.settings.title: self.rows}
        log.plot(curves, self.task.baseline, self.folder / log.PLOT)
        losses = [row.loss for row in self.rows]
        return Outcome(
            self.done,
            log.smooth(losses)[-1] if losses else math.nan,
            self.task.baseline,
            examine(self.settings, self.task, self.progress.network),
            self.progress.network.defect(),
            self.rows[-1].seconds if self.rows else 0.0,
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
    outputs, loss = take_step(task, progress, batch)
    accuracy = task.accuracy(outputs, batch)
    return float(loss), math.nan if accuracy is None else accuracy


def take_step(task: Task, progress: Progress, batch: Batch) -> tuple[Tensor, Tensor]:
    """Take one optimizer step on a batch.

    Args:
        task: Gives the loss.
        progress: Is changed.
        batch: On the device of the network.

    Returns:
        Outputs and loss before the step, detached.
    """
    for optimizer in progress.optimizers:
        optimizer.zero_grad()
    outputs = progress.network(batch.inputs)
    loss = task.loss(outputs, batch)
    loss.backward()
    for optimizer in progress.optimizers:
        optimizer.step()
    return outputs.detach(), loss.detach()


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
