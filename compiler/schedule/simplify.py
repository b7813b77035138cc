"""Expressions made simpler by what is known of their digits.

Index divisions, comparisons of indices and choices that the ranges decide vanish, so
that two accesses to the same place become the same expression.
"""

from collections.abc import Callable, Mapping, Sequence

from compiler.ir.expression import INDEX, Expression, make, rewrite
from compiler.ir.index import (
    Index,
    add,
    constant_value,
    floordiv,
    mul,
    rebuilt,
    sub,
    terms,
)
from compiler.ir.node import Axis
from compiler.ir.ranges import Ranges

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def ranges_of(
    axes: Sequence[Axis], least: Mapping[Expression, int] | None = None
) -> Ranges:
    """Return what the axes say of their digits."""
    return Ranges({axis.digit: axis.extent for axis in axes}, least or {})


def simplified(
    root: Expression,
    ranges: Ranges,
    replacements: Mapping[Expression, Expression] | None = None,
    done: dict[int, Expression] | None = None,
    change: Callable[[Expression], Expression] | None = None,
) -> Expression:
    """Return an equal expression, with replacements made on the way.

    Law: both agree wherever the digits are in range.

    Args:
        root: Where to start.
        ranges: Extents of the digits of the result.
        replacements: Leaf -> expression.
        done: Memory shared by roots with the same other arguments.
        change: Applied to each node last.

    Example:
        >>> from compiler.ir.index import digit
        >>> i, j, k = digit("i"), digit("j"), digit("k")
        >>> ranges = Ranges({i: 8, j: 4})
        >>> simplified(floordiv(k, 4), ranges, {k: add(mul(i, 4), j)})
        i
    """
    replaced = replacements or {}
    settled: dict[Expression, Expression] = {}

    def step(node: Expression) -> Expression:
        found = replaced.get(node)
        if found is not None:
            return found
        if node.dtype == INDEX:
            node = settle(node, ranges, settled)
        else:
            node = decided_value(node, ranges)
        return change(node) if change is not None else node

    return rewrite(root, step, done)


def settle(
    node: Expression, ranges: Ranges, settled: dict[Expression, Expression]
) -> Expression:
    """Return an index in which nothing is left to decide.

    Args:
        node: The index.
        ranges: Extents of its digits.
        settled: Memory: what became of indices with these ranges.
    """
    if not node.args or node.op == "checked_index":
        return node
    found = settled.get(node)
    if found is not None:
        return found
    args = tuple(settle(arg, ranges, settled) for arg in node.args)
    same = all(new is old for new, old in zip(args, node.args, strict=True))
    new = decided_index(node if same else rebuilt(node, args), ranges)
    if new is not node:
        new = settle(new, ranges, settled)
    settled[node] = new
    return new


def decided_index(node: Expression, ranges: Ranges) -> Expression:
    """Return the index with its topmost division, if any, decided by the ranges."""
    if node.op in ("floordiv", "mod", "minimum", "maximum"):
        return ranges.decided(node)
    if node.op == "add":
        return recombined(node)
    return node


def recombined(node: Expression) -> Expression:
    """Return the sum with ``(x // c) * c + x % c`` put together again.

    Example:
        >>> from compiler.ir.index import digit, mod
        >>> x = digit("x")
        >>> recombined(add(mul(floordiv(x, 4), 12), mul(mod(x, 4), 3)))
        mul(x, 3)
    """
    parts = terms(node)
    for factor, count in parts.items():
        if factor is None or factor.op != "mod":
            continue
        value, by = factor.args
        whole = mul(floordiv(value, by), by)
        scaled = terms(whole)
        match = scaled and all(
            parts.get(other) == count * number for other, number in scaled.items()
        )
        if match:
            joined = sub(value, add(factor, whole))
            return decided_sum(add(node, mul(joined, count)))
    return node


def decided_sum(node: Expression) -> Expression:
    """Return the sum, put together as often as possible."""
    return recombined(node) if node.op == "add" else node


def decided_value(node: Expression, ranges: Ranges) -> Expression:
    """Return the value with a comparison of indices or a choice decided."""
    if node.op in _COMPARISONS:
        truth = _compared(node, ranges)
        return node if truth is None else boolean(truth)
    if node.op in ("where", "guard"):
        truth = _truth(node.args[0])
        if truth is not None:
            return node.args[1] if truth else node.args[2]
        return node.args[1] if node.args[1] is node.args[2] else node
    if node.op in ("bitwise_and", "bitwise_or") and node.dtype == "bool":
        stop = node.op == "bitwise_or"
        for this, other in (node.args, node.args[::-1]):
            truth = _truth(this)
            if truth is not None:
                return this if truth == stop else other
        return node.args[0] if node.args[0] is node.args[1] else node
    if node.op == "bitwise_not" and node.dtype == "bool":
        truth = _truth(node.args[0])
        return node if truth is None else boolean(not truth)
    return node


def boolean(truth: bool) -> Expression:
    """Return the constant."""
    return make("constant", (), "bool", truth)


def _truth(node: Expression) -> bool | None:
    return bool(node.data) if node.op == "constant" else None


def _as_index(node: Expression) -> Index | None:
    if node.dtype == INDEX:
        return node
    if node.op == "from_index" and node.dtype == "int64":
        return node.args[0]
    if node.op == "constant" and node.dtype in ("int64", "int32"):
        return int(str(node.data))
    return None


def _compared(node: Expression, ranges: Ranges) -> bool | None:
    left, right = map(_as_index, node.args)
    if left is None or right is None:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return None
    low, high = ranges.bounds(sub(right, left))
    if low is None or high is None:
        return None

    def known(value: Index) -> bool:
        return ranges.non_negative(add(value))

    # low <= right - left <= high
    if node.op in ("gt", "le"):
        truth = True if known(low) else False if known(sub(-1, high)) else None
        return truth if node.op == "le" or truth is None else not truth
    if node.op in ("lt", "ge"):
        truth = True if known(sub(low, 1)) else False if known(mul(high, -1)) else None
        return truth if node.op == "lt" or truth is None else not truth
    apart = known(sub(low, 1)) or known(sub(-1, high))
    same = low is high and constant_value(low) == 0
    if not apart and not same:
        return None
    return same if node.op == "eq" else not same
