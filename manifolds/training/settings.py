"""What a run is made of, with the papers' hyper-parameters as defaults."""

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from manifolds.errors import MapError, PolicyError
from manifolds.tasks import Adding, Copying, Task, digits, mnist, mnist1d, timit

MODELS = ("exprnn", "dtriv", "lstm", "rnn")


@dataclass(frozen=True, slots=True)
class Defaults:
    """Hyper-parameters of one task.

    Args:
        init: Of the recurrent weight.
        rates: Learning rate by hidden size; the first is the default size.
        project_every: M.
        iterations: Optimizer steps.
    """

    init: str
    rates: dict[int, float]
    project_every: int
    iterations: int


DEFAULTS = {
    "copying": Defaults("henaff", {190: 2e-4}, 30, 4000),
    "adding": Defaults("henaff", {170: 1e-3}, 30, 4000),
    "digits": Defaults("cayley", {128: 1e-3}, 100, 2000),
    "pdigits": Defaults("cayley", {128: 1e-3}, 100, 2000),
    "mnist1d": Defaults("cayley", {128: 1e-3}, 100, 4000),
    "mnist": Defaults("cayley", {170: 7e-4, 360: 5e-4, 512: 3e-4}, 100, 32_800),
    "pmnist": Defaults("cayley", {170: 1e-3, 360: 7e-4, 512: 5e-4}, 100, 32_800),
    "timit": Defaults("henaff", {224: 1e-3, 322: 7e-4, 425: 7e-4}, 100, 34_800),
}
"""Those of copying, MNIST and TIMIT are the papers'; 70 and 1200 epochs of batches."""

TASKS = tuple(DEFAULTS)


@dataclass(frozen=True, slots=True)
class Settings:
    """One run. Two runs of the same settings give the same numbers on one machine.

    Args:
        task: One of ``TASKS``; a leading p permutes the pixels.
        model: ``"exprnn"`` (static), ``"dtriv"``, ``"lstm"`` or ``"rnn"`` (tanh).
        length: Of copying and adding.
        every: K of dtriv.
        map: ``"exp"`` or ``"cayley"``.
        hidden: n; the paper's smallest if None.
        lr: Of all but the recurrent weight; the paper's for the nearest n if None.
        manifold_lr: Of the recurrent weight; a tenth of ``lr`` if None.
        batch: Sequences of a step.
        iterations: Steps; the paper's if None.
        seed: Of weights and data.
        device: ``"cpu"`` or a GPU.
        data_dir: Folder of a data set.

    Raises:
        MapError: No such task or model.
        PolicyError: A number is not positive.

    Example:
        >>> settings = Settings("mnist", hidden=360)
        >>> settings.rate, settings.steps
        (0.0005, 32800)

    Source: the tables of both papers' code, June 2019.
    """

    task: str = "copying"
    model: str = "dtriv"
    length: int = 1000
    every: int = 100
    map: str = "exp"
    hidden: int | None = None
    lr: float | None = None
    manifold_lr: float | None = None
    batch: int = 128
    iterations: int | None = None
    seed: int = 5544
    device: str = "cpu"
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        for name, known in (("task", TASKS), ("model", MODELS)):
            value = getattr(self, name)
            if value not in known:
                raise MapError(
                    f"{name} must be one of {', '.join(known)}, but {name}={value!r}",
                    known=known,
                )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "seed" or not isinstance(value, int | float):
                continue
            if not 0 < value < math.inf:
                raise PolicyError(
                    f"{field.name} must be positive and finite, but "
                    f"{field.name}={value}",
                    value=value,
                )

    @property
    def defaults(self) -> Defaults:
        """Hyper-parameters of the task."""
        return DEFAULTS[self.task]

    @property
    def size(self) -> int:
        """The hidden size n."""
        return self.hidden or next(iter(self.defaults.rates))

    @property
    def rate(self) -> float:
        """The learning rate of all but the recurrent weight."""
        if self.lr is not None:
            return self.lr
        rates = self.defaults.rates
        return rates[min(rates, key=lambda n: abs(n - self.size))]

    @property
    def steps(self) -> int:
        """Optimizer steps of the whole run."""
        return self.iterations or self.defaults.iterations

    @property
    def period(self) -> int | None:
        """K, None for a static base."""
        return self.every if self.model == "dtriv" else None

    @property
    def title(self) -> str:
        """A short name, which folders and legends use."""
        long = f"-{self.length}" if self.task in ("copying", "adding") else ""
        period = f"-{self.every}" if self.model == "dtriv" else ""
        return f"{self.task}{long}-{self.model}{period}-n{self.size}-seed{self.seed}"

    def make_task(self) -> Task:
        """Return the task.

        Raises:
            DataError: Its files are not there.
        """
        match self.task:
            case "copying":
                return Copying(self.length)
            case "adding":
                return Adding(self.length)
            case "digits" | "pdigits":
                return digits(self.data_dir, self.task == "pdigits")
            case "mnist1d":
                return mnist1d()
            case "timit":
                return timit(self.data_dir)
        return mnist(self.data_dir, self.task == "pmnist")

    def as_facts(self) -> dict[str, Any]:
        """Return what must not change when a run goes on: all but place and end."""
        facts = asdict(self)
        for name in ("device", "data_dir", "iterations"):
            del facts[name]
        return facts


def check_device(device: str) -> None:
    """Refuse a device that this machine does not have.

    Raises:
        PolicyError: It is neither the CPU nor a GPU that PyTorch sees.

    Example:
        >>> check_device("cpu")
    """
    try:
        wanted = torch.device(device)
        known = wanted.type == "cpu" or (
            wanted.type == "cuda" and (wanted.index or 0) < torch.cuda.device_count()
        )
    except RuntimeError:
        known = False
    if not known:
        raise PolicyError(
            f"a device of this machine is needed, cpu or one of its "
            f"{torch.cuda.device_count()} GPUs as cuda, but device={device!r}",
            device=device,
        )
