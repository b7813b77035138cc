"""What is left to convert in a kernel that Triton has compiled to TTGIR."""

from .conversions import Left, conversions_left
from .instead import Instead, instead_of

__all__ = ["Instead", "Left", "conversions_left", "instead_of"]
