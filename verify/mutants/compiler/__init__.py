"""Faults of the fusing compiler, kinds 24 to 47, and backends that have them."""

from .fault import Change, Fault, applied
from .subject import COMPILER_FAULTS, FAULTS

__all__ = ["COMPILER_FAULTS", "FAULTS", "Change", "Fault", "applied"]
