"""How long a campaign with no hints needs to kill a fault of the compiler."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
        kill: The case that killed it and how, None if it survived.
        alarms: Cases that the compiler without the fault fails as well.
    """

    programs: int
    seconds: float
    kill: Mapping[str, Any] | None
    alarms: tuple[Mapping[str, Any], ...] = ()


def detect(
    name: str,
    route: str,
    seconds: float,
    first_seed: int = 0,
    families: tuple[str, ...] = tuple(FAMILIES),
    timeout: float = 60.0,
) -> Detection:
    """Draw programs until one fails with a fault and not without it.

    Args:
        name: Of a fault, or ``right_ROUTE`` to count false alarms.
        route: Where kernels run, see ``fault.ROUTES``.
        seconds: Limit [s].
        first_seed: Of the first batch.
        families: Kinds of operations.
        timeout: Limit for a program [s].
    """
    start = time.monotonic()
    count = 0
    kill: dict[str, Any] | None = None
    alarms: list[Mapping[str, Any]] = []
    with SubjectProcess(timeout) as process:
        subject = f"{SUBJECT}:{name}"

        def over() -> bool:
            return kill is not None or time.monotonic() - start >= seconds

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
    return Detection(count, time.monotonic() - start, kill, tuple(alarms))


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
