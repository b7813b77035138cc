"""Where an access of a kernel is in the array's own coordinates, and back.

A kernel may see dims of an array merged, and its loops are in an order of its own. The
position in memory says which element is meant: for an array whose strides form a
mixed-radix system, coordinates are its digits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from compiler.ir.expression import Expression, nodes, substitute
from compiler.ir.index import (
    add,
    constant_value,
    contiguous_strides,
    floordiv,
    index,
    mod,
    mul,
    sub,
    terms,
)
from compiler.ir.node import Axis, Buffer
from compiler.ir.ranges import Ranges


class UnplacedError(Exception):
    """An access is in no form that is understood; says which."""


@dataclass(frozen=True, slots=True)
class Digit:
    """A part of a position, ``(position // weight) % extent`` where no gap follows."""

    number: int
    weight: Expression
    extent: Expression


def radix(
    parts: Sequence[tuple[int, Expression, Expression]], ranges: Ranges, what: str
) -> list[Digit]:
    """Return parts (number, weight, extent) of a mixed-radix system, largest first.

    Raises:
        UnplacedError: They are none.
    """
    left = [Digit(*part) for part in parts if constant_value(part[2]) != 1]
    found: list[Digit] = []
    while left:
        least = [
            one
            for one in left
            if all(ranges.non_negative(sub(o.weight, one.weight)) for o in left)
        ]
        if not least:
            raise UnplacedError(f"strides of {what} cannot be put in order")
        one = least[0]
        left.remove(one)
        below = found[-1] if found else None
        reach = index(1) if below is None else mul(below.weight, below.extent)
        if not ranges.non_negative(sub(one.weight, reach)):
            raise UnplacedError(f"elements of {what} may be in one place")
        found.append(one)
    return found[::-1]


def split(
    position: Expression, parts: Sequence[Digit], ranges: Ranges
) -> list[tuple[int, Expression]]:
    """Return number -> part of a position, as pairs.

    Where there are gaps, as between rows, what is over after the larger parts counts.
    """
    found: list[tuple[int, Expression]] = []
    for place, part in enumerate(parts):
        above = parts[place - 1].weight if place else None
        dense = above is not None and above is mul(part.weight, part.extent)
        if above is not None and not dense:
            position = mod(position, above)
        value = floordiv(position, part.weight)
        if dense:
            value = mod(value, part.extent)
        found.append((part.number, ranges.simplify(value)))
    return found


def position_of(buffer: Buffer, at: Sequence[Expression]) -> Expression:
    """Return where an element is, from the array's first one [elements]."""
    strides = buffer.strides
    if strides is None:
        strides = contiguous_strides(buffer.shape)
    return add(*map(mul, at, strides), 0)


def own_place(
    seen: Buffer, full: Buffer, at: Sequence[Expression], ranges: Ranges
) -> tuple[Expression, ...]:
    """Return the coordinates of an element in the array's own dims.

    Args:
        seen: The array as a kernel sees it.
        full: The array.
        at: Coordinates as the kernel has them.
        ranges: Of their digits.

    Raises:
        UnplacedError: The array's strides do not tell its elements apart.
    """
    if len(seen.shape) == len(full.shape) and all(
        a is b for a, b in zip(seen.shape, full.shape, strict=True)
    ):
        return tuple(at)
    strides = full.strides
    if strides is None:
        strides = contiguous_strides(full.shape)
    parts = [
        (number, stride, extent)
        for number, (stride, extent) in enumerate(zip(strides, full.shape, strict=True))
    ]
    place = [index(0)] * len(full.shape)
    position = ranges.simplify(position_of(seen, at))
    for number, value in split(position, radix(parts, ranges, full.name), ranges):
        place[number] = value
    return tuple(place)


def cut_where_divided(
    values: Sequence[Expression],
    axes: Sequence[Axis],
    new: Callable[[Expression], Expression],
) -> tuple[list[Expression], list[Axis]]:
    """Return indices and loops in which loops that the indices divide are several.

    Args:
        values: Indices over the loops' digits.
        axes: The loops.
        new: Returns a fresh digit of an extent.
    """
    out: list[Axis] = []
    changes: dict[Expression, Expression] = {}
    for axis in axes:
        extent = constant_value(axis.extent)
        by = {
            constant_value(node.args[1])
            for node in nodes(*values)
            if node.op in ("floordiv", "mod") and node.args[0] is axis.digit
        }
        steps = sorted(step for step in by if step is not None)
        chain = [1, *steps, extent or 0]
        if not steps or any(b % a for a, b in pairwise(chain)) or not extent:
            out.append(axis)
            continue
        total = index(0)
        for low, high in pairwise(chain):
            part = Axis(new(index(high // low)), index(high // low))
            out.insert(0, part)
            total = add(total, mul(part.digit, low))
        changes[axis.digit] = total
    return [substitute(value, changes) for value in values], out


def solved(
    seen: Buffer,
    target: Sequence[Expression],
    axes: Sequence[Axis],
    there: Expression,
    ranges: Ranges,
    least: Mapping[Expression, int],
) -> dict[Expression, Expression]:
    """Return digit -> value for the point of loops that writes an element.

    Args:
        seen: The array that is written, as the loops see it.
        target: Where, over the digits of the loops.
        axes: The loops.
        there: Position of the element [elements].
        ranges: Of the position's digits, which may be called as those of the loops.
        least: Symbol -> the least that it can be.

    Raises:
        UnplacedError: Another point may write it too, or the target divides.
    """
    own = Ranges({axis.digit: axis.extent for axis in axes}, least)
    counts = terms(own.simplify(position_of(seen, target)))
    parts: list[tuple[int, Expression, Expression]] = []
    for number, axis in enumerate(axes):
        weight = index(0)
        for factor, count in counts.items():
            if factor is axis.digit:
                weight = add(weight, count)
            elif factor is not None and factor.op == "mul":
                if axis.digit in factor.args:
                    rest = [a for a in factor.args if a is not axis.digit]
                    weight = add(weight, mul(count, *rest))
            elif factor is not None and factor.op not in ("digit", "symbol"):
                raise UnplacedError(f"a target in {seen.name} divides")
        parts.append((number, weight, axis.extent))
    shift = counts.get(None, 0)
    position = ranges.simplify(sub(there, shift))
    values: Mapping[int, Expression] = dict(
        split(position, radix(parts, own, seen.name), ranges)
    )
    return {axis.digit: values.get(n, index(0)) for n, axis in enumerate(axes)}
