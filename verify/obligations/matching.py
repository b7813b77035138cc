"""Two expressions of one value: a kernel's, and the one that a program defines.

They are walked side by side. Where one reads an array that the other computes, its
definition is put in; where both read, the elements must be the same. A reduced axis of
the definition is unknown at first, and stands for what the kernel reads there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from algebra.verdict import Proved, Refuted, Unknown
from compiler.ir.expression import (
    INDEX,
    Expression,
    leaves,
    make,
    nodes,
    substitute,
)
from compiler.ir.index import (
    add,
    constant_value,
    digit,
    flatten,
    floordiv,
    index,
    mod,
    mul,
    sub,
    terms,
)
from compiler.ir.ranges import Ranges
from verify.symbolic import terms as integer
from verify.symbolic.question import Solver

from .integers import Integers, ask
from .points import comparison, conjuncts

COMMUTATIVE = frozenset(
    (
        "add",
        "mul",
        "minimum",
        "maximum",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "eq",
        "ne",
    )
)
"""Operations of two operands that may stand in either order."""

UNKNOWN = "?"
"""First letter of digits that stand for a reduced axis of a definition."""

DEEPEST = 400
"""Levels of expressions that are walked."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why two expressions are not known to be one value.

    Attributes:
        text: In words.
        wrong: Whether an element is read that the definition does not read.
        point: Digits and sizes where that happens.
    """

    text: str
    wrong: bool = False
    point: tuple[tuple[str, int], ...] = ()


class Meaning(Protocol):
    """Says what loads and locals stand for."""

    def shape(self, load: Expression) -> Sequence[Expression] | None:
        """Return the extents of an array that is read."""
        ...

    def kernel_value(self, load: Expression, walk: "Walk") -> Expression | None:
        """Return what the kernels store where a load reads; None: it is not known."""
        ...

    def defined_value(self, load: Expression, walk: "Walk") -> Expression | None:
        """Return what the program says an element is; None for what it is given."""
        ...

    def together(
        self, mine: Expression, theirs: Expression, walk: "Walk"
    ) -> Mismatch | None:
        """Compare a computation with a result that may be made in several steps."""
        ...

    def alike(
        self, mine: Expression, theirs: Expression, walk: "Walk"
    ) -> Mismatch | None:
        """Compare elements of two arrays that are no maps."""
        ...

    def folded(
        self, local: Expression, load: Expression, walk: "Walk"
    ) -> Mismatch | None:
        """Compare a reduction or scan of a kernel with one of the program."""
        ...


@dataclass
class Walk:
    """State of one comparison.

    Attributes:
        meaning: What loads and locals stand for.
        extents: Digit -> extent, of all digits met so far.
        least: Symbol -> the least that it can be.
        solver: For indices that ranges do not decide.
        bound: Unknown digit -> what it is.
        guards: Conditions that hold here, each with whether it holds or fails.
        reads: How many elements were compared.
    """

    meaning: Meaning
    extents: dict[Expression, Expression]
    least: dict[Expression, int]
    solver: Solver
    bound: dict[Expression, Expression] = field(default_factory=dict)
    guards: tuple[tuple[Expression, bool], ...] = ()
    reads: int = 0
    fresh: int = 0
    depth: int = 0
    matched: set[tuple[Expression, Expression]] = field(default_factory=set)
    simple: dict[Expression, Expression] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ranges = Ranges(self.extents, self.least)

    def new(self, mark: str, extent: Expression) -> Expression:
        """Return a digit that is not used yet."""
        self.fresh += 1
        made = digit(f"{mark}{self.fresh}")
        self.extents[made] = extent
        return made

    def simplify(self, value: Expression) -> Expression:
        """Return an index with what the ranges decide decided."""
        found = self.simple.get(value)
        if found is None:
            found = self.simple[value] = self.ranges.simplify(value)
        return found

    def resolved(self, value: Expression) -> Expression:
        """Return an expression with the known unknowns put in."""
        if not self.bound or not any(n in self.bound for n in leaves("digit", value)):
            return value
        return substitute(value, self.bound)

    # values

    def same(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        """Return why a kernel's value is not the defined one; None: it is.

        Args:
            mine: Of the kernel.
            theirs: Of the program.
        """
        if mine is theirs and not self._open(theirs):
            return None
        if (mine, theirs) in self.matched:
            return None
        if self.depth > DEEPEST:
            return Mismatch("expressions that are too deep")
        self.depth += 1
        try:
            found = self._same(mine, theirs)
        finally:
            self.depth -= 1
        if found is None and not self.guards:
            self.matched.add((mine, theirs))
        return found

    def _open(self, value: Expression) -> bool:
        return any(
            str(n.data).startswith(UNKNOWN) and n not in self.bound
            for n in leaves("digit", value)
        )

    def _same(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        if mine.dtype == INDEX or theirs.dtype == INDEX:
            if mine.dtype != theirs.dtype:
                return Mismatch(f"{mine.op} is an index or {theirs.op} is one")
            return self.index(mine, theirs)
        if mine.op != theirs.op and {mine.op, theirs.op} & {"guard", "where"}:
            short, other = self.chosen(mine), self.chosen(self.resolved(theirs))
            if (short, other) != (mine, theirs):
                return self.same(short, other)
            if mine.op not in ("guard", "where") and self._either(mine, theirs):
                return None
        if mine.op == "local" and theirs.op == "load":
            first = self.meaning.folded(mine, theirs, self)
            if first is None:
                return None
            inner = self.meaning.defined_value(theirs, self)
            if inner is None or self.same(mine, inner) is not None:
                return first
            return None
        if mine.op == "load" and theirs.op == "load":
            return self._loads(mine, theirs)
        if theirs.op == "load":
            inner = self.meaning.defined_value(theirs, self)
            if inner is None:
                return self.meaning.together(mine, theirs, self)
            return self.same(mine, inner)
        if mine.op == "load":
            inner = self.meaning.kernel_value(mine, self)
            if inner is None:
                return Mismatch(
                    f"the kernel reads {mine.data} where {theirs.op} is computed"
                )
            return self.same(inner, theirs)
        if (mine.op, mine.dtype, mine.data, len(mine.args)) == (
            theirs.op,
            theirs.dtype,
            theirs.data,
            len(theirs.args),
        ):
            return self._operands(mine, theirs)
        return self._shortened(mine, theirs)

    def _loads(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        first: Mismatch | None = None
        if mine.data == theirs.data:
            first = self._place(mine, theirs)
            if first is None:
                return None
        inner = self.meaning.defined_value(theirs, self)
        if inner is not None:
            return self.same(mine, inner)
        value = self.meaning.kernel_value(mine, self)
        if value is not None:
            return self.same(value, theirs)
        if first is not None:
            return first
        return self.meaning.alike(mine, theirs, self)

    def _place(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        if len(mine.args) != len(theirs.args):
            return Mismatch(f"{mine.data} has other dims in the kernel")
        saved = dict(self.bound)
        self.reads += 1
        for place, (a, b) in enumerate(zip(mine.args, theirs.args, strict=True)):
            found = self.index(a, b)
            if found is not None:
                self.bound = saved
                if self._open(theirs) and self._flat(mine, theirs):
                    return None
                text = f"dim {place} of {mine.data}: {found.text}"
                return Mismatch(text, found.wrong, found.point)
        return None

    def _flat(self, mine: Expression, theirs: Expression) -> bool:
        """Compare positions: ``x // 3`` and ``x % 3`` are one number there."""
        shape = self.meaning.shape(mine)
        if shape is None or len(shape) != len(mine.args):
            return False
        saved = dict(self.bound)
        here, there = (
            self.simplify(flatten(self.resolved(load).args, shape))
            for load in (mine, theirs)
        )
        if self.index(recombined(here), recombined(there)) is None:
            return True
        self.bound = saved
        return False

    def _operands(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        if mine.op in ("guard", "where") and len(mine.args) == 3:
            return self._choice(mine, theirs)
        first = self._pairs(mine.args, theirs.args)
        if first is None or mine.op not in COMMUTATIVE:
            return first
        if self._pairs(mine.args, theirs.args[::-1]) is None:
            return None
        if mine.dtype == "bool" and self._shortened(mine, theirs) is None:
            return None
        return first

    def _pairs(
        self, mine: Sequence[Expression], theirs: Sequence[Expression]
    ) -> Mismatch | None:
        saved, known = dict(self.bound), set(self.matched)
        for a, b in zip(mine, theirs, strict=True):
            found = self.same(a, b)
            if found is not None:
                self.bound, self.matched = saved, known
                return found
        return None

    def _choice(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        found = self.same(mine.args[0], theirs.args[0])
        if found is not None:
            shorter = self._shortened(mine, theirs)
            return None if shorter is None else found
        before = self.guards
        for branch, holds in ((1, True), (2, False)):
            self.guards = (*before, (mine.args[0], holds))
            try:
                found = self.same(mine.args[branch], theirs.args[branch])
            finally:
                self.guards = before
            if found is not None:
                return found
        return None

    def _either(self, mine: Expression, theirs: Expression) -> bool:
        """Return whether a value is both that a choice is between, each where it is."""
        if len(theirs.args) != 3:
            return False
        saved, known, before = dict(self.bound), set(self.matched), self.guards
        condition = self.resolved(theirs.args[0])
        for branch, holds in ((1, True), (2, False)):
            if not self._open(condition):
                self.guards = (*before, (condition, holds))
            try:
                found = self.same(mine, theirs.args[branch])
            finally:
                self.guards = before
            if found is not None:
                self.bound, self.matched = saved, known
                return False
        return True

    def _shortened(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        """Compare after choices that are decided here have been made."""
        short, other = self.chosen(mine), self.chosen(self.resolved(theirs))
        if (short, other) != (mine, theirs):
            return self.same(short, other)
        return Mismatch(f"the kernel computes {mine.op} where {theirs.op} is meant")

    def chosen(self, value: Expression) -> Expression:
        """Return a value with the choice at its top made, where it is decided."""
        while True:
            if value.op in ("guard", "where") and len(value.args) == 3:
                truth = self.truth(value.args[0])
                if truth is None:
                    return value
                value = value.args[1 if truth else 2]
            elif value.op in ("bitwise_and", "bitwise_or") and value.dtype == "bool":
                stop = value.op == "bitwise_or"
                one, two = map(self.truth, value.args)
                if stop in (one, two):
                    return make("constant", (), "bool", stop)
                if one is None and two is None:
                    return value
                value = value.args[0 if one is None else 1]
            elif value.dtype == "bool" and value.op != "constant":
                truth = self.truth(value)
                return value if truth is None else make("constant", (), "bool", truth)
            else:
                return value

    def truth(self, condition: Expression) -> bool | None:
        """Return whether a condition on indices holds at all points, or at none."""
        if condition.op == "constant":
            return bool(condition.data)
        if condition.op == "load":
            meant = self.meaning.defined_value(condition, self)
            return None if meant is None else self.truth(meant)
        if condition.op == "bitwise_not" and condition.dtype == "bool":
            inner = self.truth(condition.args[0])
            return None if inner is None else not inner
        if condition.op in ("bitwise_and", "bitwise_or") and condition.dtype == "bool":
            stop = condition.op == "bitwise_or"
            parts = [self.truth(arg) for arg in condition.args]
            if stop in parts:
                return stop
            return None if None in parts else not stop
        condition = self._of_indices(self.resolved(condition))
        for holds in (True, False):
            stated = comparison(condition, not holds)
            if stated is None or self._open(condition):
                continue
            kind, left, right = stated
            if any(n.op == "checked_index" for n in nodes(left, right)):
                continue
            numbers = Integers(self.ranges)
            make_term = integer.equal if kind == "eq" else integer.at_most
            asked = make_term(numbers.term(left), numbers.term(right))
            if isinstance(
                ask(self.solver, [numbers], [asked, *self._held(numbers)]), Proved
            ):
                return holds
        return None

    def _of_indices(self, condition: Expression) -> Expression:
        """Return a comparison with the indices that its operands are defined to be."""
        if len(condition.args) != 2 or condition.args[0].dtype != "int64":
            return condition
        parts = [self._as_index(arg) for arg in condition.args]
        if None in parts:
            return condition
        args = tuple(make("from_index", (p,), "int64") for p in parts if p is not None)
        return make(condition.op, args, condition.dtype)

    def _as_index(self, value: Expression) -> Expression | None:
        """Return the index that a value is defined to be; None: it is none."""
        if value.op == "from_index":
            return value.args[0]
        if value.op == "constant":
            return index(int(str(value.data)))
        if value.op == "load":
            meant = self.meaning.defined_value(value, self)
            return None if meant is None else self._as_index(meant)
        if value.op in ("add", "sub") and len(value.args) == 2:
            left, right = map(self._as_index, value.args)
            if left is None or right is None:
                return None
            return add(left, right) if value.op == "add" else sub(left, right)
        return None

    def _held(self, numbers: Integers) -> list[integer.Term]:
        found = []
        for condition, holds in conjuncts(self.guards):
            stated = comparison(condition, holds)
            if stated is None or any(
                n.op == "checked_index" for n in nodes(stated[1], stated[2])
            ):
                continue
            kind, left, right = stated
            make_term = integer.equal if kind == "eq" else integer.at_most
            found.append(make_term(numbers.term(left), numbers.term(right)))
        return found

    # indices

    def index(self, mine: Expression, theirs: Expression) -> Mismatch | None:
        """Return why two indices are not known to be equal at all points here."""
        theirs = self.resolved(theirs)
        if mine is theirs and not self._open(theirs):
            return None
        mine, theirs = self.simplify(mine), self.simplify(theirs)
        if mine is theirs and not self._open(theirs):
            return None
        mine, theirs = self._data_as_digits(mine, theirs)
        unknown = [
            n for n in leaves("digit", theirs) if str(n.data).startswith(UNKNOWN)
        ]
        if unknown:
            return self._solve(mine, theirs, unknown)
        if mine is theirs or self.simplify(sub(mine, theirs)) is index(0):
            return None
        if any(n.op == "checked_index" for n in nodes(mine, theirs)):
            return Mismatch(f"{mine} and {theirs} come from data")
        numbers = Integers(self.ranges)
        apart = integer.invert(integer.equal(numbers.term(mine), numbers.term(theirs)))
        verdict = ask(self.solver, [numbers], [apart, *self._held(numbers)])
        if isinstance(verdict, Proved):
            return None
        text = f"the kernel's index {mine} is not {theirs}"
        if isinstance(verdict, Unknown):
            return Mismatch(f"{text}: {verdict.reason}")
        assert isinstance(verdict, Refuted)
        decided = len(self._held(numbers)) == len(conjuncts(self.guards))
        point = tuple(sorted(verdict.counterexample.items()))
        return Mismatch(text, wrong=decided, point=point)

    def _data_as_digits(
        self, mine: Expression, theirs: Expression
    ) -> tuple[Expression, Expression]:
        """Replace indices that are read by digits, equal ones by one digit."""
        own = [n for n in nodes(mine) if n.op == "checked_index"]
        others = [n for n in nodes(theirs) if n.op == "checked_index"]
        for one in own:
            for other in others:
                if self.same(one.args[0], other.args[0]) is not None:
                    continue
                if self.index(one.args[1], other.args[1]) is not None:
                    continue
                stand = self.new("data", one.args[1])
                mine = substitute(mine, {one: stand})
                theirs = substitute(theirs, {other: stand})
                break
        return mine, theirs

    def _solve(
        self, mine: Expression, theirs: Expression, unknown: list[Expression]
    ) -> Mismatch | None:
        """Let the unknown digits of an index be what the kernel has there."""
        if len(unknown) != 1:
            return self._solve_several(mine, theirs, unknown)
        counts = terms(theirs)
        factor = counts.get(unknown[0])
        rest = sub(theirs, unknown[0]) if factor == 1 else None
        if rest is None or unknown[0] in leaves("digit", rest):
            return Mismatch(f"{theirs} is not solved for {unknown[0]}")
        value = self.simplify(sub(mine, rest))
        extent = self.extents[unknown[0]]
        if not self.ranges.inside(value, extent):
            return Mismatch(f"{value} may be outside of a reduced axis of {extent}")
        self.bound[unknown[0]] = value
        return None

    def _solve_several(
        self, mine: Expression, theirs: Expression, unknown: list[Expression]
    ) -> Mismatch | None:
        """Take apart a number whose digits are unknown: it has one value for each."""
        failed = Mismatch(f"several reduced axes meet in {theirs}")
        counts = terms(theirs)
        rest, reach = theirs, 1
        found: dict[Expression, tuple[int, int]] = {}
        for one in sorted(unknown, key=lambda one: counts.get(one, 0)):
            weight, extent = counts.get(one, 0), constant_value(self.extents[one])
            rest = sub(rest, mul(one, weight))
            if weight != reach or extent is None:
                return failed
            found[one] = reach, extent
            reach *= extent
        value = self.simplify(sub(mine, rest))
        if any(one in leaves("digit", rest) for one in unknown):
            return failed
        if not self.ranges.inside(value, index(reach)):
            return Mismatch(f"{value} may be outside of reduced axes of {reach}")
        for one, (weight, extent) in found.items():
            place = mod(floordiv(value, weight), extent)
            self.bound[one] = self.simplify(place)
        return None


def recombined(value: Expression) -> Expression:
    """Return an index in which ``c * (x // c) + x % c`` is ``x`` again.

    Example:
        >>> from compiler.ir.index import mod
        >>> x = digit("x")
        >>> recombined(add(mul(floordiv(x, 3), 6), mul(mod(x, 3), 2)))
        mul(x, 2)
    """
    parts = terms(value)
    for factor, count in parts.items():
        if factor is None or factor.op != "mod":
            continue
        whole, by = factor.args
        size = constant_value(by)
        quotient = floordiv(whole, by)
        if size is not None and parts.get(quotient) == count * size:
            rest = sub(value, add(mul(factor, count), mul(quotient, count * size)))
            return recombined(add(rest, mul(whole, count)))
    return value


def count_is(left: Expression, right: Expression, walk: Walk) -> bool:
    """Return whether two numbers of points are equal."""
    if left is right or walk.simplify(sub(left, right)) is index(0):
        return True
    return constant_value(left) is not None and constant_value(left) == constant_value(
        right
    )
