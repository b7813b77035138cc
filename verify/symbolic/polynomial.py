"""Integer terms as polynomials: the normal form that decides equality of addresses.

What is no sum or product (a symbol, a quotient, a choice, a read) is an atom. Promises
(``fit``) are passed through: the polynomial is about the value.
"""

from collections.abc import Mapping

from .terms import (
    INT,
    ZERO,
    Term,
    add,
    constant,
    mul,
    negated,
)

Monomial = tuple[Term, ...]
Polynomial = Mapping[Monomial, int]

MAX_TERMS = 400
"""A product with more monomials than this stays an atom."""


def polynomial(term: Term) -> Polynomial:
    """Return monomial -> coefficient, without zeros; the constant's monomial is empty.

    Law: the sum over monomials of coefficient times product is the term's value.

    Example:
        >>> from .terms import symbol
        >>> x = symbol("x")
        >>> polynomial(add(mul(x, constant(3)), negated(x)))
        {(x,): 2}
    """
    found: Polynomial | None = term.polynomial
    if found is None:
        found = term.polynomial = _expanded(term)
    return found


def _expanded(term: Term) -> Polynomial:
    kind = term.kind
    if kind == "const":
        return {(): term.args[0]} if term.args[0] else {}
    if kind in ("fit", "beside"):
        return polynomial(term.args[0])
    if kind == "add":
        total = dict(polynomial(term.args[0]))
        for monomial, coefficient in polynomial(term.args[1]).items():
            _accumulate(total, monomial, coefficient)
        return total
    if kind == "mul":
        left, right = (polynomial(arg) for arg in term.args)
        if len(left) * len(right) <= MAX_TERMS:
            total = {}
            for a, x in left.items():
                for b, y in right.items():
                    _accumulate(total, tuple(sorted(a + b, key=id)), x * y)
            return total
    return {(term,): 1}


def _accumulate(total: dict[Monomial, int], monomial: Monomial, by: int) -> None:
    value = total.get(monomial, 0) + by
    if value:
        total[monomial] = value
    else:
        total.pop(monomial, None)


def term_of(terms: Polynomial) -> Term:
    """Return a term whose polynomial this is."""
    total = ZERO
    for monomial, coefficient in terms.items():
        factor = constant(coefficient)
        for atom in monomial:
            factor = mul(factor, atom)
        total = add(total, factor)
    return total


def difference(a: Term, b: Term) -> Polynomial:
    """Return the polynomial of ``a - b``; it is empty where both are equal."""
    return polynomial(add(a, negated(b)))


def same(a: Term, b: Term) -> bool:
    """Whether two terms are equal as polynomials, or the same node."""
    if a is b:
        return True
    return a.sort == b.sort == INT and not difference(a, b)


def split_by(term: Term, divisor: int) -> tuple[Term, Term]:
    """Return ``(q, r)`` with ``term == divisor * q + r``.

    ``q`` takes the monomials whose coefficient the divisor divides, and multiples of
    it out of the constant.
    """
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in polynomial(term).items():
        if not monomial:
            whole, part = divmod(coefficient, divisor)
        elif coefficient % divisor == 0:
            whole, part = coefficient // divisor, 0
        else:
            whole, part = 0, coefficient
        if whole:
            quotient[monomial] = whole
        if part:
            rest[monomial] = part
    if not quotient:
        return ZERO, term
    return term_of(quotient), term_of(rest)
