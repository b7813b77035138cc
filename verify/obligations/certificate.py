"""Certificates: what is proved of each kernel of a schedule before it runs."""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.frontend.validator import MEMORY, Certificate, Emitted
from compiler.ir.expression import Expression
from compiler.ir.form import form_of
from compiler.ir.kernel import Kernel, Schedule, Store
from compiler.ir.node import Program
from verify.symbolic.question import Solver

from .bounds import in_bounds
from .emitted import certify_emitted, failed, filled, storages
from .memory import memory_plan
from .points import accesses, fresh_arrays, ranges_of
from .races import no_race
from .reads import Reads
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
    start = time.process_time()
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
    return Certificate(kernel.name, verdicts, time.process_time() - start)


def validate(
    kernels: Sequence[Kernel], least: Mapping[Expression, int] | None = None
) -> list[Certificate]:
    """Decide the obligations of kernels that run one after another.

    It does not raise: what goes wrong inside is an ``Unknown`` with the reason. Kernels
    of one form are checked once.

    Args:
        kernels: In the order in which they run.
        least: Symbol -> the least that it can be.

    Example:
        >>> validate([])
        []
    """
    solver = Solver()
    found: list[Certificate] = []
    known: dict[Hashable, Certificate] = {}
    for kernel, fresh in zip(kernels, fresh_arrays(kernels), strict=True):
        form = form_of(kernel)
        places = frozenset(form.arrays.index(name) for name in fresh)
        before = known.get((form.key, places))
        if before is not None:
            found.append(replace(before, kernel=kernel.name, seconds=0.0))
            continue
        try:
            made = certify_kernel(kernel, least, fresh, solver)
        except Exception as error:
            made = Certificate(kernel.name, dict.fromkeys(OBLIGATIONS, _broken(error)))
        known[form.key, places] = made
        found.append(made)
    solver.close()
    return found


def certify_schedule(
    schedule: Schedule, program: Program | None = None
) -> list[Certificate]:
    """Decide the obligations of each kernel of a schedule, and of its memory plan.

    The last certificate, named ``memory``, is the plan's.

    Args:
        schedule: What will run.
        program: What it was made from: with it, what kernels read and what views show
            is compared with the program's definitions (``"fused_read"``, ``"views"``).

    Example:
        >>> [made] = certify_schedule(Schedule((), (), ()))
        >>> made.verdicts["memory_plan"].method
        'live ranges'
    """
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    found = validate(kernels, schedule.least)
    start = time.process_time()
    try:
        verdict = memory_plan(schedule, program)
    except Exception as error:
        verdict = _broken(error)
    plan: dict[str, Verdict] = {"memory_plan": verdict}
    found.append(Certificate(MEMORY, plan, time.process_time() - start))
    if program is not None:
        found = with_reads(found, schedule, program)
    return found


def with_reads(
    certificates: Sequence[Certificate], schedule: Schedule, program: Program
) -> list[Certificate]:
    """Add to certificates that what is read is what the program reads.

    Args:
        certificates: One a kernel, and the plan's.
        schedule: What will run.
        program: What it was made from.
    """
    kernels = {s.name: s for s in schedule.steps if isinstance(s, Kernel)}
    solver = Solver()
    found: list[Certificate] = []
    reads: Reads | Unknown
    start = time.process_time()
    try:
        reads = Reads(program, schedule, solver)
    except Exception as error:
        reads = _broken(error)
    for one in certificates:
        name = "fused_read" if one.kernel in kernels else "views"
        try:
            if isinstance(reads, Unknown):
                verdict: Verdict = reads
            elif one.kernel in kernels:
                verdict = reads.verdict(kernels[one.kernel])
            else:
                verdict = reads.views()
        except Exception as error:
            verdict = _broken(error)
        now = time.process_time()
        verdicts = {**one.verdicts, name: verdict}
        found.append(Certificate(one.kernel, verdicts, one.seconds + now - start))
        start = now
    solver.close()
    return found


def _broken(error: Exception) -> Unknown:
    return Unknown(f"the check failed: {type(error).__name__}: {error}")


def _within_guards(made: Certificate) -> Certificate:
    """Return a certificate that is refuted by no sizes that the graph's guards exclude.

    The guards are no part of the question: what is left of such a verdict is unknown.
    """

    def settled(verdict: Verdict) -> Verdict:
        if not isinstance(verdict, Refuted):
            return verdict
        from compiler.torch_api import contradicts_guards

        numbers = {
            name: value
            for name, value in verdict.counterexample.items()
            if isinstance(value, int)
        }
        if not contradicts_guards(numbers):
            return verdict
        return Unknown(f"the graph's guards exclude the point found, {numbers}")

    verdicts = {name: settled(verdict) for name, verdict in made.verdicts.items()}
    return replace(made, verdicts=verdicts)


@dataclass(frozen=True, slots=True)
class Obligations:
    """The compiler's validator."""

    def scheduled(
        self, schedule: Schedule, program: Program | None
    ) -> list[Certificate]:
        """Return a certificate for each kernel, in order, and one for the plan."""
        return [_within_guards(one) for one in certify_schedule(schedule, program)]

    def emitted(
        self, kernels: Sequence[Emitted], schedule: Schedule
    ) -> list[Certificate]:
        """Return a certificate for each emitted text, in order.

        Texts of equal launches are checked once.
        """
        shared = storages(schedule)
        writes = filled(schedule)
        known: dict[Hashable, Certificate] = {}
        found = []
        for one in kernels:
            name = one.kernel.name
            arrays = [one.kernel.buffers[array] for array in one.parameters]
            tops = [shared.get(array, (array, True)) for array in one.parameters]
            key = (
                one.text,
                tuple((b.shape, b.strides) for b in arrays),
                tuple(array in writes[name] for array in one.parameters),
                tuple((tops.index(top), top[1]) for top in tops),
            )
            if key not in known:
                try:
                    known[key] = certify_emitted(
                        one, schedule.least, writes[name], shared
                    )
                except Exception as error:
                    known[key] = failed(name, error)
                found.append(known[key])
            else:
                found.append(replace(known[key], kernel=name, seconds=0.0))
        return [_within_guards(one) for one in found]
