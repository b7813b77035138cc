"""A Triton wheel in a child process, asked about layouts.

The wheel's C++ ends the process on bad input. The child answers job by job, so when it
dies the job is known: that one counts as an abort, a new child takes the next job, and
nothing is lost.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

CHILD = Path(__file__).with_name("child.py")
BATCH = 250
Job = list[Any]
Answer = dict[str, Any]


class Wheel:
    """A Triton wheel that answers questions about layouts.

    Use it as a context manager; the child ends with it.

    Attributes:
        path: Folder that holds the wheel (``pip install --target``), or ``None`` for
            the installed one.
        restarts: How many children died.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        timeout: float = 60.0,
        child: Path = CHILD,
    ) -> None:
        """Prepare; the child starts with the first question.

        Args:
            path: See the class.
            timeout: Time without an answer after which the child is ended [seconds].
            child: Program that runs in the wheel's process and answers.
        """
        self.path = None if path is None else Path(path).resolve()
        self.timeout = timeout
        self.program = child
        self.restarts = 0
        self._child: subprocess.Popen[str] | None = None
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the child

    def __enter__(self) -> "Wheel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            assert child.stdin is not None and child.stdout is not None
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
        self._errors.close()

    @property
    def version(self) -> str:
        """Version of the wheel, e.g. ``"3.7.1"``."""
        return str(next(self.ask([["version"]]))["value"])

    def ask(self, jobs: Sequence[Job]) -> Iterator[Answer]:
        """Yield one answer a job, in order.

        Args:
            jobs: See ``child.py``.

        Yields:
            ``{"value": ...}``, ``{"error": text}`` where the wheel raised,
            ``{"not_exposed": text}``, or ``{"abort": text}`` where it died.
        """
        done = 0
        while done < len(jobs):
            batch = jobs[done : done + BATCH]
            for answer in self._ask_batch(batch):
                done += 1
                yield answer

    def _ask_batch(self, batch: Sequence[Job]) -> Iterator[Answer]:
        """Yield answers to a batch, up to and including one abort."""
        child = self._start()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(json.dumps(batch) + "\n")
            child.stdin.flush()
        except BrokenPipeError:
            yield self._bury()
            return
        for _ in batch:
            watchdog = threading.Timer(self.timeout, child.kill)
            watchdog.daemon = True
            watchdog.start()
            line = child.stdout.readline()
            watchdog.cancel()
            if not line.endswith("\n"):
                yield self._bury()
                return
            yield json.loads(line)

    def _start(self) -> subprocess.Popen[str]:
        if self._child is None:
            environment = dict(os.environ)
            if self.path is not None:
                environment["PYTHONPATH"] = str(self.path)
            self._errors.seek(0)
            self._errors.truncate()
            self._child = subprocess.Popen(
                [sys.executable, "-P", str(self.program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
                text=True,
            )
        return self._child

    def _bury(self) -> Answer:
        """Forget the dead child; say what it said last."""
        child, self._child = self._child, None
        assert child is not None
        assert child.stdin is not None and child.stdout is not None
        child.kill()
        status = child.wait()
        child.stdin.close()
        child.stdout.close()
        self.restarts += 1
        self._errors.seek(0)
        said = [line.strip() for line in self._errors.read().splitlines()]
        last = next((line for line in reversed(said) if line), "")
        return {"abort": f"exit status {status}: {last[-200:]}"}
