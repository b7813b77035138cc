"""How long a campaign with no hints needs to kill a fault of the compiler."""

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from verify.campaign.case import Case
from verify.campaign.cause import is_failure, symptom
from verify.campaign.process import SubjectProcess
from verify.strategies.programs import FAMILIES, Program, programs

BATCH = 50
"""Programs of one seed."""

SUBJECT = "verify.mutants.compiler.subject"


@dataclass(frozen=True, slots=True)
class Detection:
    """What a campaign made of one backend.

    Attributes:
        programs: Programs run until the first kill, or in all.
        seconds: Until the first kill, or in all, the process' start included [s].
        cpu_seconds: Of processors in that time, this process' and its children's [s].
        kill: The case that killed it and how, None if it survived.
        alarms: Cases that the compiler without the fault fails as well.
    """

    programs: int
    seconds: float
    cpu_seconds: float
    kill: Mapping[str, Any] | None
    alarms: tuple[Mapping[str, Any], ...] = ()


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

    The limit is in seconds of processors, so that what else a machine does matters
    little.

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
    with SubjectProcess(timeout) as process:
        subject = f"{SUBJECT}:{name}"

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
            right = process.run(replace(case, subject=f"{SUBJECT}:right_{route}"))
            found = {"how": symptom(answer), "case": case.to_json()}
            if is_failure(right):
                alarms.append(found)
            elif not name.startswith("right_"):
                kill = found

        number = first_seed
        while not over():
            for program in drawn(number, families):
                if over():
                    break
                one(program, number)
            number += 1
        used = spent()
    return Detection(count, time.monotonic() - start, used, kill, tuple(alarms))


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
    """Return the programs of a seed.

    Args:
        number: The seed.
        families: Kinds of operations.
    """
    found: list[Program] = []

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
        if program.lines:
            found.append(program)

    each()
    return found
