"""How long a campaign with no hints needs to kill a fault of the compiler."""

import os
import resource
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from verify.campaign.case import Case
from verify.campaign.cause import is_failure, symptom
from verify.campaign.diagnosis import diagnose, is_own
from verify.campaign.process import SubjectProcess
from verify.strategies.programs import FAMILIES, Program, programs

BATCH = 50
"""Programs of one seed."""

SUBJECT = "verify.mutants.compiler.subject"

FELL_BACK = "could not be compiled"
"""What the compiler says of a graph that it leaves to PyTorch, as users are warned."""


INTERPRETER = ("OverflowError('overflow to", "ValueError('Unsupported data type')")
"""What Triton's interpreter raises (3.7.1) where an atomic sum of float16 overflows,
and for any of bfloat16."""


@dataclass(frozen=True, slots=True)
class Detection:
    """What a campaign made of one backend.

    Attributes:
        programs: Programs run until the first kill, or in all.
        seconds: Until the first kill, or in all, the process' start included [s].
        cpu_seconds: Of processors in that time, this process' and its children's [s].
        kill: The case that killed it and how, None if it survived.
        alarms: Cases that the compiler without the fault fails as well.
        apart: Those of them that speak against no kernel of ours, by kind: ``"before"``
            where PyTorch's capture fails in the same way, ``"fallback"`` where the
            graph is left to PyTorch's own operators, ``"interpreter"`` where Triton's
            interpreter itself fails, ``"unsteady"`` where a fault did not show again
            in a fresh process, ``"slow"`` where the time limit ends both runs.
    """

    programs: int
    seconds: float
    cpu_seconds: float
    kill: Mapping[str, Any] | None
    alarms: tuple[Mapping[str, Any], ...] = ()
    apart: Mapping[str, int] = field(default_factory=dict)


def detect(
    name: str,
    route: str,
    seconds: float,
    first_seed: int = 0,
    families: tuple[str, ...] = tuple(FAMILIES),
    timeout: float = 60.0,
    wall_seconds: float = float("inf"),
) -> Detection:
    """Draw programs until one fails with a fault and not without it.

    What would be a kill is run again in a fresh process. The limit is in seconds of
    processors, so that what else a machine does matters little.

    Args:
        name: Of a fault, or ``right_ROUTE`` to count false alarms.
        route: Where kernels run, see ``fault.ROUTES``.
        seconds: Limit, of processors [s].
        first_seed: Of the first batch.
        families: Kinds of operations.
        timeout: Limit for a program [s].
        wall_seconds: Limit, of the clock [s].
    """
    start, before = time.monotonic(), _used(None)
    count = 0
    kill: dict[str, Any] | None = None
    alarms: list[Mapping[str, Any]] = []
    apart: Counter[str] = Counter()
    with SubjectProcess(timeout) as process:
        subject, right = f"{SUBJECT}:{name}", f"{SUBJECT}:right_{route}"

        def spent() -> float:
            child = process.child
            return _used(None if child is None else child.pid) - before

        def over() -> bool:
            late = time.monotonic() - start >= wall_seconds
            return kill is not None or late or spent() >= seconds

        def one(program: Program, number: int) -> None:
            nonlocal count, kill
            case = Case(program, subject, seed=number)
            answer = process.run(case)
            count += 1
            if not is_failure(answer):
                return
            if answer["status"] in ("died", "hung"):
                process.close_child()
            without = replace(case, subject=right)
            plain = process.run(without)
            found = {"how": symptom(answer), "case": case.to_json()}
            kind: str | None
            if is_failure(plain):
                found["how"] = symptom(plain)
                kind = _kind(without, plain, process)
            elif subject == right:
                kind = None  # it fails now and then
            else:
                process.close_child()
                if is_failure(process.run(case)):
                    kill = found
                    return
                kind = "unsteady"
            if kind is None:
                alarms.append(found)
            else:
                apart[kind] += 1

        number = first_seed
        while not over():
            for program in drawn(number, families):
                if over():
                    break
                one(program, number)
            number += 1
        used = spent()
    seconds = time.monotonic() - start
    return Detection(count, seconds, used, kill, tuple(alarms), dict(apart))


def _kind(case: Case, answer: Mapping[str, Any], process: SubjectProcess) -> str | None:
    """Return why a failure without a fault is no alarm, None if it is one."""
    detail = str(answer.get("detail", ""))
    if answer["status"] == "hung":
        return "slow"
    if FELL_BACK in detail:
        return "fallback"
    if any(text in detail for text in INTERPRETER):
        return "interpreter"
    return (
        None if is_own(case.subject, diagnose(case, process.run, answer)) else "before"
    )


def _used(child: int | None) -> float:
    """Return the seconds of processors of this process, and of a live child's tree."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    if child is not None:
        try:
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return total
        ticks = sum(int(field) for field in fields[11:15])
        total += ticks / os.sysconf("SC_CLK_TCK")
    return total


def drawn(number: int, families: tuple[str, ...]) -> list[Program]:
    """Return the programs of a seed, but for those like others before.

    Hypothesis changes what it drew in places; where no two neighbouring operations are
    new, a run would say little.

    Args:
        number: The seed.
        families: Kinds of operations.
    """
    found: list[Program] = []
    seen: set[tuple[str, str]] = set()

    @seed(number)
    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(families=families))
    def each(program: Program) -> None:
        pairs = set(pairwise(("", *program.operations)))
        if not pairs <= seen:
            found.append(program)
            seen.update(pairs)

    each()
    return found
