"""A campaign: programs drawn, run, compared; each failure shrunk and written down."""

import multiprocessing
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky, HypothesisWarning

from verify.strategies.programs import FAMILIES, Program, functions, programs
from verify.strategies.programs.program import targets

from .case import Case
from .cause import cause, is_failure, symptom
from .diagnosis import PYTORCH, diagnose, is_own
from .process import SubjectProcess
from .regression import versions, write
from .shrink import shrink, sliced
from .store import Store

BATCH = 50
"""Programs of one seed."""

WORKER_STRIDE = 1_000_000
"""Seeds between two workers."""

CONFIRMATIONS = 2
"""Fresh processes in which a find has to fail again."""


KINDS = ("tensors", "capture")
"""What is drawn: operators on tensors, or Python around them that a compiler has to
capture, whose side effects count."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What to hunt, where, and for how long.

    Attributes:
        subject: Key of ``subjects.SUBJECTS``.
        folder: Where finds and progress go.
        minutes: Limit [minutes].
        seed: First seed of worker 0.
        device: ``"cpu"`` or ``"cuda"``.
        timeout: Limit for a program [seconds].
        max_operations: At most so many statements a program.
        families: Kinds of operations.
        dynamic: Whether sizes are compiled as symbols.
        per_process: Programs after which the subject gets a fresh process.
        max_programs: A worker stops after so many, None for no limit.
        programs: Key of :data:`KINDS`.
    """

    subject: str
    folder: Path
    minutes: float = 1.0
    seed: int = 0
    device: str = "cpu"
    timeout: float = 60.0
    max_operations: int = 8
    families: tuple[str, ...] = tuple(FAMILIES)
    dynamic: bool = False
    per_process: int = 200
    max_programs: int | None = None
    programs: str = "tensors"


@dataclass
class Tally:
    """What a worker has done.

    Attributes:
        programs: Programs run.
        batch: Number of the next batch.
        statuses: Status -> programs.
        pairs: Distinct pairs of neighbouring operations that were run.
        symptoms: How failures showed themselves -> failures.
        seconds: Time spent [seconds].
        features: Kind of program (gradients, objects, ...) -> programs.
    """

    programs: int = 0
    batch: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    pairs: set[str] = field(default_factory=set)
    symptoms: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    features: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "programs": self.programs,
            "batch": self.batch,
            "statuses": dict(self.statuses),
            "pairs": sorted(self.pairs),
            "symptoms": dict(self.symptoms),
            "seconds": self.seconds,
            "features": dict(self.features),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Tally":
        """Return what :meth:`to_json` wrote; anything unreadable starts anew."""
        try:
            return cls(
                int(data["programs"]),
                int(data["batch"]),
                _counted(data["statuses"]),
                set(map(str, data["pairs"])),
                _counted(data["symptoms"]),
                float(data["seconds"]),
                _counted(data.get("features", {})),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls()


def _counted(data: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(name): int(count) for name, count in data.items()})


def work(
    campaign: Campaign, worker: int, report: Callable[[Tally], None] | None = None
) -> Tally:
    """Hunt in this process until the time is over; resumes where it stopped.

    Args:
        campaign: What to hunt.
        worker: Number of this worker, which chooses its seeds.
        report: Told after each batch.
    """
    warnings.simplefilter("ignore", HypothesisWarning)
    store = Store(campaign.folder)
    tally = Tally.from_json(store.progress(worker))
    start = time.monotonic()
    before = tally.seconds
    deadline = start + 60 * campaign.minutes
    limit = campaign.max_programs
    with SubjectProcess(campaign.timeout, per_process=campaign.per_process) as process:
        for case in store.take_failing():  # of a worker that died over it
            answer = process.run(case)
            if is_failure(answer):
                _keep(case, answer, process, store, tally)
            store.settle(case)
        while time.monotonic() < deadline:
            if limit is not None and tally.programs >= limit:
                break
            number = campaign.seed + worker * WORKER_STRIDE + tally.batch
            _batch(campaign, number, process, store, tally, deadline)
            if time.monotonic() < deadline:
                tally.batch += 1
            tally.seconds = before + time.monotonic() - start
            store.save_progress(worker, tally.to_json())
            if report is not None:
                report(tally)
    return tally


