"""Each element is written at most once, and all of an array that a kernel fills."""

from collections.abc import Sequence

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.ir.expression import Expression
from compiler.ir.index import Index, constant_value, index, product, sub, terms
from compiler.ir.kernel import Kernel, Store, folded_axes
from compiler.ir.node import Axis
from compiler.ir.ranges import Ranges
from verify.symbolic import terms as integer
from verify.symbolic.question import Solver

from .bounds import assumed
from .integers import Integers, ask
from .points import Access


def axes_of(kernel: Kernel, inner: bool, folded: bool = False) -> tuple[Axis, ...]:
    """Return the axes over which an access runs."""
    axes = (*kernel.outer, *kernel.inner) if inner else kernel.outer
    if folded:
        gone = folded_axes(kernel.outer, kernel.stages)
        return tuple(axis for axis in axes if axis not in gone)
    return axes


def is_mixed_radix(
    coordinates: Sequence[Index], axes: Sequence[Axis], ranges: Ranges
) -> bool:
    """Return whether syntax shows that different points have different coordinates.

    Each digit stands in one coordinate, and within a coordinate the next larger
    coefficient is at least the reach of all smaller ones: a mixed-radix number.
    """
    left = {axis.digit: axis.extent for axis in axes}
    for coordinate in coordinates:
        parts: list[tuple[Expression, Expression]] = []
        for factor, count in terms(coordinate).items():
            if factor is None:
                continue
            digit, scale = _digit_of(factor)
            if digit is None or digit not in left or count < 0:
                if digit is not None and digit in left:
                    return False
                continue
            parts.append((digit, product([count, scale])))
        remaining = list(parts)
        reach: Expression = index(1)
        while remaining:
            fitting = [
                part
                for part in remaining
                if ranges.non_negative(sub(part[1], reach))
                and all(
                    ranges.non_negative(sub(other[1], part[1])) for other in remaining
                )
            ]
            if not fitting:
                return False
            digit, scale = fitting[0]
            reach = product([scale, left.pop(digit)])
            remaining.remove(fitting[0])
    return all(constant_value(extent) in (0, 1) for extent in left.values())


def _digit_of(factor: Expression) -> tuple[Expression | None, Expression]:
    """Return the digit of a product and the rest of it."""
    if factor.op == "digit":
        return factor, index(1)
    if factor.op == "mul":
        digits = [part for part in factor.args if part.op == "digit"]
        if len(digits) == 1:
            rest = [part for part in factor.args if part is not digits[0]]
            return digits[0], product(rest)
    return None, index(1)


def write_once(
    kernel: Kernel, touched: list[Access], ranges: Ranges, solver: Solver
) -> Verdict:
    """Decide that no two points write one element (read-modify-writes apart).

    Returns:
        ``Refuted`` with two points; ``Unknown`` where targets come from data, unless
        the lowering said that they may repeat in any order.
    """
    stores: dict[str, list[tuple[Access, Store]]] = {}
    writes = [access for access in touched if access.writes]
    made = [stage for stage in kernel.stages if isinstance(stage, Store)]
    for access, stage in zip(writes, made, strict=True):
        if stage.mode == "set" and stage.injective:
            stores.setdefault(stage.buffer, []).append((access, stage))
    asked = 0
    for name, those in stores.items():
        for number, (access, _) in enumerate(those):
            axes = axes_of(kernel, access.inner, access.folded)
            if not is_mixed_radix(access.coordinates, axes, ranges):
                asked += 1
                verdict = _apart(access, access, axes, ranges, solver, kernel)
                if not isinstance(verdict, Proved):
                    return _about(name, verdict)
            for other, _ in those[:number]:
                asked += 1
                verdict = _apart(access, other, (), ranges, solver, kernel)
                if not isinstance(verdict, Proved):
                    return _about(name, verdict)
    return Proved("mixed radix and z3" if asked else "mixed radix")


def _about(name: str, verdict: Verdict) -> Verdict:
    if isinstance(verdict, Refuted):
        return Refuted({"array": name, **verdict.counterexample})
    if isinstance(verdict, Unknown):
        return Unknown(f"{name}: {verdict.reason}")
    return verdict


def _apart(
    left: Access,
    right: Access,
    different: Sequence[Axis],
    ranges: Ranges,
    solver: Solver,
    kernel: Kernel,
) -> Verdict:
    """Decide that two accesses never meet (at different points, if axes are given)."""
    one, two = Integers(ranges), Integers(ranges, "'")
    for symbol in _symbols(ranges, kernel):
        two.known[symbol] = one.term(symbol)
    meet = [
        integer.equal(one.term(a), two.term(b))
        for a, b in zip(left.coordinates, right.coordinates, strict=True)
    ]
    held = [*assumed(left, one), *assumed(right, two)]
    if different:
        same = [
            integer.equal(one.term(axis.digit), two.term(axis.digit))
            for axis in different
        ]
        meet.append(integer.invert(integer.conjoin(*same)))
    return ask(solver, [one, two], [*meet, *held])


def _symbols(ranges: Ranges, kernel: Kernel) -> set[Expression]:
    from compiler.ir.expression import leaves

    found = set(ranges.least)
    for axis in (*kernel.outer, *kernel.inner):
        found.update(leaves("symbol", axis.extent))
    for buffer in kernel.buffers.values():
        found.update(leaves("symbol", *buffer.shape))
    return found


def coverage(
    kernel: Kernel, touched: list[Access], fresh: set[str], once: Verdict
) -> Verdict:
    """Decide that every element of each fresh array is written.

    Law: stores that are in bounds and write no element twice fill an array if they
    have as many points as it has elements.

    Args:
        kernel: The loop nest.
        touched: Its accesses.
        fresh: Arrays whose first content comes from this kernel alone.
        once: Verdict of :func:`write_once`.

    Returns:
        ``Refuted`` with the two counts; ``Unknown`` where a count is not known.
    """
    written: dict[str, Expression] = {}
    guarded: set[str] = set()
    for access in touched:
        if not access.writes or access.buffer not in fresh:
            continue
        axes = axes_of(kernel, access.inner, access.folded)
        points = product(axis.extent for axis in axes)
        written[access.buffer] = sub(
            written.get(access.buffer, index(0)), sub(0, points)
        )
        if access.guards:
            guarded.add(access.buffer)
    for name, points in written.items():
        elements = product(kernel.buffers[name].shape)
        if name in guarded:
            return Unknown(f"{name}: a store has a condition")
        if sub(points, elements) is not index(0):
            known = constant_value(points), constant_value(elements)
            if None in known:
                return Unknown(f"{name}: {points} points, {elements} elements")
            return Refuted({"array": name, "points": known[0], "elements": known[1]})
    if written and not isinstance(once, Proved):
        return Unknown("an element may be written twice")
    return Proved("counting")
