"""The catalogue of theorems, each checked by a machine."""

from .catalogue import catalogue
from .theorem import Theorem

__all__ = ["Theorem", "catalogue"]
