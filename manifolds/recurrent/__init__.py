"""Recurrent networks with an orthogonal or unitary recurrence."""

from .cell import ExpRNNCell
from .layer import ExpRNN, parameter_groups
from .modrelu import modrelu
from .scan import scan

__all__ = ["ExpRNN", "ExpRNNCell", "modrelu", "parameter_groups", "scan"]
