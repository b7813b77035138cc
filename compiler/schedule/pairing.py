"""Which digit of one nest is which digit of another.

Two nests touch the same array at ``a(x)`` and ``b(y)``. The points where they touch
the same element are given by ``a(x) = b(y)``; where both sides are mixed-radix sums
of digits, the equation says which digit equals which, after digits are cut to a common
refinement.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compiler.ir.expression import Expression, leaves
from compiler.ir.index import (
    Index,
    add,
    constant_value,
    floordiv,
    index,
    mul,
    sub,
    terms,
)
from compiler.ir.node import Axis

from .refine import split_axis


@dataclass(slots=True)
class Side:
    """One nest's digits: their extents, where they are cut, and their class."""

    extents: dict[Expression, Index]
    kind: dict[Expression, str]
    fixed: frozenset[Expression] = frozenset()
    parts: dict[Expression, tuple[list[Axis], Expression]] = field(default_factory=dict)

    def copy(self) -> "Side":
        """Return a copy to try things on."""
        return Side(dict(self.extents), dict(self.kind), self.fixed, dict(self.parts))

    def cut(self, leaf: Expression, by: Index) -> tuple[Expression, Expression]:
        """Cut a digit in two; returns (high, low)."""
        axes, value = split_axis(Axis(leaf, index(self.extents[leaf])), [by])
        self.parts[leaf] = (axes, value)
        for axis in axes:
            self.extents[axis.digit] = axis.extent
            self.kind[axis.digit] = self.kind[leaf]
        del self.extents[leaf]
        return axes[0].digit, axes[1].digit

    def leaves(self, axes: Iterable[Axis]) -> list[Axis]:
        """Return axes as what they are cut into, outermost first."""
        out: list[Axis] = []
        for axis in axes:
            if axis.digit in self.parts:
                out.extend(self.leaves(self.parts[axis.digit][0]))
            else:
                out.append(axis)
        return out

    def over_leaves(self, leaf: Expression) -> Expression:
        """Return a digit over what it is cut into."""
        if leaf not in self.parts:
            return leaf
        total: Expression = index(0)
        for factor, count in terms(self.parts[leaf][1]).items():
            assert factor is not None
            # a digit, or a digit times symbols
            inside = factor.args if factor.op == "mul" else (factor,)
            (part,) = (a for a in inside if a.op == "digit")
            rest = (a for a in inside if a.op != "digit")
            total = add(total, mul(self.over_leaves(part), *rest, count))
        return total


