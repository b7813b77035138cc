"""Places in memory: accesses as sums of digits, views as strides."""

from collections.abc import Sequence

from compiler.ir.expression import Expression, leaves, nodes
from compiler.ir.index import Index, add, constant_value, index, mul, terms
from compiler.ir.node import Axis, Buffer
from compiler.ir.ranges import Ranges

from .simplify import simplified

_SIZES = ("symbol", "constant", "add", "mul", "floordiv", "mod", "minimum", "maximum")
"""Operations of indices that are the same at all points."""


def offset_of(args: Sequence[Expression], strides: Sequence[Index]) -> Expression:
    """Return the place of an element relative to the array's first [elements]."""
    total: Index = 0
    for arg, stride in zip(args, strides, strict=True):
        total = add(total, mul(arg, stride))
    return add(total)


def affine(
    place: Expression,
) -> tuple[dict[Expression, Expression], set[Expression]]:
    """Return (digit -> coefficient, digits that stand inside something else).

    Digits inside a load's indices are the load's, not the place's.
    """
    out: dict[Expression, Expression] = {}
    hidden: set[Expression] = set()
    for factor, count in terms(place).items():
        if factor is None:
            continue
        inside = factor.args if factor.op == "mul" else (factor,)
        digits = [part for part in inside if part.op == "digit"]
        rest = [part for part in inside if part.op != "digit"]
        if len(digits) == 1 and all(map(_is_size, rest)):
            step = mul(count, *rest)
            out[digits[0]] = add(out.get(digits[0], index(0)), step)
        else:
            hidden.update(_own_digits(factor))
    return out, hidden


def _is_size(part: Expression) -> bool:
    """Return whether an index is made of sizes and numbers only."""
    return all(node.op in _SIZES for node in nodes(part))


def _own_digits(root: Expression) -> set[Expression]:
    found: set[Expression] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.op == "digit":
            found.add(node)
        elif node.op != "load":
            stack.extend(node.args)
    return found


def view_strides(
    args: Sequence[Expression], axes: Sequence[Axis], base: Sequence[Index]
) -> tuple[tuple[Expression, ...], Expression] | None:
    """Return (strides, offset) of the view ``view[axes] = base[args]``.

    Args:
        args: The load's indices, one for each dim of the base.
        axes: The view's.
        base: Strides of the base [elements].

    Returns:
        None where no strides give this view, as after the reshape of a slice.

    Example:
        >>> from compiler.ir.index import digit
        >>> i, j = digit("i"), digit("j")
        >>> axes = [Axis(i, index(3)), Axis(j, index(4))]
        >>> view_strides([j, i], axes, [3, 1])
        ((1, 3), 0)
    """
    ranges = Ranges({axis.digit: axis.extent for axis in axes})
    place = simplified(offset_of(args, base), ranges)
    found, hidden = affine(place)
    if (
        hidden
        or leaves("load", place)
        or leaves("checked_index", place)  # it may raise, and only a kernel can
        or not all(ranges.non_negative(step) for step in found.values())
    ):
        return None
    offset = place
    for leaf, step in found.items():
        offset = add(offset, mul(leaf, step, -1))
    return tuple(found.get(axis.digit, index(0)) for axis in axes), offset


def same_layout(
    shape: Sequence[Index], left: Sequence[Index], right: Sequence[Index]
) -> bool:
    """Return whether strides agree wherever an extent is not 1."""
    return len(left) == len(right) and all(
        constant_value(extent) == 1 or index(a) is index(b)
        for extent, a, b in zip(shape, left, right, strict=True)
    )


def dense_strides(
    shape: Sequence[Index], order: Sequence[int]
) -> tuple[Expression, ...]:
    """Return the strides of a dense array whose dims are nested in an order.

    Args:
        shape: Extents.
        order: Dims, outermost first.

    Example:
        >>> dense_strides([2, 3, 4], [0, 2, 1])
        (12, 1, 3)
    """
    out: dict[int, Expression] = {}
    step: Index = 1
    for dim in reversed(order):
        out[dim] = index(step)
        step = mul(step, shape[dim])
    return tuple(out[dim] for dim in range(len(shape)))


def is_dense(shape: Sequence[Index], strides: Sequence[Index]) -> bool:
    """Return whether strides, all known numbers, are those of a dense array.

    Example:
        >>> is_dense([2, 3], [1, 2]), is_dense([2, 3], [4, 1])
        (True, False)
    """
    known = [
        (constant_value(s), constant_value(e))
        for s, e in zip(strides, shape, strict=True)
    ]
    step = 1
    for stride, extent in sorted((s or 0, e or 0) for s, e in known if e != 1):
        if stride != step or extent == 0:
            return False
        step *= extent
    return True


def base_strides(
    args: Sequence[Expression], axes: Sequence[Axis], wanted: Sequence[Index]
) -> tuple[Expression, ...] | None:
    """Return strides of a base that give a view the strides wanted, if any do.

    The base's dims each need a digit of their own with coefficient 1.
    """
    by_digit = {axis.digit: index(w) for axis, w in zip(axes, wanted, strict=True)}
    out: list[Expression] = []
    for arg in args:
        units = [f for f, c in terms(arg).items() if c == 1 and f in by_digit]
        if constant_value(arg) == 0:
            out.append(index(1))
        elif len(units) == 1 and units[0] is not None:
            out.append(by_digit[units[0]])
        else:
            return None
    return tuple(out)


def strides_of(buffer: Buffer) -> tuple[Expression, ...]:
    """Return the strides, which are decided by now."""
    assert buffer.strides is not None, buffer.name
    return buffer.strides
