"""A kernel's floats in normal form: over the reals, reductions and loops as folds.

A value that a loop carries has a closed form where each iteration

- combines it with what this iteration gives, by a sum, a maximum or a minimum: then it
  is the fold over the iterations so far;
- scales it by ``exp(m - m')`` and adds what has ``exp(-m')`` as a factor, ``m`` and
  ``m'`` being another carried value before and after (the online softmax): then it is
  the sum of what was added with the present ``m`` in place of ``m'``. By induction:
  from ``A = sum_j w_j exp(s_j - m)`` follows ``A exp(m - m') + w exp(s - m') =
  sum_j w_j exp(s_j - m')``, whatever ``m`` and ``m'`` are.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from verify.symbolic.terms import (
    VALUE,
    Term,
    at_most,
    choose,
    conjoin,
    constant,
    less,
    rebuilt,
    symbol,
)
from verify.symbolic.walk import nodes_of, substitute
from verify.ttir.program import LoopRecord
from verify.ttir.tensor import lanes_of

from .folds import NEUTRAL, fold, is_fold
from .reals import (
    applied,
    chosen,
    largest,
    number,
    power,
    product,
    simplified,
    smallest,
    total,
    value_of,
)

RENAMED = {"maximumf": "maxnumf", "minimumf": "minnumf"}
"""What differs in NaN only, which is not compared."""

_JOIN = {"addf": total, "maxnumf": largest, "minnumf": smallest}


class Normal:
    """Normal forms of the values of one kernel.

    Attributes:
        loops: Loop's number and place -> what it carries.
    """

    def __init__(self, loops: Mapping[tuple[int, int], LoopRecord]) -> None:
        self.loops = loops
        self.memo: dict[Term, Term] = {}
        self.closed: dict[tuple[Any, ...], Term | None] = {}
        self.open: set[tuple[int, int]] = set()

    def of(self, term: Term) -> Term:
        """Return the normal form of a term of any sort."""
        found = self.memo.get(term)
        if found is None:
            found = self._of(term)
            self.memo[term] = found
        return found

    def _of(self, term: Term) -> Term:
        name = term.args[0] if term.kind == "opaque" else None
        if name == "loop" and term.sort == VALUE:
            closed = self._carried(term)
            return term if closed is None else closed
        args = tuple(self.of(a) if isinstance(a, Term) else a for a in term.args)
        if name == "reduce" and term.sort == VALUE:
            return self._reduction(term, args)
        if name == "dot" and term.sort == VALUE:
            return _product_of_matrices(args)
        if any(a is not b for a, b in zip(args, term.args, strict=True)):
            term = rebuilt(term, args)
        return simplified(term)

    def _reduction(self, term: Term, args: tuple[Any, ...]) -> Term:
        """Return a reduction over lanes as a fold, where its combiner is known."""
        results, which, size, bound = term.args[1:5]
        elements = args[5:]
        combiner = results[0]
        whole = rebuilt(term, args)
        if which or len(elements) != 1 or combiner.kind != "opaque":
            return whole
        name = RENAMED.get(combiner.args[0], combiner.args[0])
        parts = [a for a in combiner.args if isinstance(a, Term)]
        sides = {str(p.args[1]) for p in parts if p.args[0] == "argument"}
        if name not in NEUTRAL or len(parts) != 2 or sides != {"a0", "b0"}:
            return whole
        return _over_lanes(name, bound, size, elements[0])

    def _carried(self, term: Term) -> Term | None:
        """Return the closed form of a carried value; ``None`` where none is known."""
        number_of, index, iteration, _, *rest = term.args[1:]
        record = self.loops.get((number_of, index))
        if record is None or (number_of, index) in self.open:
            return None
        rank = len(record.initial.shape)
        places = rest[len(rest) - rank :] if rank else []
        general = self._law((number_of, index), record)
        if general is None:
            return None
        until = symbol(f"until{number_of}", 0, None)
        to = {until: iteration}
        for lane, place in zip(lanes_of(record.initial.shape), places, strict=True):
            if lane.kind == "symbol":
                to[lane] = place
        return self.of(substitute(general, to))

    def _law(self, key: tuple[int, int], record: LoopRecord) -> Term | None:
        """Return a carried value at the start of iteration ``until``, at all lanes."""
        if key in self.closed:
            return self.closed[key]
        self.closed[key] = None  # a value in terms of itself has no closed form
        before = record.placeholder.term()
        self.open.add(key)
        inner = Normal(self.loops)
        inner.closed, inner.open = self.closed, self.open
        after = inner.of(record.carried.term())
        self.open.discard(key)
        found = self._folded(key, record, before, after)
        if found is None:
            found = self._rescaled(key, record, before)
        self.closed[key] = found
        return found

    def _folded(
        self, key: tuple[int, int], record: LoopRecord, before: Term, after: Term
    ) -> Term | None:
        for name, join in _JOIN.items():
            added = _operand(name, before, after)
            if added is None or before in set(nodes_of(added)):
                continue
            whole = self._over_iterations(name, key, record, added)
            start = self.of(record.initial.term())
            return whole if value_of(start) == NEUTRAL[name] else join(start, whole)
        return None

    def _over_iterations(
        self, name: str, key: tuple[int, int], record: LoopRecord, added: Term
    ) -> Term:
        """Return the fold of what iterations add, up to the one before ``until``."""
        until = symbol(f"until{key[0]}", 0, None)
        bound = symbol(f"round{key[0]}.{key[1]}", 0, None)
        condition = less(bound, until)
        if record.iteration.high is not None:
            condition = conjoin(
                at_most(bound, constant(record.iteration.high)), condition
            )
        return fold(
            name, (bound,), condition, substitute(added, {record.iteration: bound})
        )

    def _rescaled(
        self, key: tuple[int, int], record: LoopRecord, before: Term
    ) -> Term | None:
        """Return the closed form of a sum that is scaled in each iteration."""
        if value_of(self.of(record.initial.term())) != 0:
            return None
        for (loop, index), other in self.loops.items():
            if loop != key[0] or index == key[1]:
                continue
            raw = {(loop, index), key}
            self.open |= raw
            inner = Normal(self.loops)
            inner.closed, inner.open = self.closed, self.open
            after = inner.of(record.carried.term())
            places = _places_of(after, loop, index)
            rank = len(other.initial.shape)
            for where in places:
                lanes = {
                    lane: place
                    for lane, place in zip(
                        lanes_of(other.initial.shape),
                        where[len(where) - rank :] if rank else (),
                        strict=True,
                    )
                    if lane.kind == "symbol"
                }
                old = substitute(other.placeholder.term(), lanes)
                new = inner.of(substitute(other.carried.term(), lanes))
                added, unit = _scaled_operand(before, old, new, after)
                if added is None:
                    continue
                self.open -= raw
                law = self._law((loop, index), other)
                if law is None:
                    return None
                present = substitute(law, lanes)
                moved = _moved(added, product(unit, new), product(unit, present))
                if moved is None or any(
                    node is before or node is old for node in nodes_of(moved)
                ):
                    self.open |= raw
                    continue
                return self._over_iterations("addf", key, record, moved)
            self.open -= raw
        return None


def _places_of(term: Term, loop: int, index: int) -> list[tuple[Any, ...]]:
    """Return the coordinates at which a term has a carried value."""
    return [
        node.args[5:]
        for node in nodes_of(term)
        if node.kind == "opaque" and node.args[:3] == ("loop", loop, index)
    ]


def _over_lanes(name: str, bound: Term, size: int, element: Term) -> Term:
    """Return a fold over lanes; their range becomes a condition."""
    if bound.kind != "symbol":
        return element
    lane = symbol(f"{bound.args[0]}'", 0, None)
    condition = at_most(lane, constant(size - 1))
    return fold(name, (lane,), condition, substitute(element, {bound: lane}))


def _product_of_matrices(args: tuple[Any, ...]) -> Term:
    """Return an element of ``tt.dot`` as a sum of products."""
    size, bound, start, a, b = args[2:7]
    return total(start, _over_lanes("addf", bound, size, product_of(a, b)))


def product_of(a: Term, b: Term) -> Term:
    """Return ``a * b``, choices moved outwards."""
    return applied(product, (a, b))


def _operand(name: str, before: Term, after: Term) -> Term | None:
    """Return ``e`` of ``after = before op e``; neutral where it stays as it was."""
    if after is before:
        return number(NEUTRAL[name])
    if after.kind == "ite":
        test, *branches = after.args
        parts = [_operand(name, before, branch) for branch in branches]
        if parts[0] is None or parts[1] is None:
            return None
        return chosen(test, parts[0], parts[1])
    if after.kind != "opaque" or after.args[0] != name:
        return None
    one, other = after.args[3:]
    for mine, rest in ((one, other), (other, one)):
        if mine is before:
            found: Term = rest
            return found
        inner = _operand(name, before, mine) if mine.sort == VALUE else None
        if inner is not None and mine is not before:
            return _JOIN[name](inner, rest)
    return None


def _scaled_operand(
    before: Term, old: Term, new: Term, after: Term
) -> tuple[Term | None, Term]:
    """Return ``e`` and ``c`` of ``after = before * exp(c * (old - new)) + e``."""
    unit = number(1.0)
    if after.kind == "opaque" and after.args[0] == "addf":
        one, other = after.args[3:]
        for unit in (number(1.0), simplified(number(math.log(2)))):
            away = product(number(-1.0), new)
            factor = power(total(product(unit, old), product(unit, away)))
            scaled = {product(before, factor), product(factor, before)}
            for mine, rest in ((one, other), (other, one)):
                if mine in scaled:
                    return rest, unit
    return None, unit


def _moved(term: Term, new: Term, present: Term) -> Term | None:
    """Return a term that has ``exp(-new)`` as a factor with ``present`` in its place.

    ``None`` where it has not.
    """
    name = term.args[0] if term.kind == "opaque" else term.kind
    if name == "exp":
        return _moved_exponent(term.args[3], new, present)
    if name == "mulf":
        for place in (3, 4):
            here, there = term.args[place], term.args[7 - place]
            moved = _moved(here, new, present)
            if moved is not None and not _has(there, new):
                return product(moved, there)
        return None
    if name == "addf":
        parts = [_moved(part, new, present) for part in term.args[3:]]
        if parts[0] is None or parts[1] is None:
            return None
        return total(parts[0], parts[1])
    if is_fold(term) and term.args[1] == "addf":
        _, _, bounds, condition, body = term.args
        moved = _moved(body, new, present)
        if moved is None or _has(condition, new):
            return None
        return fold("addf", bounds, condition, moved)
    if name == "ite" and value_of(term.args[2]) == 0:
        moved = _moved(term.args[1], new, present)
        return None if moved is None else choose(term.args[0], moved, term.args[2])
    if value_of(term) == 0:
        return term
    return None


def _moved_exponent(exponent: Term, new: Term, present: Term) -> Term | None:
    """Return ``exp(s - present)`` of the exponent ``s - new``."""
    parts: Sequence[Term] = _summands(exponent)
    subtracted = product(number(-1.0), new)
    if list(parts).count(subtracted) != 1:
        return None
    rest = number(0.0)
    for part in parts:
        if part is not subtracted:
            rest = total(rest, part)
    if _has(rest, new):
        return None
    return power(total(rest, product(number(-1.0), present)))


def _summands(term: Term) -> list[Term]:
    if term.kind == "opaque" and term.args[0] == "addf":
        return [part for side in term.args[3:] for part in _summands(side)]
    return [term]


def _has(term: Term, part: Term) -> bool:
    return any(node is part for node in nodes_of(term))
