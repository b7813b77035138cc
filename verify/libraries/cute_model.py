"""What layouts of CuTe mean: tables of functions, by definition.

A layout is a pair (shape, stride) of nested tuples. It maps the index i to the sum of
coordinate times stride, the coordinates being the digits of i in the mixed radix of
the shape, the leftmost fastest (colexicographic), or the rightmost (lexicographic).
Everything here is by enumeration, so that nothing is shared with what is tested.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from random import Random
from typing import Any

from .operation import UndefinedError

Tree = Any
Layout = tuple[Tree, Tree]
LIMIT = 4096
"""Largest layout that is enumerated [elements]."""


def leaves(tree: Tree) -> list[int]:
    """Return the ints of a tree, left to right."""
    if isinstance(tree, tuple):
        return [leaf for branch in tree for leaf in leaves(branch)]
    return [tree]


def check(layout: Layout) -> None:
    """Refuse what is no layout.

    Raises:
        UndefinedError: not a pair of congruent trees of ints with extents of 1 or more.
    """
    if not isinstance(layout, tuple) or len(layout) != 2:
        raise UndefinedError("a layout is a pair")
    shape, stride = layout
    if not _congruent(shape, stride):
        raise UndefinedError("shape and stride differ in nesting")
    if any(extent < 1 for extent in leaves(shape)) or size(layout) > LIMIT:
        raise UndefinedError("extents of 1 and more")
    if any(step < 0 for step in leaves(stride)):
        raise UndefinedError("strides of 0 and more")


def _congruent(a: Tree, b: Tree) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) > 0 and all(map(_congruent, a, b))
    return type(a) is type(b) is int


def size(layout: Layout) -> int:
    """Return the number of indices."""
    return prod(leaves(layout[0]))


@lru_cache(maxsize=1 << 16)
def table(layout: Layout, *, rightmost: bool = False) -> tuple[int, ...]:
    """Return the offsets of the indices 0, 1, ...

    Args:
        layout: Shape and stride.
        rightmost: Whether the rightmost coordinate is fastest.

    Raises:
        UndefinedError: see :func:`check`.

    Example:
        >>> table(((2, 3), (3, 1))), table(((2, 3), (3, 1)), rightmost=True)
        ((0, 3, 1, 4, 2, 5), (0, 1, 2, 3, 4, 5))
    """
    check(layout)
    pairs = list(zip(leaves(layout[0]), leaves(layout[1]), strict=True))
    if rightmost:
        pairs.reverse()
    offsets = [0]
    for extent, step in pairs:
        offsets = [base + step * k for k in range(extent) for base in offsets]
    return tuple(offsets)


def composed(a: Layout, b: Layout, *, rightmost: bool = False) -> list[int]:
    """Return the table of ``a`` after ``b``.

    Raises:
        UndefinedError: an offset of ``b`` is no index of ``a``.
    """
    outer = table(a, rightmost=rightmost)
    inner = table(b, rightmost=rightmost)
    if max(inner) >= len(outer):
        raise UndefinedError("b leaves the domain of a")
    return [outer[index] for index in inner]


def is_injective(layout: Layout) -> bool:
    """Return whether no offset is hit twice."""
    offsets = table(layout)
    return len(set(offsets)) == len(offsets)


def swizzled(bits: int, base: int, shift: int, offset: int) -> int:
    """Return CuTe's swizzle of an offset: the field above is xored onto the one below.

    Raises:
        UndefinedError: the fields overlap or are negative.
    """
    if bits < 0 or base < 0 or abs(shift) < bits:
        raise UndefinedError("fields of a swizzle are disjoint")
    mask = (1 << bits) - 1
    if shift >= 0:
        return offset ^ ((offset >> (base + shift) & mask) << base)
    return offset ^ ((offset >> base & mask) << (base - shift))


def random_layout(
    rng: Random, most: int = 64, depth: int = 2, *, compact: float = 0.5
) -> Layout:
    """Draw a layout.

    Args:
        rng: Source of choices.
        most: At most so many indices.
        depth: Nesting.
        compact: How often the strides are those of a dense array in some order.
    """
    count = rng.choice((1, 1, 2, 2, 2, 3, 4))
    extents: list[int] = []
    left = most
    for _ in range(count):
        extent = rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 16))
        if extent > left:
            extent = 1
        extents.append(extent)
        left //= extent
    if rng.random() < compact:
        strides = [0] * count
        step = 1
        for place in rng.sample(range(count), count):
            strides[place] = step
            step *= extents[place] * rng.choice((1, 1, 1, 1, 2))
    else:
        strides = [rng.choice((0, 1, 1, 2, 3, 4, 6, 8, 12, 16)) for _ in extents]
    if count == 1:
        return extents[0], strides[0]
    if depth > 1 and count > 2 and rng.random() < 0.5:
        cut = rng.randint(1, count - 1)
        parts = [(0, cut), (cut, count)]
        return _grouped(extents, parts), _grouped(strides, parts)
    return tuple(extents), tuple(strides)


def _grouped(values: Sequence[int], parts: Sequence[tuple[int, int]]) -> Tree:
    found: list[Tree] = []
    for low, high in parts:
        found.append(values[low] if high - low == 1 else tuple(values[low:high]))
    return tuple(found)


def small_layouts(top: int = 3, strides: Sequence[int] = (0, 1, 2, 3)) -> list[Layout]:
    """Return all flat layouts of one or two modes with small extents and strides."""
    return list(_small(top, strides))


def _small(top: int, strides: Sequence[int]) -> Iterator[Layout]:
    extents = range(1, top + 1)
    yield from product(extents, strides)
    for shape in product(extents, repeat=2):
        for stride in product(strides, repeat=2):
            yield shape, stride
