"""Make the arguments of a failing call small."""

from collections.abc import Callable, Iterator
from typing import Any

from .operation import Arguments


def shrink(
    arguments: Arguments, fails: Callable[[Arguments], bool], limit: int = 400
) -> Arguments:
    """Return arguments that still fail and that no single step makes smaller.

    Args:
        arguments: Some that fail.
        fails: Whether arguments fail in the same way.
        limit: At most so many tries.
    """
    tries = 0
    changed = True
    while changed:
        changed = False
        for smaller in candidates(arguments):
            if tries >= limit:
                return arguments
            tries += 1
            if fails(smaller):
                arguments = smaller
                changed = True
                break
    return arguments


def candidates(arguments: Arguments) -> Iterator[Arguments]:
    """Yield simpler arguments, the boldest steps first.

    A tuple of trees of one nesting (shape and strides) loses the same branch in each.
    """
    for place, value in enumerate(arguments):
        for smaller in _smaller(value):
            yield (*arguments[:place], smaller, *arguments[place + 1 :])


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int):
        tries = (0, 1, 2, 3, value // 2, value - 1 if value > 0 else value + 1, -value)
        for simpler in dict.fromkeys(tries):
            if (abs(simpler), simpler < 0) < (abs(value), value < 0):
                yield simpler
        return
    if isinstance(value, float):
        for simple in (
            0.0,
            1.0,
            -1.0,
            float(round(value)) if abs(value) < 1e9 else 1.0,
        ):
            if abs(simple) < abs(value) or (value != value):
                yield simple
        return
    if not isinstance(value, tuple):
        return
    if len(value) > 1 and _nesting(value[0]) and len(set(map(_nesting, value))) == 1:
        yield from _together(value)
    for place in range(len(value)):
        yield value[:place] + value[place + 1 :]
    if len(value) == 1:
        yield value[0]
    for place, part in enumerate(value):
        for smaller in _smaller(part):
            yield (*value[:place], smaller, *value[place + 1 :])


def _nesting(value: Any) -> Any:
    """Return the nesting of a tree, () for a leaf."""
    return tuple(map(_nesting, value)) if isinstance(value, tuple) else ()


def _together(trees: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Drop or unwrap the same branch in trees of one nesting."""
    first = trees[0]
    if not isinstance(first, tuple):
        return
    if (half := len(first) // 2) > 1:
        yield tuple(tree[:half] for tree in trees)
        yield tuple(tree[half:] for tree in trees)
    if len(first) > 1:
        yield tuple(tree[:1] for tree in trees)
        yield tuple(tree[-1:] for tree in trees)
    for place in range(len(first)):
        yield tuple(tree[place] for tree in trees)
        yield tuple(tree[:place] + tree[place + 1 :] for tree in trees)
        for smaller in _together(tuple(tree[place] for tree in trees)):
            yield tuple(
                (*tree[:place], part, *tree[place + 1 :])
                for tree, part in zip(trees, smaller, strict=True)
            )
