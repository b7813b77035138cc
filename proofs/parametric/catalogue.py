"""The parametric theorems in the order of the table."""

from proofs.theorem import Theorem

from . import blocked
from .query import Parametric, Query


def parametric() -> list[Parametric]:
    """Return the parametric theorems."""
    return [*blocked.parametric()]


def theorems() -> list[Theorem]:
    """Return them as entries of the catalogue."""
    return [each.theorem() for each in parametric()]


def queries() -> dict[str, list[Query]]:
    """Return the questions of each theorem, by its name: bit-vectors only."""
    return {each.name: list(each.build()) for each in parametric()}
