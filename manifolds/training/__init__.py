"""Training runs: settings, network, loop, checkpoints, CSV and plot."""

from . import log
from .run import Outcome, Schedule, train
from .settings import DEFAULTS, MODELS, TASKS, Settings

__all__ = [
    "DEFAULTS",
    "MODELS",
    "TASKS",
    "Outcome",
    "Schedule",
    "Settings",
    "log",
    "train",
]
