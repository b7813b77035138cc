"""Translation validation of layout conversions in PTX; see ``conversion``."""

from .conversion import prove_conversion
from .halt import Fault
from .reader import parse
from .syntax import Kernel

__all__ = ["Fault", "Kernel", "parse", "prove_conversion"]
