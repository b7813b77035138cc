"""Nested tuples of ints, the shapes and strides of CuTe."""

from collections.abc import Iterator

IntTuple = int | tuple["IntTuple", ...]


def leaves(tree: IntTuple) -> Iterator[int]:
    """Yield the ints of a nested tuple, left to right.

    Example:
        >>> list(leaves(((4, 8), 2)))
        [4, 8, 2]
    """
    if isinstance(tree, int):
        yield tree
        return
    for branch in tree:
        yield from leaves(branch)


def congruent(left: IntTuple, right: IntTuple) -> bool:
    """Say whether two trees have the same nesting.

    Example:
        >>> congruent((1, (2, 3)), (0, (0, 0))), congruent((1, 2), 3)
        (True, False)
    """
    if isinstance(left, int) or isinstance(right, int):
        return isinstance(left, int) and isinstance(right, int)
    return len(left) == len(right) and all(map(congruent, left, right))


def spell(tree: IntTuple) -> str:
    """Write a tree as CuTe prints it.

    Example:
        >>> spell(((4, 8), 2)), spell((3,))
        ('((4,8),2)', '(3)')
    """
    if isinstance(tree, int):
        return str(tree)
    return f"({','.join(map(spell, tree))})"


def column_major(shape: IntTuple, start: int = 1) -> IntTuple:
    """Return the compact strides of ``shape``, leftmost extent fastest.

    Example:
        >>> column_major(((4, 8), 2))
        ((1, 4), 32)
    """
    if isinstance(shape, int):
        return start
    strides = []
    for branch in shape:
        strides.append(column_major(branch, start))
        for extent in leaves(branch):
            start *= extent
    return tuple(strides)
