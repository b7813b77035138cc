"""Sequence tasks: endless ones, and data sets read pixel by pixel or frame by frame."""

from .adding import Adding
from .copying import Copying
from .images import Images, digits, mnist
from .mnist1d import mnist1d
from .task import Batch, Task
from .timit import Spectra, timit

__all__ = [
    "Adding",
    "Batch",
    "Copying",
    "Images",
    "Spectra",
    "Task",
    "digits",
    "mnist",
    "mnist1d",
    "timit",
]
