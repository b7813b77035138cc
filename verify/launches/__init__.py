"""Kernels as libraries launch them: recorded without a GPU, generalised, checked."""

from .check_recorded import check_recorded
from .record import Recording, Tensor, recorded
from .watch import Watch, watch

__all__ = ["Recording", "Tensor", "Watch", "check_recorded", "recorded", "watch"]
