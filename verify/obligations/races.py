"""No point of a kernel reads what another point writes."""

from algebra.verdict import Proved, Refuted, Verdict
from compiler.ir.kernel import Kernel
from compiler.ir.ranges import Ranges
from verify.symbolic import terms
from verify.symbolic.question import Solver

from .bounds import assumed
from .integers import Integers, ask
from .points import Access
from .stores import axes_of


def no_race(
    kernel: Kernel, touched: list[Access], ranges: Ranges, solver: Solver
) -> Verdict:
    """Decide that a load never sees a store of another point.

    A point is one value of the outer digits for what runs once an outer point, and of
    all digits otherwise. At the same point a load of the same or an earlier stage is
    before the store; a load of a later stage sees the stored value. Two names of one
    memory are the memory plan's business (``memory``).

    Returns:
        ``Refuted`` with the two points.
    """
    stored = {access.buffer for access in touched if access.writes}
    asked = 0
    for load in touched:
        if load.writes:
            continue
        for store in touched:
            if not store.writes or store.buffer != load.buffer:
                continue
            same = load.coordinates == store.coordinates and load.inner == store.inner
            if same and not store.folded:
                continue
            asked += 1
            verdict = _apart(kernel, load, store, ranges, solver)
            if not isinstance(verdict, Proved):
                return verdict
    return Proved("z3" if asked else f"{len(stored)} arrays are only written")


def _apart(
    kernel: Kernel, load: Access, store: Access, ranges: Ranges, solver: Solver
) -> Verdict:
    one, two = Integers(ranges), Integers(ranges, "'")
    for symbol in ranges.least:
        two.known[symbol] = one.term(symbol)
    meet = [
        terms.equal(one.term(a), two.term(b))
        for a, b in zip(load.coordinates, store.coordinates, strict=True)
    ]
    inner = load.inner and store.inner
    same = [
        terms.equal(one.term(axis.digit), two.term(axis.digit))
        for axis in axes_of(kernel, inner)
    ]
    apart = terms.invert(terms.conjoin(*same))
    verdict = ask(
        solver, [one, two], [*meet, apart, *assumed(load, one), *assumed(store, two)]
    )
    if isinstance(verdict, Refuted):
        return Refuted({"array": load.buffer, **verdict.counterexample})
    return verdict
