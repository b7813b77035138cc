"""What is refuted does not run: kernels, emitted texts, memory plans."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from algebra.verdict import Refuted
from compiler.errors import CompileError, FallbackWarning
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Program
from compiler.options import Options
from compiler.runtime.built import Built

from .kernels import Evaluated
from .validator import MEMORY, Certificate, Emitted, Validator


def certified(
    schedule: Schedule, program: Program | None, validator: Validator
) -> tuple[tuple[Certificate, ...], frozenset[str]]:
    """Return the certificates of a schedule, and the kernels that must not run.

    Args:
        schedule: What will run.
        program: What it was made from.
        validator: Checks it.

    Raises:
        CompileError: The memory plan is refuted: nothing of the schedule may run.
    """
    certificates = tuple(validator.scheduled(schedule, program))
    for certificate in certificates:
        if certificate.kernel == MEMORY:
            for obligation, verdict in certificate.verdicts.items():
                if isinstance(verdict, Refuted):
                    raise CompileError(
                        f"{obligation} is refuted by {verdict.counterexample}"
                    )
    return certificates, refuted(certificates, _kernels(schedule))


def certified_texts(
    schedule: Schedule,
    built: dict[str, Built],
    certificates: Sequence[Certificate],
    validator: Validator,
    options: Options,
) -> tuple[Certificate, ...]:
    """Check the emitted texts; what is refuted is evaluated instead, in ``built``.

    Args:
        schedule: What was built.
        built: Kernel's name -> what runs it.
        certificates: What is known already.
        validator: Checks the texts.
        options: With ``fallback`` off, a refuted kernel is an error.

    Returns:
        The certificates with the verdicts on the texts.

    Raises:
        CompileError: A text is refuted, and ``fallback`` is off.
    """
    kernels = {kernel.name: kernel for kernel in _kernels(schedule)}
    texts = [
        emitted
        for name, kernel in kernels.items()
        for emitted in emitted_of(kernel, built[name])
    ]
    found: dict[str, Certificate] = {}
    for certificate in validator.emitted(texts, schedule):
        before = found.get(certificate.kernel)
        found[certificate.kernel] = (
            certificate if before is None else _worse(before, certificate)
        )
    names = refuted(list(found.values()), list(kernels.values()))
    if names and not options.fallback:
        raise CompileError(f"the text of kernel {min(names)} is refuted")
    for name in names:
        built[name] = Evaluated(kernels[name])
    return tuple(_joined(one, found.get(one.kernel)) for one in certificates)


def emitted_of(kernel: Kernel, built: Built) -> Iterator[Emitted]:
    """Yield the texts that a built kernel may run, none if it is no Triton kernel.

    Args:
        kernel: What was built.
        built: What runs it; kernels of one form may share it.
    """
    inner: Any = getattr(built, "built", built)
    plans = list(getattr(inner, "plans", (inner,)))
    plans += [other for p in plans if (other := getattr(p, "unaligned", None))]
    for plan in plans:
        printed = getattr(plan, "printed", None)
        if printed is None:
            continue
        yield Emitted(
            kernel,
            plan.ttir(),
            printed.arguments,
            tuple(built.parameters),
            printed.symbols,
            printed.types,
            printed.grid,
        )


def refuted(
    certificates: Sequence[Certificate], kernels: Sequence[Kernel]
) -> frozenset[str]:
    """Return the kernels that must not run, and tell the user of each."""
    lines = {kernel.name: kernel.origins for kernel in kernels}
    names = []
    for certificate in certificates:
        for obligation, verdict in certificate.verdicts.items():
            if isinstance(verdict, Refuted) and certificate.kernel in lines:
                names.append(certificate.kernel)
                origins = [line for line in lines[certificate.kernel] if line]
                where = f" (from {origins[0]})" if origins else ""
                warnings.warn(
                    f"kernel {certificate.kernel}{where} does not run compiled: "
                    f"{obligation} is refuted by {verdict.counterexample}",
                    FallbackWarning,
                    stacklevel=2,
                )
                break
    return frozenset(names)


def _kernels(schedule: Schedule) -> list[Kernel]:
    return [step for step in schedule.steps if isinstance(step, Kernel)]


def _worse(one: Certificate, other: Certificate) -> Certificate:
    """Return what holds of both: the worse verdict of each obligation."""
    verdicts = dict(one.verdicts)
    for name, verdict in other.verdicts.items():
        if name not in verdicts or _rank(verdict) > _rank(verdicts[name]):
            verdicts[name] = verdict
    return Certificate(one.kernel, verdicts, one.seconds + other.seconds)


def _rank(verdict: object) -> int:
    return ("Proved", "Unknown", "Refuted").index(type(verdict).__name__)


def _joined(one: Certificate, other: Certificate | None) -> Certificate:
    if other is None:
        return one
    verdicts = {**one.verdicts, **other.verdicts}
    return Certificate(one.kernel, verdicts, one.seconds + other.seconds)
