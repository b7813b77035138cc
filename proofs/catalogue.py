"""All theorems, in the order of the table."""

from . import concrete, parametric, swizzles
from .coq.theorems import theorems as coq_theorems
from .theorem import Theorem


def catalogue() -> list[Theorem]:
    """Return every theorem: parametric, mechanised, and about recorded instances.

    Example:
        >>> names = [theorem.name for theorem in catalogue()]
        >>> len(names) == len(set(names))
        True
    """
    return [
        *parametric.theorems(),
        *coq_theorems(),
        *concrete.theorems(),
        *swizzles.theorems(),
    ]
