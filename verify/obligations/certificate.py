"""Certificates: what is proved of each kernel of a schedule before it runs."""

import time
from collections.abc import Mapping, Sequence

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.frontend.validator import Certificate
from compiler.ir.expression import Expression
from compiler.ir.kernel import Kernel, Schedule, Store
from verify.symbolic.question import Solver

from .bounds import in_bounds
from .memory import memory_plan
from .points import accesses, ranges_of
from .races import no_race
from .stores import coverage, write_once
from .width import no_wrap

OBLIGATIONS = ("in_bounds", "write_once", "no_race", "no_wrap", "coverage")
"""What is asked of each kernel."""


def worst(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return the worst of some verdicts: refuted, else unknown, else ``Proved``."""
    for kind in (Refuted, Unknown):
        for name, verdict in verdicts.items():
            if isinstance(verdict, kind):
                if isinstance(verdict, Unknown):
                    return Unknown(f"{name}: {verdict.reason}")
                return verdict
    return Proved("ranges, mixed radix and z3")


def certify_kernel(
    kernel: Kernel,
    least: Mapping[Expression, int] | None = None,
    fresh: set[str] | None = None,
    solver: Solver | None = None,
) -> Certificate:
    """Decide the obligations of one kernel.

    Args:
        kernel: The loop nest.
        least: Symbol -> the least that it can be.
        fresh: Arrays whose content comes from this kernel alone; each array that it
            stores to without reading it, if left out.
        solver: Reused from kernel to kernel.
    """
    start = time.perf_counter()
    solver = solver or Solver()
    ranges = ranges_of(kernel, dict(least or {}))
    touched = accesses(kernel)
    if fresh is None:
        reads = {access.buffer for access in touched if not access.writes}
        plain = {
            stage.buffer
            for stage in kernel.stages
            if isinstance(stage, Store) and stage.mode == "set" and stage.injective
        }
        fresh = plain - reads
    once = write_once(kernel, touched, ranges, solver)
    verdicts = {
        "in_bounds": in_bounds(kernel, touched, ranges, solver),
        "write_once": once,
        "no_race": no_race(kernel, touched, ranges, solver),
        "no_wrap": no_wrap(kernel, touched, ranges),
        "coverage": coverage(kernel, touched, fresh, once),
    }
    return Certificate(kernel.name, verdicts, time.perf_counter() - start)


def validate(
    kernels: Sequence[Kernel], least: Mapping[Expression, int] | None = None
) -> list[Certificate]:
    """Decide the obligations of kernels that run one after another.

    This is the compiler's validator: it does not raise. What goes wrong inside is an
    ``Unknown`` with the reason.

    Args:
        kernels: In the order in which they run.
        least: Symbol -> the least that it can be.

    Example:
        >>> validate([])
        []
    """
    writers: dict[str, int] = {}
    for kernel in kernels:
        for name in {s.buffer for s in kernel.stages if isinstance(s, Store)}:
            writers[name] = writers.get(name, 0) + 1
    solver = Solver()
    found = []
    for kernel in kernels:
        touched = accesses(kernel)
        reads = {access.buffer for access in touched if not access.writes}
        stores = [stage for stage in kernel.stages if isinstance(stage, Store)]
        fresh = {
            stage.buffer
            for stage in stores
            if stage.mode == "set" and stage.injective and writers[stage.buffer] == 1
        }
        fresh -= reads
        try:
            found.append(certify_kernel(kernel, least, fresh, solver))
        except Exception as error:
            reason = Unknown(f"the check failed: {type(error).__name__}: {error}")
            verdicts: dict[str, Verdict] = dict.fromkeys(OBLIGATIONS, reason)
            found.append(Certificate(kernel.name, verdicts))
    solver.close()
    return found


def certify_schedule(schedule: Schedule) -> list[Certificate]:
    """Decide the obligations of each kernel of a schedule, and of its memory plan.

    The last certificate, named ``memory``, is the plan's.

    Example:
        >>> [made] = certify_schedule(Schedule((), (), ()))
        >>> made.verdicts["memory_plan"].method
        'live ranges'
    """
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    found = validate(kernels, schedule.least)
    start = time.perf_counter()
    plan: dict[str, Verdict] = {"memory_plan": memory_plan(schedule)}
    found.append(Certificate("memory", plan, time.perf_counter() - start))
    return found
