"""Index maps of reshapes, in digits: division only where dims really split or join."""

from collections.abc import Sequence

from compiler.ir.expression import Expression
from compiler.ir.index import Index, constant_value, flatten, index, mul, unflatten
from compiler.ir.ranges import Ranges


def groups(
    first: Sequence[Index], second: Sequence[Index]
) -> list[tuple[list[int], list[int]]]:
    """Return runs of dims of two shapes whose products are equal, left to right.

    Dims of extent 1 go with the run before them.

    Example:
        >>> groups([2, 3, 4], [6, 2, 2])
        [([0, 1], [0]), ([2], [1, 2])]
    """
    out: list[tuple[list[int], list[int]]] = []
    left, right = 0, 0
    while left < len(first) or right < len(second):
        mine, theirs = [], []
        a, b = index(1), index(1)
        if left < len(first):
            a, mine, left = mul(a, first[left]), [left], left + 1
        if right < len(second):
            b, theirs, right = mul(b, second[right]), [right], right + 1
        while a is not b:
            known_a, known_b = constant_value(a), constant_value(b)
            if known_a is None or known_b is None:
                grow_left = _smaller(a, b) and left < len(first)
            else:
                grow_left = known_a < known_b and left < len(first)
            if grow_left or right >= len(second):
                if left >= len(first):
                    break
                a, mine, left = mul(a, first[left]), [*mine, left], left + 1
            else:
                b, theirs, right = mul(b, second[right]), [*theirs, right], right + 1
        out.append((mine, theirs))
    return out


def _smaller(left: Expression, right: Expression) -> bool:
    """Return whether one product has fewer factors: a guess that only costs digits."""
    return _factors(left) < _factors(right)


def _factors(value: Expression) -> int:
    return len(value.args) if value.op == "mul" else int(constant_value(value) != 1)


def reshaped(
    indices: Sequence[Expression], new: Sequence[Index], old: Sequence[Index]
) -> tuple[Expression, ...]:
    """Return the point of the old shape for a point of the new shape.

    Law: both have the same row-major position.

    Args:
        indices: Digits of the new shape.
        new: Its extents.
        old: Extents with the same product.

    Example:
        >>> from compiler.ir.index import digit
        >>> reshaped([digit("i"), digit("j")], [6, 4], [2, 3, 4])
        (floordiv(i, 3), mod(i, 3), j)
    """
    if any(constant_value(index(extent)) == 0 for extent in (*new, *old)):
        return (index(0),) * len(old)  # there are no points
    ranges = Ranges(
        {i: e for i, e in zip(indices, new, strict=True) if i.op == "digit"}
    )
    out: dict[int, Expression] = {}
    for theirs, mine in groups(old, new):
        position = flatten([indices[d] for d in mine], [new[d] for d in mine])
        places = unflatten(position, [old[d] for d in theirs])
        for dim, place in zip(theirs, places, strict=True):
            one = constant_value(index(old[dim])) == 1
            out[dim] = index(0) if one else ranges.simplify(place)
    return tuple(out[dim] for dim in range(len(old)))
