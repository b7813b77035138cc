"""Checks of what kind of thing an argument is, before anything is done with it.

A layout, an encoding and a text are easily passed for each other: the message says
what came and how one becomes the other. Nothing is imported that could import this.
"""

import operator
from collections.abc import Iterable, Mapping

from .errors import ArgumentError


def expect_layout(name: str, value: object) -> None:
    """Reject what is no ``LinearLayout``.

    Args:
        name: Argument that the message speaks of.
        value: What came.

    Raises:
        ArgumentError: has ``argument`` and ``value``.

    Example:
        >>> expect_layout("layout", 7)
        Traceback (most recent call last):
        ...
        algebra.errors.ArgumentError: layout needs to be a LinearLayout, got \
layout=7 (int); build one with LinearLayout.from_bases
    """
    if hasattr(value, "columns") and hasattr(value, "in_names"):
        return
    way_out = "build one with LinearLayout.from_bases"
    if hasattr(value, "to_linear_layout"):
        way_out = "call its to_linear_layout(shape)"
    elif hasattr(value, "linear"):
        way_out = "take its .linear if its offset is 0"
    elif isinstance(value, str):
        way_out = "read it with parse_encoding, then call to_linear_layout(shape)"
    raise _wrong(name, "a LinearLayout", value, way_out)


def expect_encoding(name: str, value: object) -> None:
    """Reject what is no encoding.

    Raises:
        ArgumentError: has ``argument`` and ``value``.

    Example:
        >>> from algebra.encodings import TensorMemoryScales
        >>> expect_encoding("encoding", TensorMemoryScales())
    """
    if hasattr(value, "to_linear_layout") and hasattr(value, "kind"):
        return
    way_out = "build one, such as algebra.encodings.Blocked(...)"
    if isinstance(value, str):
        way_out = "read it with parse_encoding"
    elif isinstance(value, dict):
        way_out = "read it with algebra.encodings.from_dict"
    elif hasattr(value, "columns"):
        way_out = "give its bases to algebra.encodings.Linear"
    raise _wrong(name, "an encoding", value, way_out)


def expect_names(name: str, value: object) -> tuple[str, ...]:
    """Return a list of names of dims as a tuple.

    Raises:
        ArgumentError: a single text, or not texts; has ``argument`` and ``value``.

    Example:
        >>> expect_names("in_dims", ["register", "lane"])
        ('register', 'lane')
    """
    way_out = 'give names, such as ["register", "lane"]'
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of names of dims", value, way_out)
    names = tuple(value)
    if not all(isinstance(each, str) for each in names):
        raise _wrong(name, "a list of names of dims", names, way_out)
    return names


def expect_integers(name: str, value: object) -> tuple[int, ...]:
    """Return a list of integers as a tuple of ``int``; numpy's integers are taken.

    Raises:
        ArgumentError: not a list, or not of integers; has ``argument`` and ``value``.

    Example:
        >>> expect_integers("shape", (1 << bit for bit in range(3)))
        (1, 2, 4)
    """
    way_out = "give one integer a dim, such as [16, 64]"
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of integers", value, way_out)
    values = tuple(value)
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise _wrong(name, "a list of integers", values, way_out) from None


def expect_sizes(name: str, value: object) -> Mapping[str, int]:
    """Return a mapping from names of dims to integers, as it is.

    What the integers may be is the caller's to check.

    Raises:
        ArgumentError: no mapping; has ``argument`` and ``value``.

    Example:
        >>> expect_sizes("dims", {"lane": 32})
        {'lane': 32}
    """
    if isinstance(value, Mapping) and all(isinstance(each, str) for each in value):
        return value
    way_out = 'give names with numbers, such as {"register": 4, "lane": 32}'
    raise _wrong(name, "a mapping from names of dims to integers", value, way_out)


def _wrong(name: str, needed: str, value: object, way_out: str) -> ArgumentError:
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:80] + "..."
    return ArgumentError(
        f"{name} needs to be {needed}, got {name}={shown} ({type(value).__name__}); "
        f"{way_out}",
        argument=name,
        value=value,
    )
