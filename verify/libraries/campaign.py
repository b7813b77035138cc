"""A campaign on a library: many cases, what fails shrunk and written down."""

import ast
import multiprocessing
import os
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from verify.campaign.process import SubjectProcess
from verify.campaign.store import Store

from .catalogue import library
from .operation import Arguments
from .regression import cause, symptom, title, versions, write
from .shrink import shrink

BATCH = 20_000
"""Cases of one message, at most."""

BATCH_SECONDS = 5.0
"""Time of one message, at most [seconds]."""

DEATHS = 5
"""Deaths of the process in one operation after which it is left out."""

SHRUNK = 8
"""Failures that show themselves alike and are shrunk, where arguments tell causes."""

TRIES = {"mismatch": 400, "error": 400, "died": 60, "hung": 4}
"""How a failure shows itself -> steps of shrinking, at most: some cost a process."""

CONFIRMATIONS = 2
"""Fresh processes in which a find has to fail again."""


@dataclass(frozen=True, slots=True)
class LibraryCampaign:
    """What to hunt, where, and for how long.

    Attributes:
        library: Key of ``catalogue.LIBRARIES``.
        folder: Where finds and progress go.
        minutes: Limit [minutes]; what was found by then is still shrunk.
        seed: Of the first worker; each further one has the next.
        path: Folder put first on the process's module path, where another release
            than the installed one lies; empty for none.
        timeout: Limit for a batch beyond its time [seconds].
    """

    library: str
    folder: Path
    minutes: float = 1.0
    seed: int = 0
    path: str = ""
    timeout: float = 60.0


