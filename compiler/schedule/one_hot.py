"""Sums in which at most one term counts: they need no loop.

Cross entropy's gradient sums, along each row, a value where the column is the row's
class and 0 elsewhere. The sum is that value, if the class is one of the columns.
"""

from collections.abc import Iterator

from compiler.ir.expression import Expression, nodes
from compiler.ir.node import Map, Reduce
from compiler.ir.operations import type_class
from compiler.ir.scalar import apply, constant, from_index, value_of


def one_hot(node: Reduce) -> Map | None:
    """Return a sum of values that are 0 but at one place as a map, None if it is none.

    Law: equal to the sum; of floats too, where adding zeros changes no bit but the
    sign of -0.

    Args:
        node: Any reduction.
    """
    if node.reducer != "sum" or len(node.values) != 1 or len(node.reduced) != 1:
        return None
    value, axis = node.values[0], node.reduced[0]
    if value.op != "where" or value.dtype != node.buffers[0].dtype:
        return None
    condition, chosen, other = value.args
    if value_of(other) != 0 or not _integer_or_float(value):
        return None
    kept: list[Expression] = []
    place: Expression | None = None
    for part in _conjuncts(condition):
        if not _mentions(part, axis.digit):
            kept.append(part)
            continue
        found = _equal_to(part, axis.digit)
        if found is None or place is not None:
            return None
        place = found
    if place is None or _mentions(chosen, axis.digit):
        return None
    extent = from_index(axis.extent, place.dtype)
    kept.append(apply("ge", place, constant(0, place.dtype)))
    kept.append(apply("lt", place, extent))
    whole = kept[0]
    for part in kept[1:]:
        whole = apply("bitwise_and", whole, part)
    result = apply("where", whole, chosen, other)
    if type_class(value.dtype) == "float":
        # a sum starts from 0: -0 becomes 0
        result = apply("add", constant(0.0, value.dtype), result)
    return Map(node.buffers[0], node.axes, result)


def _integer_or_float(value: Expression) -> bool:
    return type_class(value.dtype) in ("int", "unsigned", "float")


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if condition.op == "bitwise_and" and condition.dtype == "bool":
        for part in condition.args:
            yield from _conjuncts(part)
    else:
        yield condition


def _equal_to(condition: Expression, digit: Expression) -> Expression | None:
    """Return the value whose equality with a digit a condition tests."""
    if condition.op != "eq":
        return None
    left, right = condition.args
    for number, value in ((left, right), (right, left)):
        exact = number.op == "from_index" and number.args[0] is digit
        if exact and number.dtype == "int64" and not _mentions(value, digit):
            return value
    return None


def _mentions(value: Expression, digit: Expression) -> bool:
    return any(part is digit for part in nodes(value))
