"""Named faults, as replacements, each of which a check has to catch."""

from .compiler import COMPILER_FAULTS
from .conversions import CONVERSION_MUTANTS
from .encodings import ENCODING_MUTANTS
from .mutant import Mutant, Trial, run
from .operations import OPERATION_MUTANTS

LAYOUT_MUTANTS = (*ENCODING_MUTANTS, *OPERATION_MUTANTS)
"""Faults of layouts and of their algebra: kinds 1 to 17."""

__all__ = [
    "COMPILER_FAULTS",
    "CONVERSION_MUTANTS",
    "LAYOUT_MUTANTS",
    "Mutant",
    "Trial",
    "run",
]
