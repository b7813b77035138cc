"""Source locations: the tree behind ``loc(...)``, and the line a person looks for."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """One ``loc(...)``.

    Attributes:
        kind: ``file``, ``name``, ``callsite``, ``fused``, ``alias`` or ``unknown``.
        name: File name, given name, or alias.
        line: Line of a file, from 1.
        column: Column of a file.
        inner: The named place; callee and caller; the fused places.
    """

    kind: str = "unknown"
    name: str = ""
    line: int = 0
    column: int = 0
    inner: tuple["Location", ...] = ()


def frames(
    location: Location, aliases: Mapping[str, Location], depth: int = 64
) -> tuple[Location, ...]:
    """Return the file locations behind ``location``, innermost call first.

    Args:
        location: Any location.
        aliases: ``#loc7`` -> its location; an alias that is missing stands for nothing.
        depth: How far aliases are followed; a cycle ends there.

    Example:
        >>> [f.line for f in frames(Location("alias", "#loc1"),
        ...                         {"#loc1": Location("file", "k.py", 7, 3)})]
        [7]
    """
    if depth == 0:
        return ()
    if location.kind == "file":
        return (location,)
    if location.kind == "alias":
        found = aliases.get(location.name)
        return frames(found, aliases, depth - 1) if found else ()
    parts = location.inner
    if location.kind == "fused":
        parts = parts[:1]
    return tuple(f for part in parts for f in frames(part, aliases, depth - 1))


def described(location: Location, aliases: Mapping[str, Location]) -> str:
    """Return ``file.py:line:column`` of the user's line, or an empty text.

    Of nested calls the innermost outside Triton's own library is meant.

    Example:
        >>> described(Location("file", "/a/k.py", 7, 3), {})
        'k.py:7:3'
    """
    found = frames(location, aliases)
    own = [f for f in found if "/triton/language/" not in f.name.replace("\\", "/")]
    for frame in own or found:
        return f"{frame.name.rpartition('/')[2]}:{frame.line}:{frame.column}"
    return ""
