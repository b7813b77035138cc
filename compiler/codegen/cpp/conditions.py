"""Under which conditions the nodes of a graph are used, guards being what limits them.

A condition is a choice of clauses, one of which holds; a clause is a set of guards, all
of which hold. A clause that implies another adds nothing and is left out. So what a
guard's own condition is made of is not under that guard: it is used wherever the guard
is asked, and each clause that goes through the guard implies that one.
"""

from collections.abc import Sequence
from typing import TypeAlias

from compiler.ir.expression import Expression, make, nodes

Clause: TypeAlias = tuple[Expression, ...]
Condition: TypeAlias = tuple[Clause, ...]

ALWAYS: Condition = ((),)
"""The clause without guards holds."""


def conditions(
    roots: Sequence[tuple[Expression, Expression | None]],
) -> dict[int, Expression | None]:
    """Return under which condition each node below some roots is used.

    Args:
        roots: Each with the condition under which its value is used (None: always).

    Returns:
        id of a node -> its condition, None where it is always used.
    """
    found: dict[int, Condition] = {}
    for root, condition in roots:
        used = ALWAYS if condition is None else ((condition,),)
        found[id(root)] = either(found.get(id(root), ()), used)
    for node in reversed(list(nodes(*(root for root, _ in roots)))):
        own = found[id(node)]
        for number, arg in enumerate(node.args):
            used = own
            if node.op == "guard" and number == 1:
                used = both(own, node.args[0])
            found[id(arg)] = either(found.get(id(arg), ()), used)
    return {key: expression(condition) for key, condition in found.items()}


def both(condition: Condition, guard: Expression) -> Condition:
    """Return a condition that holds where another and a guard hold.

    Several clauses become one part of the new clause, so that they do not multiply.
    """
    clause = condition[0] if len(condition) == 1 else (_any(condition),)
    return (clause if guard in clause else (*clause, guard),)


def either(left: Condition, right: Condition) -> Condition:
    """Return a condition that holds where one of two holds."""
    found = list(left)
    for clause in right:
        if any(set(other) <= set(clause) for other in found):
            continue
        found = [other for other in found if not set(clause) <= set(other)]
        found.append(clause)
    return tuple(found)


def expression(condition: Condition) -> Expression | None:
    """Return a condition as a truth value, None for one that always holds."""
    return None if condition == ALWAYS else _any(condition)


def _any(condition: Condition) -> Expression:
    first, *rest = map(_all, condition)
    for clause in rest:
        first = make("bitwise_or", (first, clause), "bool")
    return first


def _all(clause: Clause) -> Expression:
    first, *rest = clause
    for guard in rest:
        first = make("bitwise_and", (first, guard), "bool")
    return first
