"""Layout conversions inside a kernel: what has to move, and how far."""

from .classify import Conversion, Move, Movement, classify
from .explain import explain

__all__ = ["Conversion", "Move", "Movement", "classify", "explain"]
