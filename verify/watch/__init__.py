"""Kernels as libraries launch them: recorded without a GPU, generalised, checked."""

from .check_recorded import check_recorded
from .record import Recording, Tensor, recorded

__all__ = ["Recording", "Tensor", "check_recorded", "recorded"]
