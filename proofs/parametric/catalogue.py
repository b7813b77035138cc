"""The parametric theorems in the order of the table."""

from proofs.theorem import Theorem

from . import (
    amd,
    blocked,
    clusters,
    fma,
    lemmas,
    nvidia,
    padded,
    slices,
    swizzled,
    tensor_core_shared,
)
from .query import Parametric, Query


def parametric() -> list[Parametric]:
    """Return the parametric theorems."""
    return [
        theorem
        for part in (
            lemmas,
            blocked,
            slices,
            fma,
            nvidia,
            amd,
            swizzled,
            tensor_core_shared,
            padded,
            clusters,
        )
        for theorem in part.parametric()
    ]


def theorems() -> list[Theorem]:
    """Return them as entries of the catalogue."""
    return [each.theorem() for each in parametric()]


def queries() -> dict[str, list[Query]]:
    """Return the questions of each theorem, by its name: bit-vectors only."""
    return {each.name: list(each.build()) for each in parametric()}
