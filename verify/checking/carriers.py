"""Lanes and iterations taken apart: where an address divides, digits stand instead.

A reduced index is ``r = 1024 * iteration + lane``, and an address may need ``r // 49``
and ``r % 49``. The pairs of iteration and lane and the numbers ``r`` are one to one,
and so are the numbers and their digits: the same places, in symbols in which the
address is linear.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from verify.symbolic.polynomial import Monomial, polynomial
from verify.symbolic.terms import (
    INT,
    Term,
    add,
    at_most,
    conjoin,
    constant,
    div,
    mod,
    mul,
    rebuilt,
    symbol,
)
from verify.symbolic.walk import nodes_of, symbols_of

from .folds import recombined

Linear = frozenset[tuple[Monomial, int]]


MOST = 12
"""Most numbers that are taken apart in one place."""


@dataclass(frozen=True, slots=True)
class Apart:
    """A place in other symbols.

    Attributes:
        offset: The address.
        reach: Where it takes part, with what bounds the new symbols.
        symbols: What stands for the place's own symbols.
    """

    offset: Term
    reach: Term
    symbols: frozenset[Term]


def taken_apart(offset: Term, reach: Term, own: Iterable[Term]) -> Apart:
    """Return a place in symbols in which quotients and remainders vanish.

    Law: as the old symbols run over their ranges, and the new ones over theirs, the
    same addresses are met, equally often.

    Args:
        offset: An address.
        reach: Where the place takes part.
        own: The symbols of lanes, iterations and programs, each from 0.
    """
    found: Apart | None = Apart(offset, reach, frozenset(own))
    last = found
    for _ in range(MOST):
        if found is None:
            break
        last = found
        found = _step(last)
    assert last is not None
    return last


def _step(place: Apart) -> Apart | None:
    """Return the place with one number in digits; ``None``: there is none left."""
    bases: dict[Linear, list[int]] = {}
    for node in (*nodes_of(place.offset), *nodes_of(place.reach)):
        found = _divided(node)
        if found is not None:
            bases.setdefault(found[0], []).append(found[1])
    for base in sorted(bases, key=len):
        parts = _digits_of(base, place.symbols)
        chain = _chain(bases[base])
        if parts is not None and chain:
            return _replaced(place, base, parts, chain)
    return None


def _replaced(
    place: Apart, base: Linear, parts: list[tuple[Term, int]], chain: list[int]
) -> Apart:
    weights = [weight for _, weight in parts]
    name = "+".join(str(node.args[0]) for node, _ in parts)
    top, most = parts[-1][0], parts[-1][0].high
    whole = None if most is None else most * weights[-1] + weights[-1] - 1
    number, fresh = _number(name, chain, whole)
    to: dict[Term, Term] = {}
    for rank, (node, weight) in enumerate(parts):
        piece = div(number, constant(weight))
        if node is not top:
            piece = mod(piece, constant(weights[rank + 1] // weight))
        to[node] = piece
    matches = {base: number}
    offset, reach = (
        recombined(_rewritten(t, matches, to)) for t in (place.offset, place.reach)
    )
    if whole is not None and (number.high is None or number.high > whole):
        reach = conjoin(at_most(number, constant(whole)), reach)
    return Apart(offset, reach, (place.symbols - set(to)) | fresh)


def _divided(node: Term) -> tuple[Linear, int] | None:
    """Return what a quotient or remainder divides, and by what in all."""
    if node.kind not in ("div", "mod") or node.args[1].kind != "const":
        return None
    scale = int(node.args[1].args[0])
    inner = node.args[0]
    while True:
        if inner.kind in ("fit", "beside"):
            inner = inner.args[0]
        elif inner.kind in ("div", "mod") and inner.args[1].kind == "const":
            if inner.kind == "div":
                scale *= int(inner.args[1].args[0])
            inner = inner.args[0]
        else:
            return frozenset(polynomial(inner).items()), scale


def _digits_of(base: Linear, own: frozenset[Term]) -> list[tuple[Term, int]] | None:
    """Return the symbols of a mixed-radix number with weights, least first."""
    parts: list[tuple[Term, int]] = []
    for monomial, weight in base:
        if len(monomial) != 1 or monomial[0] not in own or monomial[0].low != 0:
            return None
        parts.append((monomial[0], weight))
    parts.sort(key=lambda part: part[1])
    if not parts or parts[0][1] != 1:
        return None
    for (node, weight), (_, above) in pairwise(parts):
        if node.high is None or above % weight or node.high + 1 != above // weight:
            return None
    return parts


def _chain(divisors: Iterable[int]) -> list[int]:
    """Return divisors of which each divides the next, least first."""
    chain: list[int] = []
    for divisor in sorted(set(divisors) - {1}):
        if not chain or divisor % chain[-1] == 0:
            chain.append(divisor)
    return chain


def _number(
    name: str, chain: Sequence[int], most: int | None
) -> tuple[Term, frozenset[Term]]:
    """Return a number as a sum of digits, and the digits."""
    total = constant(0)
    fresh = set()
    weights = [1, *chain]
    for place, weight in enumerate(weights):
        high = None if most is None else most // weight
        if place + 1 < len(weights):
            inner = weights[place + 1] // weight - 1
            high = inner if high is None else min(high, inner)
        node = symbol(f"{name}.{place}", 0, high)
        fresh.add(node)
        total = add(total, mul(constant(weight), node))
    return total, frozenset(fresh)


def _rewritten(
    term: Term, matches: Mapping[Linear, Term], to: Mapping[Term, Term]
) -> Term:
    """Return the term with linear forms, and what symbols are left, replaced."""
    targets = frozenset(to)
    done: dict[Term, Term] = {}

    def visit(node: Term) -> Term:
        found = done.get(node)
        if found is None:
            if symbols_of(node).isdisjoint(targets):
                found = node
            elif node.sort == INT and node.kind in ("add", "fit", "beside", "symbol"):
                form = frozenset(polynomial(node).items())
                found = matches.get(form)
            if found is None:
                found = to[node] if node in targets else rebuilt(node, inside(node))
            done[node] = found
        return found

    def inside(node: Term) -> tuple[object, ...]:
        return tuple(_each(node.args))

    def _each(args: tuple[object, ...]) -> Iterator[object]:
        for arg in args:
            if isinstance(arg, Term):
                yield visit(arg)
            elif isinstance(arg, tuple):
                yield tuple(_each(arg))
            else:
                yield arg

    return visit(term)