def _batch(
    campaign: Campaign,
    number: int,
    process: SubjectProcess,
    store: Store,
    tally: Tally,
    deadline: float,
) -> None:
    strategy = (
        functions(campaign.max_operations)
        if campaign.programs == "capture"
        else programs(campaign.max_operations, campaign.families)
    )
    seen: set[str] = set()

    @seed(number)
    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy, st.just(campaign.dynamic))
    def each(program: Program, dynamic: bool) -> None:
        pairs = {f"{a} {b}" for a, b in pairwise(("", *program.operations))}
        if time.monotonic() >= deadline or pairs <= seen:
            return  # like one before, changed in places
        case = Case(
            program,
            campaign.subject,
            campaign.device,
            dynamic,
            number,
            has_parity=bool(number % 2),
        )
        answer = process.run(case)
        tally.programs += 1
        tally.statuses[answer["status"]] += 1
        target(float(len(pairs - seen)), label="pairs of operations not in this batch")
        seen.update(pairs)
        tally.pairs.update(pair for pair in pairs if not pair.startswith(" "))
        tally.features.update(_features(program))
        if is_failure(answer):
            store.save_failing(case)
            _keep(case, answer, process, store, tally)
            store.settle(case)

    try:
        each()
    except Flaky:
        # eager mode ran a statement once and not again: uninitialised memory, say
        tally.statuses["unsteady draw"] += 1


def _features(program: Program) -> list[str]:
    """Return what kinds of program a program is of."""
    kinds = {
        "gradients": program.gradients,
        "objects": bool(program.objects),
        "several calls": program.calls > 1,
        "random": bool(program.random_places()),
        "writes": any(not targets(line) for line in program.lines),
        "strided": any(not spec.is_plain for spec in program.inputs.values()),
        "empty": any(0 in spec.shape for spec in program.inputs.values()),
    }
    return [kind for kind, holds in kinds.items() if holds]


def _keep(
    case: Case,
    answer: dict[str, Any],
    process: SubjectProcess,
    store: Store,
    tally: Tally,
) -> None:
    """Shrink a failure, confirm it in fresh processes, and write it down once."""
    sign = symptom(answer)
    tally.symptoms[sign] += 1
    if answer["status"] == "error" and tally.symptoms[sign] > 2:
        return

    def fails(program: Program) -> bool:
        found = process.run(replace(case, program=program))
        return is_failure(found) and symptom(found) == sign

    program = sliced(case.program, fails)
    if _holds_a_find(program, sign, store):
        tally.statuses["like a find"] += 1
        return
    small = replace(case, program=shrink(program, fails))
    found = process.run(small)
    if not is_failure(found):
        record = {"answer": answer, "case": case.to_json()}
        store.add_unconfirmed(cause(case, answer), record)
        return
    name = cause(small, found)
    stage = ""
    if small.subject not in PYTORCH:
        stage = diagnose(small, process.run, found)
        if not is_own(small.subject, stage):
            tally.statuses["before the subject"] += 1
            name += "_before"  # hides no fault of the subject's
    if store.known(name):
        return
    again = 0
    for _ in range(CONFIRMATIONS):
        process.close_child()
        again += is_failure(process.run(small))
    if again < CONFIRMATIONS:
        tally.statuses["not again"] += 1
        store.add_unconfirmed(name, {"answer": found, "case": small.to_json()})
        return
    stage = stage or diagnose(small, process.run, found)
    title = f"{small.subject}: {symptom(found)[:70]}"
    text: str | None = None
    try:
        text = write(name, small, found, stage, title)
    except ValueError as error:
        found = {**found, "no_test": str(error)}
    find = {
        "title": title,
        "stage": stage,
        "own": is_own(small.subject, stage),
        "answer": found,
        "versions": versions(),
        "case": small.to_json(),
    }
    store.add(name, find, text)


def _holds_a_find(program: Program, sign: str, store: Store) -> bool:
    """Return whether a program has all operations of a find with its symptom.

    To shrink it would most likely lead to that find again.
    """
    for find in store.finds():
        answer, case = find.get("answer", {}), find.get("case", {})
        operations = case.get("operations")  # a library's case has none
        if (
            operations
            and "status" in answer
            and symptom(answer) == sign
            and set(operations) <= set(program.operations)
        ):
            return True
    return False


def hunt(
    campaign: Campaign,
    workers: int = 1,
    report: Callable[[int, Tally], None] | None = None,
) -> list[Tally]:
    """Hunt with several processes; Ctrl-C ends them cleanly, and nothing is lost.

    Args:
        campaign: What to hunt.
        workers: Processes.
        report: Told the worker's number and tally, about once a second.
    """
    context = multiprocessing.get_context("spawn")
    children = [
        context.Process(target=work, args=(campaign, number), daemon=False)
        for number in range(workers)
    ]
    store = Store(campaign.folder)
    for child in children:
        child.start()
    try:
        while any(child.is_alive() for child in children):
            time.sleep(0.5)
            for number in range(workers):
                if report is not None:
                    report(number, Tally.from_json(store.progress(number)))
    except KeyboardInterrupt:
        for child in children:
            child.terminate()
        raise
    finally:
        for child in children:
            child.join(timeout=10)
    return [Tally.from_json(store.progress(number)) for number in range(workers)]
