"""Collect what has to be checked inside a term: machine results that must fit, poison.

A promise inside a branch of a choice counts only where that branch is taken, and one in
a conjunct only where the conjuncts before it hold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from verify.symbolic.terms import (
    ZERO,
    Term,
    conjoin,
    constant,
    disjoin,
    equal,
    invert,
    less,
)


@dataclass(frozen=True, slots=True)
class Promise:
    """A machine result, or a divisor.

    Attributes:
        broken: Condition under which it does not hold.
        where: Condition under which it matters.
        text: What it is, for a person.
        line: Line of the kernel's text that computes it.
        term: The node.
    """

    broken: Term
    where: tuple[Term, ...]
    text: str
    line: int
    term: Term


Covered = dict[Term, list[frozenset[Term]]]
"""Node -> the conditions under which it has been collected."""


def promises_of(
    term: Term, where: tuple[Term, ...], covered: Covered
) -> Iterator[Promise]:
    """Yield what has to be checked for the value of ``term`` to be what it says.

    Args:
        term: Any term.
        where: Conditions under which its value matters.
        covered: What has been collected before; a node is skipped where no more is
            known than then.
    """

    def visit(node: Term, here: tuple[Term, ...]) -> Iterator[Promise]:
        if not node.fits:
            return
        known = frozenset(here)
        before = covered.setdefault(node, [])
        if any(earlier <= known for earlier in before):
            return
        before.append(known)
        kind, args = node.kind, node.args
        if kind == "ite":
            test, then, other = args
            yield from visit(test, here)
            yield from visit(then, (*here, test))
            yield from visit(other, (*here, invert(test)))
        elif kind in ("and", "or"):
            for part in args:
                yield from visit(part, here)
                here = (*here, part if kind == "and" else invert(part))
        elif kind not in ("opaque", "read"):
            # where it was read is checked at the load; what was combined is data
            for arg in args:
                if isinstance(arg, Term):
                    yield from visit(arg, here)
            yield from own(node, here)

    def own(node: Term, here: tuple[Term, ...]) -> Iterator[Promise]:
        if node.kind == "fit":
            inner, low, high, line = node.args
            broken = disjoin(less(inner, constant(low)), less(constant(high), inner))
            bits = (high - low + 1).bit_length() - 1
            text = f"{inner} within int{bits}"
            yield Promise(broken, here, text, int(line or 0), node)
        elif node.kind in ("div", "mod") and not _nonzero(node.args[1]):
            broken = equal(node.args[1], ZERO)
            yield Promise(broken, here, f"{node.args[1]} not zero", 0, node)

    yield from visit(term, where)


def _nonzero(divisor: Term) -> bool:
    low, high = divisor.low, divisor.high
    return (low is not None and low > 0) or (high is not None and high < 0)


def poison_of(term: Term, through: Callable[[Term], Term | None]) -> Term:
    """Return the condition under which a value depends on poison.

    Args:
        term: Any term.
        through: Gives the condition for what is no plain node (a loop's value);
            ``None`` where it knows nothing.
    """
    memo: dict[Term, Term] = {}

    def visit(node: Term) -> Term:
        from verify.symbolic.terms import TRUE

        found = memo.get(node)
        if found is not None:
            return found
        if node.kind == "poison":
            found = TRUE
        elif node.kind == "ite":
            test, then, other = node.args
            found = disjoin(
                visit(test),
                conjoin(test, visit(then)),
                conjoin(invert(test), visit(other)),
            )
        else:
            special = through(node)
            if special is not None:
                found = special
            else:
                found = disjoin(*(visit(a) for a in _inner(node)))
        memo[node] = found
        return found

    return visit(term)


def _inner(node: Term) -> list[Term]:
    if node.kind == "opaque" and node.args[0] in ("reduce", "scan"):
        # the combiner is data about the operation, not a value
        return [a for a in node.args[2:] if isinstance(a, Term)]
    return [a for a in node.args if isinstance(a, Term)]
