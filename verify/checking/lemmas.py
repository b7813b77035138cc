"""Facts about products that spare the solver nonlinear reasoning.

For a product ``t * s`` of a varying term and a size, and a known product ``e * s`` of
sizes: if ``t < e`` and ``s >= 0`` then ``t * s <= e * s - s``. With these instances a
question about row-major addresses is linear in the products. Each instance holds for
all integers, so adding it changes no answer.
"""

from collections.abc import Iterable, Iterator

from verify.symbolic.polynomial import Monomial, polynomial, term_of
from verify.symbolic.terms import (
    ZERO,
    Term,
    at_most,
    conjoin,
    disjoin,
    invert,
    less,
    mul,
    sub,
)
from verify.symbolic.walk import nodes_of, symbols_of

MOST = 40
"""Most instances for one question."""


def products_in(formulas: Iterable[Term], shared: frozenset[Term]) -> list[Term]:
    """Return the products of a varying term and a size, in the formulas."""
    found: dict[Term, None] = {}
    for formula in formulas:
        for node in nodes_of(formula):
            if node.kind != "mul" or node.args[0].kind == "const":
                continue
            if any(_is_size(arg, shared) for arg in node.args) and not _is_size(
                node, shared
            ):
                found[node] = None
    return list(found)


def _is_size(term: Term, shared: frozenset[Term]) -> bool:
    return (
        term.kind in ("symbol", "mul", "add", "fit", "beside")
        and bool(symbols_of(term))
        and symbols_of(term) <= shared
    )


def size_monomials(
    terms: Iterable[Term], shared: frozenset[Term]
) -> dict[Monomial, None]:
    """Return the products of sizes in terms, and what is left when one is divided out.

    Args:
        terms: Numbers of elements, extents, assumptions.
        shared: The sizes.
    """
    found: dict[Monomial, None] = {}
    stack: list[Monomial] = []
    for term in terms:
        for node in nodes_of(term):
            if node.kind in ("add", "mul", "symbol", "fit"):
                stack += [
                    m for m in polynomial(node) if m and all(a in shared for a in m)
                ]
    while stack:
        monomial = stack.pop()
        if monomial in found:
            continue
        found[monomial] = None
        if len(monomial) > 1:
            stack += [monomial[:i] + monomial[i + 1 :] for i in range(len(monomial))]
    return found


def lemmas(
    formulas: Iterable[Term], sizes: Iterable[Monomial], shared: frozenset[Term]
) -> Iterator[Term]:
    """Yield instances for the products in formulas."""
    count = 0
    known = [m for m in sizes if len(m) > 1]
    for product in products_in(formulas, shared):
        left, right = product.args
        varying, size = (left, right) if _is_size(right, shared) else (right, left)
        parts = polynomial(size)
        if len(parts) != 1:
            continue
        ((factor, coefficient),) = parts.items()
        if coefficient != 1:
            continue
        not_negative = at_most(ZERO, size)
        yield disjoin(
            invert(conjoin(not_negative, at_most(ZERO, varying))),
            at_most(ZERO, product),
        )
        for monomial in known:
            rest = _divided(monomial, factor)
            if rest is None:
                continue
            extent = term_of({rest: 1})
            bound = sub(mul(extent, size), size)
            yield disjoin(
                invert(conjoin(not_negative, less(varying, extent))),
                at_most(product, bound),
            )
            count += 1
            if count >= MOST:
                return


def _divided(monomial: Monomial, by: Monomial) -> Monomial | None:
    """Return ``monomial / by``; ``None`` where nothing or no product is left."""
    rest = list(monomial)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest) if rest else None