@dataclass
class LibraryTally:
    """What a worker has done.

    Attributes:
        next: Number of the next case.
        counts: Operation -> status -> cases.
        deaths: Operation -> times the process died or hung in it.
        done: Symptom -> times it has been shrunk.
        seconds: Time spent on batches [seconds].
        cpu: Of that, time of the subject's processor [seconds].
    """

    next: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def statuses(self) -> Counter[str]:
        """Status -> cases of all operations."""
        return sum(self.counts.values(), Counter())

    @property
    def compared(self) -> int:
        """Cases in which an answer was compared with the right one."""
        found = self.statuses
        return found["ok"] + found["mismatch"] + found["error"] + found["died"]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "next": self.next,
            "counts": {name: dict(count) for name, count in self.counts.items()},
            "deaths": dict(self.deaths),
            "done": dict(self.done),
            "seconds": self.seconds,
            "cpu": self.cpu,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "LibraryTally":
        """Return what :meth:`to_json` wrote; anything unreadable starts anew."""
        try:
            return cls(
                int(data["next"]),
                {name: Counter(count) for name, count in data["counts"].items()},
                Counter(data["deaths"]),
                Counter(dict(data["done"])),
                float(data["seconds"]),
                float(data["cpu"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()


class UnavailableError(Exception):
    """The library cannot be imported."""


class Worker:
    """One process at work on a campaign.

    Args:
        campaign: What to hunt.
        number: Of this worker, which chooses its seed.
    """

    def __init__(self, campaign: LibraryCampaign, number: int = 0) -> None:
        self.campaign = campaign
        self.number = number
        self.seed = campaign.seed + number
        self.store = Store(campaign.folder)
        self.tally = LibraryTally.from_json(self.store.progress(number))
        handle, name = tempfile.mkstemp(prefix="tilewright-progress-")
        os.write(handle, bytes(8))
        os.close(handle)
        self._progress = Path(name)
        self._process = SubjectProcess(
            campaign.timeout + BATCH_SECONDS,
            environment(campaign.path),
            per_process=1 << 30,
            module="verify.libraries.child",
        )

    def run(self, report: Callable[[LibraryTally], None] | None = None) -> LibraryTally:
        """Hunt until the time is over; goes on where it stopped.

        Raises:
            UnavailableError: The library cannot be imported.
        """
        end = time.monotonic() + 60 * self.campaign.minutes
        with self._process:
            self._require()
            while (left := end - time.monotonic()) > 0:
                start = time.monotonic()
                failures = self._batch(min(left, BATCH_SECONDS))
                self.tally.seconds += time.monotonic() - start
                for failure in failures:
                    self._keep(failure)
                self.store.flush()
                self.store.save_progress(self.number, self.tally.to_json())
                if report is not None:
                    report(self.tally)
        self._progress.unlink(missing_ok=True)
        return self.tally

    def _require(self) -> None:
        operation, arguments = library(self.campaign.library).draw(0, 0)
        answer = self._one(operation.name, arguments)
        if answer.get("kind") in ("ModuleNotFoundError", "ImportError"):
            package = library(self.campaign.library).package
            raise UnavailableError(
                f"{self.campaign.library} needs its library: {answer['detail']}; "
                f"install {package}, or give the folder where it lies with --path"
            )

    def _ask(self, start: int, stop: int, seconds: float) -> dict[str, Any]:
        muted = [name for name, count in self.tally.deaths.items() if count >= DEATHS]
        return self._process.ask(
            {
                "library": self.campaign.library,
                "seed": self.seed,
                "start": start,
                "stop": stop,
                "seconds": seconds,
                "progress": str(self._progress),
                "muted": muted,
            }
        )

    def _batch(self, seconds: float) -> list[dict[str, Any]]:
        start = self.tally.next
        answer = self._ask(start, start + BATCH, seconds)
        if answer["status"] == "done":
            return self._counted(answer)
        # the process died: what it had done before is done again, the case is kept
        (fatal,) = struct.unpack("q", self._progress.read_bytes())
        if not start <= fatal < start + BATCH:
            fatal = start
        before = self._ask(start, fatal, 60.0) if fatal > start else None
        failures = self._counted(before) if before and "counts" in before else []
        operation, arguments = library(self.campaign.library).draw(self.seed, fatal)
        self.tally.next = fatal + 1
        self.tally.deaths[operation.name] += 1
        count = self.tally.counts.setdefault(operation.name, Counter())
        count[answer["status"]] += 1
        found = {
            "number": fatal,
            "operation": operation.name,
            "arguments": repr(arguments),
            "answer": answer,
        }
        return [*failures, found]

    def _counted(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        self.tally.next = answer["next"]
        self.tally.cpu += answer["cpu"]
        for name, count in answer["counts"].items():
            self.tally.counts.setdefault(name, Counter()).update(count)
        return list(answer["failures"])

    def _one(self, operation: str, arguments: Arguments) -> dict[str, Any]:
        return self._process.ask(
            {
                "library": self.campaign.library,
                "operation": operation,
                "arguments": repr(arguments),
            }
        )

    def _keep(self, failure: Mapping[str, Any]) -> None:
        """Shrink a failure, confirm it in fresh processes, and write it down once."""
        name = failure["operation"]
        sign = symptom(name, failure["answer"])
        operation = library(self.campaign.library).named(name)
        if self.tally.done[sign] >= (1 if operation.trait is None else SHRUNK):
            return
        self.tally.done[sign] += 1
        arguments = ast.literal_eval(failure["arguments"])

        def fails(tried: Arguments) -> bool:
            answer = self._one(name, tried)
            return is_failure(answer) and symptom(name, answer) == sign

        if not fails(arguments):
            self.tally.counts.setdefault(name, Counter())["not again"] += 1
            return
        small = shrink(arguments, fails, TRIES[failure["answer"]["status"]])
        for _ in range(CONFIRMATIONS):
            self._process.close_child()
            if not fails(small):
                self.tally.counts.setdefault(name, Counter())["not again"] += 1
                return
        answer = self._one(name, small)
        trait = operation.trait(small) if operation.trait else ""
        key = cause(self.campaign.library, name, answer, trait)
        if self.store.known(key):
            return
        found = versions(library(self.campaign.library).package, self.campaign.path)
        where = self.seed, int(failure["number"])
        text = write(
            key, self.campaign, operation, small, answer, versions=found, where=where
        )
        find = {
            "title": title(self.campaign.library, name, answer),
            "stage": f"{self.campaign.library}, {name}: {operation.promise}",
            "answer": answer,
            "versions": found,
            "case": {
                "library": self.campaign.library,
                "operation": name,
                "arguments": repr(small),
                "seed": self.seed,
                "number": int(failure["number"]),
            },
        }
        self.store.add(key, find, text)


def environment(path: str) -> dict[str, str]:
    """Return the variables of a process that finds another release first."""
    paths = [part for part in (path, os.environ.get("PYTHONPATH", "")) if part]
    return {"PYTHONPATH": os.pathsep.join(paths)} if path else {}


def is_failure(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer speaks against the library."""
    return answer["status"] in ("mismatch", "error", "died", "hung")


def work(campaign: LibraryCampaign, worker: int) -> LibraryTally:
    """Hunt in this process; see :meth:`Worker.run`."""
    return Worker(campaign, worker).run()


def hunt(
    campaign: LibraryCampaign,
    workers: int = 1,
    report: Callable[[int, LibraryTally], None] | None = None,
) -> list[LibraryTally]:
    """Hunt with several processes; Ctrl-C ends them cleanly, and nothing is lost.

    Args:
        campaign: What to hunt.
        workers: Processes.
        report: Told the worker's number and tally.

    Raises:
        UnavailableError: The library cannot be imported.
    """
    if workers == 1:
        return [Worker(campaign).run(partial(report, 0) if report else None)]
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
                    report(number, LibraryTally.from_json(store.progress(number)))
    except KeyboardInterrupt:
        for child in children:
            child.terminate()
        raise
    finally:
        for child in children:
            child.join(timeout=10)
    return [LibraryTally.from_json(store.progress(n)) for n in range(workers)]
