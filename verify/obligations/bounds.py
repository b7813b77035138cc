"""Each load and store lies inside its array."""

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.ir.index import constant_value
from compiler.ir.kernel import Kernel
from compiler.ir.ranges import Ranges
from verify.symbolic import terms
from verify.symbolic.question import Solver
from verify.symbolic.terms import Term

from .integers import Integers, ask
from .points import Access, comparison, conjuncts


def in_bounds(
    kernel: Kernel, touched: list[Access], ranges: Ranges, solver: Solver
) -> Verdict:
    """Decide that ``0 <= coordinate < extent`` for each access and dim.

    A guarded access is asked only where its guard holds, and one in loops that run
    zero times never happens. An index that comes from data is in range because the
    kernel checks it.

    Returns:
        ``Refuted`` with the array, the dim and the point; ``Unknown`` with why.
    """
    unknown: Unknown | None = None
    asked = 0
    for access in touched:
        buffer = kernel.buffers.get(access.buffer)
        if buffer is None:
            return Refuted({"array": access.buffer, "is": "not the kernel's"})
        around = (*kernel.outer, *kernel.inner) if access.inner else kernel.outer
        if any(constant_value(axis.extent) == 0 for axis in around):
            continue
        if len(buffer.shape) != len(access.coordinates):
            return Refuted({"array": access.buffer, "indices": len(access.coordinates)})
        for dim, coordinate in enumerate(access.coordinates):
            extent = buffer.shape[dim]
            if ranges.inside(coordinate, extent):
                continue
            asked += 1
            integers = Integers(ranges)
            at, size = integers.term(coordinate), integers.term(extent)
            outside = terms.disjoin(terms.less(at, terms.ZERO), terms.at_most(size, at))
            held = assumed(access, integers)
            verdict = ask(solver, [integers], [outside, *held])
            if isinstance(verdict, Refuted) and len(held) < len(
                conjuncts(access.guards)
            ):
                verdict = Unknown(
                    f"{access.buffer} dim {dim}: a guard compares values, "
                    "which are not known"
                )
            if isinstance(verdict, Refuted):
                where = {"array": access.buffer, "dim": dim, "index": coordinate}
                return Refuted({**where, **verdict.counterexample})
            if isinstance(verdict, Unknown):
                unknown = verdict
    if unknown is not None:
        return unknown
    return Proved("ranges and z3" if asked else "ranges")


def assumed(access: Access, integers: Integers) -> list[Term]:
    """Return what the guards of an access say about indices."""
    held = []
    for condition, holds in conjuncts(access.guards):
        stated = comparison(condition, holds)
        if stated is None:
            continue
        kind, left, right = stated
        make = terms.equal if kind == "eq" else terms.at_most
        held.append(make(integers.term(left), integers.term(right)))
    return held