class Pairing:
    """A partial one-to-one map between the digits of two nests."""

    def __init__(self, frame: Side, other: Side, classes: bool) -> None:
        """Start with no pair.

        Args:
            frame: The nest whose digits remain.
            other: The nest that is mapped.
            classes: Whether outer digits pair with outer ones only.
        """
        self.frame, self.other, self.classes = frame, other, classes
        self.pairs: dict[Expression, Expression] = {}
        self.backward: dict[Expression, Expression] = {}

    def equate(self, mine: Sequence[Expression], theirs: Sequence[Expression]) -> bool:
        """Take in ``mine == theirs``, a tuple of equations; False: nothing changed."""
        saved = (self.frame, self.other, dict(self.pairs), dict(self.backward))
        self.frame, self.other = self.frame.copy(), self.other.copy()
        if len(mine) == len(theirs) and all(
            self._equal(a, b) for a, b in zip(mine, theirs, strict=True)
        ):
            return True
        self.frame, self.other, self.pairs, self.backward = saved
        return False

    def equate_axes(self, mine: Sequence[Axis], theirs: Sequence[Axis]) -> bool:
        """Pair whole lists of axes, by row-major position; False: nothing changed."""
        saved = (self.frame, self.other, dict(self.pairs), dict(self.backward))
        self.frame, self.other = self.frame.copy(), self.other.copy()
        if self._walk(
            [a.digit for a in reversed(mine)], [a.digit for a in reversed(theirs)]
        ):
            return True
        self.frame, self.other, self.pairs, self.backward = saved
        return False

    def free(self, side: Side, axes: Sequence[Axis]) -> list[Axis]:
        """Return the axes of a side that have no partner, cut as they are."""
        known = self.backward if side is self.frame else self.pairs
        return [axis for axis in side.leaves(axes) if axis.digit not in known]

    def _equal(self, mine: Expression, theirs: Expression) -> bool:
        shift = terms(mine).get(None, 0)
        if shift != terms(theirs).get(None, 0):
            return False
        left = _radix(sub(mine, shift), self.frame)
        right = _radix(sub(theirs, shift), self.other)
        if left is None or right is None:
            return mine is theirs and not leaves("digit", mine)
        if left[0] is not right[0]:
            return False
        return self._walk(left[1], right[1])

    def _walk(self, left: list[Expression], right: list[Expression]) -> bool:
        """Pair two lists of digits, least significant first."""
        left, right = left[::-1], right[::-1]
        while left and right:
            a, b = left.pop(), right.pop()
            if a in self.frame.parts:
                left.extend(x.digit for x in self.frame.parts[a][0])
                right.append(b)
                continue
            if b in self.other.parts:
                right.extend(x.digit for x in self.other.parts[b][0])
                left.append(a)
                continue
            ea, eb = index(self.frame.extents[a]), index(self.other.extents[b])
            if ea is eb:
                if not self._pair(a, b):
                    return False
            elif _divisible(ea, eb) and self._may_cut(a, self.frame):
                high, low = self.frame.cut(a, eb)
                left.extend((high, low))
                right.append(b)
            elif _divisible(eb, ea) and self._may_cut(b, self.other):
                high, low = self.other.cut(b, ea)
                right.extend((high, low))
                left.append(a)
            else:
                return False
        return not left and not right

    def _may_cut(self, leaf: Expression, side: Side) -> bool:
        known = self.backward if side is self.frame else self.pairs
        return leaf not in known and leaf not in side.fixed

    def _pair(self, mine: Expression, theirs: Expression) -> bool:
        if self.classes and self.frame.kind[mine] != self.other.kind[theirs]:
            return False
        if theirs in self.pairs or mine in self.backward:
            return self.pairs.get(theirs) is mine
        self.pairs[theirs] = mine
        self.backward[mine] = theirs
        return True


def _divisible(value: Expression, by: Expression) -> bool:
    if constant_value(by) in (0, 1):
        return False
    return mul(floordiv(value, by), by) is value


def _radix(value: Expression, side: Side) -> tuple[Expression, list[Expression]] | None:
    """Return (scale, digits) where value = scale * (digits as mixed radix).

    Digits come least significant first. None where the value has another form.
    """
    found: list[tuple[Expression, Expression]] = []
    for factor, count in terms(value).items():
        if factor is None:
            return None
        inside = factor.args if factor.op == "mul" else (factor,)
        digits = [part for part in inside if part.op == "digit"]
        if len(digits) != 1:
            return None
        if digits[0] not in side.extents and digits[0] not in side.parts:
            return None
        scale = mul(count, *(part for part in inside if part.op != "digit"))
        found.append((digits[0], scale))
    if not found:
        return None
    ordered: list[Expression] = []
    step: Expression | None = None
    first: Expression | None = None
    while found:
        if step is None:
            pick = min(found, key=lambda pair: _weight(pair[1]))
            first = pick[1]
        else:
            picks = [pair for pair in found if pair[1] is step]
            if len(picks) != 1:
                return None
            pick = picks[0]
        found.remove(pick)
        ordered.append(pick[0])
        step = mul(pick[1], _extent(pick[0], side))
    assert first is not None
    return first, ordered


def _extent(leaf: Expression, side: Side) -> Index:
    if leaf in side.extents:
        return side.extents[leaf]
    total: Index = 1
    for axis in side.parts[leaf][0]:
        total = mul(total, _extent(axis.digit, side))
    return total


def _weight(scale: Expression) -> tuple[int, int]:
    known = constant_value(scale)
    return (0, known) if known is not None else (len(scale.args) or 1, 0)
