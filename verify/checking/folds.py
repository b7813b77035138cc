"""Folds: the combination of a value over all numbers for which a condition holds.

``fold(name, bounds, condition, body)`` combines ``body`` with ``addf``, ``maxnumf`` or
``minnumf`` over all non-negative values of the ``bounds`` where the condition holds. So
it is about a multiset: the order is not a part of it, nor is the shape of the
hardware's tree, nor how a loop cuts a row into blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from verify.symbolic.polynomial import Monomial, polynomial, term_of
from verify.symbolic.terms import (
    INT,
    VALUE,
    Term,
    conjoin,
    constant,
    div,
    mod,
    opaque,
    rebuilt,
    symbol,
)
from verify.symbolic.walk import substitute, symbols_of

from .reals import number, product, value_of

NEUTRAL = {
    "addf": 0.0,
    "maxnumf": float("-inf"),
    "minnumf": float("inf"),
}
"""Combiner -> its neutral element."""

MAX_BOUNDS = 4


def folded(name: str, bounds: Sequence[Term], condition: Term, body: Term) -> Term:
    """Return a fold as it stands."""
    return opaque(VALUE, "fold", (name, tuple(bounds), condition, body))


def is_fold(term: Term) -> bool:
    """Whether a term is a fold."""
    return term.kind == "opaque" and term.args[0] == "fold"


def fold(name: str, bounds: Sequence[Term], condition: Term, body: Term) -> Term:
    """Return a fold in normal form.

    Elements that are neutral are left out, a fold of folds is one, and factors that no
    bound is in stand before a sum.
    """
    while body.kind == "ite" and value_of(body.args[2]) == NEUTRAL[name]:
        condition, body = conjoin(condition, body.args[0]), body.args[1]
    if name == "addf":
        outside, inside = _factors(body, frozenset(bounds))
        if outside:
            whole = fold(name, bounds, condition, _multiplied(inside))
            return product(_multiplied(outside), whole)
    if is_fold(body) and body.args[1] == name:
        _, _, inner, also, value = body.args
        return fold(name, (*bounds, *inner), conjoin(condition, also), value)
    return folded(name, bounds, condition, body)


def _factors(
    body: Term, bounds: frozenset[Term]
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Return the factors of a product without bounds in them, and the others."""
    parts = tuple(_flat(body))
    free = tuple(p for p in parts if symbols_of(p).isdisjoint(bounds))
    kept = tuple(p for p in parts if not symbols_of(p).isdisjoint(bounds))
    return tuple(p for p in free if value_of(p) != 1), kept


def _flat(term: Term) -> Iterator[Term]:
    if term.kind == "opaque" and term.args[0] == "mulf":
        for part in term.args[3:]:
            yield from _flat(part)
    else:
        yield term


def _multiplied(parts: Sequence[Term]) -> Term:
    whole = number(1.0)
    for part in parts:
        whole = product(whole, part)
    return whole


def joined(term: Term, high: Term, low: Term) -> Term | None:
    """Return a fold in which two bounds are one: ``n = high * size + low``.

    It is the same fold where ``low`` runs over ``0 ... size - 1``, which has to be a
    part of the condition; ``None`` where it is not.
    """
    _, name, bounds, condition, body = term.args
    size = _extent(condition, low)
    if size is None:
        return None
    both = symbol(f"{high.args[0]}:{low.args[0]}", 0, None)
    to = {high: div(both, constant(size)), low: mod(both, constant(size))}
    memo: dict[Term, Term] = {}
    one, other = (recombined(substitute(part, to, memo)) for part in (condition, body))
    rest = [bound for bound in bounds if bound not in (high, low)]
    return folded(name, (both, *rest), one, other)


def _extent(condition: Term, bound: Term) -> int | None:
    """Return the number that a condition keeps a bound below; it is a part of it."""
    parts = condition.args if condition.kind == "and" else (condition,)
    for part in parts:
        if part.kind != "le":
            continue
        left, right = part.args
        if left is bound and right.kind == "const":
            return int(right.args[0]) + 1
    return None


def recombined(term: Term, memo: dict[Term, Term] | None = None) -> Term:
    """Return a term in which ``(n // c) * c + n % c`` is ``n``.

    Example:
        >>> from verify.symbolic.terms import add, mul
        >>> n = symbol("n", 0)
        >>> recombined(add(mul(div(n, constant(8)), constant(8)), mod(n, constant(8))))
        n
    """
    done: dict[Term, Term] = {} if memo is None else memo
    found = done.get(term)
    if found is None:
        args = tuple(
            recombined(arg, done) if isinstance(arg, Term) else arg for arg in term.args
        )
        changed = any(a is not b for a, b in zip(args, term.args, strict=True))
        found = rebuilt(term, args) if changed else term
        if found.sort == INT and found.kind in ("add", "mul", "fit"):
            found = _recombined_sum(found)
        done[term] = found
    return found


def _recombined_sum(term: Term) -> Term:
    parts: dict[Monomial, int] = dict(polynomial(term))
    changed = False
    for monomial, coefficient in list(parts.items()):
        for atom in monomial:
            if atom.kind != "mod" or parts.get(monomial) != coefficient:
                continue
            whole, by = atom.args
            if by.kind != "const":
                continue
            rest = list(monomial)
            rest.remove(atom)
            partner = tuple(sorted([*rest, div(whole, by)], key=id))
            if parts.get(partner) != coefficient * by.args[0]:
                continue
            del parts[partner], parts[monomial]
            joint = tuple(sorted([*rest, whole], key=id))
            parts[joint] = parts.get(joint, 0) + coefficient
            changed = True
    if not changed:
        return term
    return term_of({m: c for m, c in parts.items() if c})


Compare = Callable[[Term, Term, tuple[Term, ...]], bool]


def folds_equal(a: Term, b: Term, where: tuple[Term, ...], same: Compare) -> bool:
    """Whether two folds combine the same elements.

    Args:
        a: A fold.
        b: A fold.
        where: Conditions under which they are compared.
        same: Whether two terms are equal where conditions hold.
    """
    if a.args[1] != b.args[1]:
        return False
    if len(a.args[2]) < len(b.args[2]):
        a, b = b, a
    if len(a.args[2]) > MAX_BOUNDS:
        return False
    if len(a.args[2]) > len(b.args[2]):
        return any(
            folds_equal(one, b, where, same)
            for high, low in permutations(a.args[2], 2)
            if (one := joined(a, high, low)) is not None
        )
    shared = [symbol(f"folded.{i}", 0, None) for i in range(len(a.args[2]))]
    left = _renamed(a, a.args[2], shared)
    for order in permutations(b.args[2]):
        right = _renamed(b, order, shared)
        if same(left[0], right[0], where) and same(
            left[1], right[1], (*where, left[0])
        ):
            return True
    return False


def _renamed(
    term: Term, bounds: Sequence[Term], shared: Sequence[Term]
) -> tuple[Term, Term]:
    to = dict(zip(bounds, shared, strict=True))
    return substitute(term.args[3], to), substitute(term.args[4], to)
