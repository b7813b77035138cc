"""Obligations of the fusing compiler's kernels, decided before they run.

The only room of ``verify`` that reads the compiler's intermediate representation. For
each kernel: every access in bounds, every element written once and all of them, no
race between points, no index beyond its type; for each schedule: a sound memory plan.
"""

from .certificate import (
    OBLIGATIONS,
    Obligations,
    certify_kernel,
    certify_schedule,
    validate,
    worst,
)

__all__ = [
    "OBLIGATIONS",
    "Obligations",
    "certify_kernel",
    "certify_schedule",
    "validate",
    "worst",
]
