"""Nested tuples of ints, the shapes and strides of CuTe."""

from collections.abc import Iterator

from algebra.errors import ArgumentError

IntTuple = int | tuple["IntTuple", ...]


def int_tuple(name: str, tree: object) -> IntTuple:
    """Return a tree of ints, given as nested lists or tuples, as tuples.

    Args:
        name: Argument that the message speaks of.
        tree: What came.

    Raises:
        ArgumentError: something else; has ``argument`` and ``value``.

    Example:
        >>> int_tuple("shape", [[4, 8], 2])
        ((4, 8), 2)
    """
    if isinstance(tree, int) and not isinstance(tree, bool):
        return tree
    if isinstance(tree, list | tuple):
        return tuple(int_tuple(name, branch) for branch in tree)
    raise ArgumentError(
        f"{name} needs to be an int or a nested tuple of ints, such as ((4, 8), 2), "
        f"got {tree!r} ({type(tree).__name__}) in it; give ints",
        argument=name,
        value=tree,
    )


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
