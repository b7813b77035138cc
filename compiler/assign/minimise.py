"""The cheapest choice for each of many variables, with costs on single ones and pairs.

Exact by elimination: a variable with few neighbours is replaced by a table that says,
for each choice of its neighbours, what it costs at best. Tables that would grow beyond
a limit are not made; then each variable in turn takes what is best for its neighbours
as they are, until nothing gets cheaper, from several starts: one for each choice of
those variables on which the most depends.

Costs of pairs may be lower bounds at first. A solution that rests on bounds is solved
again with the true costs of the pairs it uses; one that rests on true costs alone is
the best, since every other solution costs at least its bound.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
MOST_CELLS = 1 << 20
ROUNDS = 400


@dataclass(frozen=True, slots=True)
class Solution:
    """A choice for each variable.

    Attributes:
        choices: One index each.
        cost: Sum of all costs.
        exact: Whether there is no cheaper one.
    """

    choices: tuple[int, ...]
    cost: float
    exact: bool


def minimise(
    single: Sequence[Table],
    pairs: Mapping[tuple[int, int], Table],
    refine: Callable[[int, int, int, int], bool] | None = None,
    *,
    most_cells: int = MOST_CELLS,
    decisive: Sequence[int] = (),
) -> Solution:
    """Return the cheapest choices.

    Args:
        single: Cost of each choice of each variable.
        pairs: (variable, another) -> cost of each pair of choices; the first number is
            the smaller one.
        refine: Puts the true costs into the tables for a pair of variables and their
            choices; returns whether anything changed. None: the tables are true.
        most_cells: Limit of a table; 0 asks for the greedy way.
        decisive: Variables of which the greedy way begins with each choice.

    Example:
        >>> a, b = np.array([0.0, 1.0]), np.array([0.0, 5.0])
        >>> minimise([a, b], {(0, 1): np.array([[9.0, 9.0], [1.0, 0.0]])}).choices
        (1, 0)
    """
    exact = True
    found: list[int] = []
    for _ in range(ROUNDS):
        best = _eliminate(single, pairs, most_cells)
        exact = exact and best is not None
        found = _descend(single, pairs, decisive) if best is None else best
        changed = False
        if refine is not None:
            for first, second in pairs:
                changed |= refine(first, second, found[first], found[second])
        if not changed:
            break
    else:
        exact = False
    return Solution(tuple(found), total(single, pairs, found), exact)


def total(
    single: Sequence[Table],
    pairs: Mapping[tuple[int, int], Table],
    choices: Sequence[int],
) -> float:
    """Return what choices cost."""
    own = sum(float(table[at]) for table, at in zip(single, choices, strict=True))
    return own + sum(
        float(table[choices[first], choices[second]])
        for (first, second), table in pairs.items()
    )


def exhaustive(
    single: Sequence[Table], pairs: Mapping[tuple[int, int], Table]
) -> Solution:
    """Return the cheapest choices by trying all: the judge of ``minimise``."""
    best: Solution | None = None
    for at in np.ndindex(*(len(table) for table in single)):
        cost = total(single, pairs, at)
        if best is None or cost < best.cost:
            best = Solution(tuple(at), cost, True)
    assert best is not None, "variables have choices"
    return best


def _eliminate(
    single: Sequence[Table],
    pairs: Mapping[tuple[int, int], Table],
    most_cells: int,
) -> list[int] | None:
    tables: list[tuple[tuple[int, ...], Table]] = [
        ((at,), table) for at, table in enumerate(single)
    ]
    tables += list(pairs.items())
    sizes = [len(table) for table in single]
    left = set(range(len(single)))
    solved: list[tuple[int, tuple[int, ...], npt.NDArray[np.int64]]] = []
    while left:
        scopes = {
            at: tuple(
                sorted({v for scope, _ in tables if at in scope for v in scope} - {at})
            )
            for at in left
        }

        def cells(at: int, scopes: dict[int, tuple[int, ...]] = scopes) -> int:
            found = sizes[at]
            for other in scopes[at]:
                found *= sizes[other]
            return found

        at = min(left, key=lambda one: (cells(one), one))
        if cells(at) > most_cells:
            return None
        scope = (*scopes[at], at)
        joint = np.zeros([sizes[v] for v in scope])
        for names, table in tables:
            if at in names:
                joint = joint + _spread(table, names, scope)
        tables = [entry for entry in tables if at not in entry[0]]
        tables.append((scope[:-1], joint.min(axis=-1)))
        solved.append((at, scope[:-1], joint.argmin(axis=-1)))
        left.remove(at)
    choices = [0] * len(single)
    for at, scope, best in reversed(solved):
        choices[at] = int(best[tuple(choices[v] for v in scope)])
    return choices


def _spread(table: Table, names: Sequence[int], scope: Sequence[int]) -> Table:
    """Bring a table's axes to their places among those of a larger one."""
    order = sorted(range(len(names)), key=lambda axis: scope.index(names[axis]))
    turned = table.transpose(order)
    present = {scope.index(name) for name in names}
    shape = iter(turned.shape)
    return turned.reshape(
        [next(shape) if at in present else 1 for at in range(len(scope))]
    )


def _descend(
    single: Sequence[Table],
    pairs: Mapping[tuple[int, int], Table],
    decisive: Sequence[int],
) -> list[int]:
    around: list[list[tuple[int, Table]]] = [[] for _ in single]
    for (first, second), table in pairs.items():
        around[first].append((second, table))
        around[second].append((first, table.T))
    count = len(single)
    starts: list[tuple[Sequence[int], dict[int, int]]] = [
        (range(count), {}),
        (range(count - 1, -1, -1), {}),
    ]
    for at in decisive:
        nearest = [at]
        for here in nearest:
            near = dict.fromkeys(other for other, _ in around[here])
            nearest += [other for other in near if other not in nearest]
        nearest += [other for other in range(count) if other not in nearest]
        starts += [(nearest, {at: choice}) for choice in range(len(single[at]))]

    def settle(choices: list[int], order: Sequence[int]) -> None:
        moved = True
        while moved:
            moved = False
            for at in order:
                costs = single[at].copy()
                for other, table in around[at]:
                    costs += table[:, choices[other]]
                new = int(costs.argmin())
                if costs[new] < costs[choices[at]] - 1e-9:
                    choices[at], moved = new, True

    best: list[int] = []
    best_cost = float("inf")
    for order, given in starts:
        fixed = dict(given)
        for at in order:
            if at in fixed:
                continue
            costs = single[at].copy()
            for other, table in around[at]:
                costs += table[:, fixed[other]] if other in fixed else table.min(axis=1)
            fixed[at] = int(costs.argmin())
        choices = [fixed[at] for at in range(count)]
        settle(choices, [at for at in order if at not in given])
        if given:  # it may move once the others are where it wants them
            settle(choices, order)
        cost = total(single, pairs, choices)
        if cost < best_cost:
            best, best_cost = choices, cost
    return best
