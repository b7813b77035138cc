"""Parameters as Triton prints them: ``name = value``, lists and braces."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Pairs = list[tuple[str, Any]]

Print = Callable[[Any], str]
"""Prints an encoding; for parents."""

Writer = Callable[[Any, str, Print], Pairs]
"""Returns the parameters of an encoding in a release."""

OLD = "3.6"
"""The release that spells WMMA and tensor memory with lists instead of bases."""


def value(given: Any) -> str:
    """Return a value: flags in lower case, sequences in brackets.

    Example:
        >>> value(((1, 0), ())), value(True)
        ('[[1, 0], []]', 'true')
    """
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, Sequence) and not isinstance(given, str):
        return f"[{', '.join(map(value, given))}]"
    return str(given)


def fields(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return ``name = value`` for each pair.

    Example:
        >>> fields([("vec", 8), ("order", (1, 0))])
        'vec = 8, order = [1, 0]'
    """
    return ", ".join(f"{name} = {value(given)}" for name, given in pairs)


def braces(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return the fields in braces."""
    return f"{{{fields(pairs)}}}"


def cga(encoding: Any) -> Pairs:
    """Return the split over a cluster, nothing for one CTA."""
    return [("CGALayout", encoding.cga.bases)] if encoding.cga.bases else []


def bases(encoding: Any, names: Sequence[str], optional: int = 0) -> Pairs:
    """Return the bases, without the last ``optional`` ones where they are empty."""
    needed = len(names) - optional
    return [
        (name, vectors)
        for place, name in enumerate(names)
        if (vectors := getattr(encoding, name)) or place < needed
    ]
