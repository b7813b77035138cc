"""Walks over terms: free symbols, substitution, the integer value at a point."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .terms import Term, rebuilt


def symbols_of(term: Term) -> frozenset[Term]:
    """Return the symbols that a term depends on."""
    found = term.symbol_set
    if found is None:
        if term.kind == "symbol":
            found = frozenset((term,))
        else:
            found = frozenset()
            for arg in _terms(term.args):
                found |= symbols_of(arg)
        term.symbol_set = found
    return found


def _terms(args: tuple[Any, ...]) -> Iterator[Term]:
    for arg in args:
        if isinstance(arg, Term):
            yield arg
        elif isinstance(arg, tuple):
            yield from _terms(arg)


def substitute(
    term: Term, to: Mapping[Term, Term], memo: dict[Term, Term] | None = None
) -> Term:
    """Return the term with symbols replaced, all at once.

    Args:
        term: Any term.
        to: Symbol -> what stands in its place.
        memo: Results so far, to share between calls with the same ``to``.
    """
    done: dict[Term, Term] = {} if memo is None else memo
    targets = frozenset(to)

    def visit(node: Term) -> Term:
        found = done.get(node)
        if found is None:
            if node in targets:
                found = to[node]
            elif symbols_of(node).isdisjoint(targets):
                found = node
            else:
                found = rebuilt(node, inside(node.args))
            done[node] = found
        return found

    def inside(args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            visit(arg)
            if isinstance(arg, Term)
            else inside(arg)
            if isinstance(arg, tuple)
            else arg
            for arg in args
        )

    return visit(term)


def nodes_of(term: Term) -> Iterator[Term]:
    """Yield each node once, in no particular order."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(_terms(node.args))


def value_at(
    term: Term,
    values: Mapping[Term, int],
    of_other: Callable[[Term, Callable[[Term], Any]], Any] | None = None,
) -> Any:
    """Return the integer or truth value of a term where the symbols have values.

    Args:
        term: A term of integers and truth values.
        values: Symbol -> value.
        of_other: Gives the value of a read or an opaque term, from the term and a
            function that evaluates its arguments.

    Raises:
        KeyError: a symbol has no value, or an opaque term is met without ``of_other``.
        ZeroDivisionError: a divisor is zero.
    """
    memo: dict[Term, Any] = {}

    def visit(node: Term) -> Any:
        if node in memo:
            return memo[node]
        kind, args = node.kind, node.args
        result: Any
        if kind == "const":
            result = args[0]
        elif kind in ("true", "false"):
            result = kind == "true"
        elif node in values:
            result = values[node]
        elif kind == "ite":
            result = visit(args[1] if visit(args[0]) else args[2])
        elif kind in _MEANING:
            result = _MEANING[kind](*(visit(a) for a in args))
        elif kind in ("fit", "beside"):
            result = visit(args[0])
        elif kind == "and":
            result = all(visit(a) for a in args)
        elif kind == "or":
            result = any(visit(a) for a in args)
        elif of_other is not None:
            result = of_other(node, visit)
        else:
            raise KeyError(node)
        memo[node] = result
        return result

    return visit(term)


_MEANING: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "not": lambda a: not a,
}
