"""What is known of an index where its digits run: bounds, and what follows from them.

A bound is an index expression over symbols. A symbol is at least its lower bound (0
unless told), so a sum is non-negative if each coefficient is, after each symbol is
written as its lower bound plus something non-negative.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .expression import INDEX, Expression, rewrite
from .index import (
    Index,
    add,
    constant_value,
    floordiv,
    from_terms,
    index,
    maximum,
    minimum,
    mod,
    mul,
    sub,
    terms,
)


@dataclass(frozen=True)
class Ranges:
    """Extents of digits and lower bounds of symbols.

    Attributes:
        extents: Digit -> extent; the digit lies in [0, extent).
        least: Symbol -> the least that it can be, 0 where it is missing.
    """

    extents: Mapping[Expression, Index]
    least: Mapping[Expression, int] = field(default_factory=dict)
    _bounds: dict[Expression, tuple[Expression | None, Expression | None]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def non_negative(self, value: Index) -> bool:
        """Return whether a value over symbols is proved to be at least 0."""
        known = constant_value(value)
        if known is not None:
            return known >= 0
        shifted: dict[Expression | None, int] = {}
        for factor, count in terms(value).items():
            if factor is None:
                shifted[None] = shifted.get(None, 0) + count
                continue
            # prod(s) = prod((s - low) + low): expand into non-negative parts
            parts: dict[Expression | None, int] = {None: count}
            for part in factor.args if factor.op == "mul" else (factor,):
                low = self._low(part)
                if low is None:
                    return False
                grown: dict[Expression | None, int] = {}
                for other, number in parts.items():
                    joined = part if other is None else mul(other, part)
                    grown[joined] = grown.get(joined, 0) + number
                    grown[other] = grown.get(other, 0) + number * low
                parts = grown
            for other, number in parts.items():
                shifted[other] = shifted.get(other, 0) + number
        return all(number >= 0 for number in shifted.values())

    def _low(self, factor: Expression) -> int | None:
        if factor.op == "symbol":
            return self.least.get(factor, 0)
        if factor.op == "mod":
            return 0
        if factor.op in ("floordiv", "minimum", "maximum"):
            parts = factor.args[: 1 if factor.op == "floordiv" else 2]
            some = any if factor.op == "maximum" else all
            return 0 if some(self.non_negative(part) for part in parts) else None
        return None

    def bounds(self, value: Index) -> tuple[Expression | None, Expression | None]:
        """Return (least, greatest) over all digits; None where none is known.

        Both are attained or exceeded: they bound the value, tightly where each digit
        occurs once.
        """
        value = index(value)
        if value.op == "constant":
            return value, value
        found = self._bounds.get(value)
        if found is None:
            found = self._bounds[value] = self._bounded(value)
        return found

    def _bounded(
        self, value: Expression
    ) -> tuple[Expression | None, Expression | None]:
        low, high = index(0), index(0)
        for factor, count in terms(value).items():
            if factor is None:
                below, above = index(1), index(1)
            else:
                found = self._factor(factor)
                if found is None:
                    return None, None
                below, above = found
            if count < 0:
                below, above = above, below
            low = add(low, mul(below, count))
            high = add(high, mul(above, count))
        return low, high

    def _factor(self, factor: Expression) -> tuple[Expression, Expression] | None:
        if factor.op == "digit":
            extent = self.extents.get(factor)
            return None if extent is None else (index(0), sub(extent, 1))
        if factor.op == "symbol":
            return factor, factor
        if factor.op == "checked_index":
            return index(0), sub(factor.args[1], 1)
        if factor.op == "mul":
            low, high = index(1), index(1)
            for part in factor.args:
                found = self.bounds(part)
                if found[0] is None or found[1] is None:
                    return None
                if not self.non_negative(found[0]):
                    return None
                low, high = mul(low, found[0]), mul(high, found[1])
            return low, high
        if factor.op not in ("floordiv", "mod", "minimum", "maximum"):
            return None
        left = self.bounds(factor.args[0])
        right = self.bounds(factor.args[1])
        if left[0] is None or left[1] is None or right[1] is None or right[0] is None:
            return None
        if factor.op == "mod":
            return index(0), sub(right[1], 1)
        if factor.op == "floordiv":
            if right[0] is not right[1]:
                return None
            return floordiv(left[0], right[0]), floordiv(left[1], right[0])
        extreme = minimum if factor.op == "minimum" else maximum
        return extreme(left[0], right[0]), extreme(left[1], right[1])

    def at_most(self, value: Index, limit: Index) -> bool:
        """Return whether ``value <= limit`` is proved for all digits."""
        _, high = self.bounds(value)
        return high is not None and self.non_negative(sub(limit, high))

    def at_least(self, value: Index, limit: Index) -> bool:
        """Return whether ``value >= limit`` is proved for all digits."""
        low, _ = self.bounds(value)
        return low is not None and self.non_negative(sub(low, limit))

    def inside(self, value: Index, extent: Index) -> bool:
        """Return whether ``0 <= value < extent`` is proved for all digits."""
        low, high = self.bounds(value)
        if low is None or high is None or not self.non_negative(low):
            return False
        return self.non_negative(sub(sub(extent, 1), high))

    def simplify(self, value: Index) -> Expression:
        """Return an equal index with the divisions gone that the ranges decide.

        Law: both agree wherever the digits are in range.

        Example:
            >>> from compiler.ir.index import digit, mod
            >>> i = digit("i")
            >>> Ranges({i: 8}).simplify(add(mod(i, 8), floordiv(i, 8)))
            i
        """
        return rewrite(index(value), self.decided)

    def decided(self, node: Expression) -> Expression:
        """Return the index with its topmost division or extreme decided, if it can be.

        Law: both agree wherever the digits are in range.
        """
        if node.op not in ("floordiv", "mod", "minimum", "maximum"):
            return node
        if node.dtype != INDEX:  # a value that an index is read from
            return node
        left, right = node.args
        if node.op in ("minimum", "maximum"):
            smaller = self.non_negative_over(sub(right, left))
            larger = self.non_negative_over(sub(left, right))
            if not smaller and not larger:
                return node
            return left if smaller == (node.op == "minimum") else right
        if self.inside(left, right):
            return index(0) if node.op == "floordiv" else left
        split = self._split(left, right)
        if split is None:
            return node
        whole, rest = split
        return whole if node.op == "floordiv" else rest

    def non_negative_over(self, value: Index) -> bool:
        """Return whether a value is proved to be at least 0 for all digits."""
        return self.at_least(value, 0)

    def _split(
        self, value: Expression, divisor: Expression
    ) -> tuple[Expression, Expression] | None:
        """Return (q, r) where value = c * g + r, g | divisor and 0 <= r < g."""
        by = constant_value(divisor)
        if by is None:
            return None
        parts = terms(value)
        for g in sorted({abs(c) for c in parts.values() if by % abs(c) == 0}):
            if g == 1:
                continue
            high = {f: c for f, c in parts.items() if c % g == 0}
            low = from_terms({f: c for f, c in parts.items() if c % g})
            if not high or not self.inside(low, g):
                continue
            upper = from_terms({f: c // g for f, c in high.items()})
            if g == by:
                return upper, low
            if low is index(0):
                continue
            inner = floordiv(upper, by // g)
            rest = sub(upper, mul(inner, by // g))
            return inner, add(mul(mod(upper, by // g), g), low) if rest else low
        return None
