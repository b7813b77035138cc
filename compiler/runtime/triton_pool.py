"""Parallel compilation: a few processes fill Triton's cache, the caller reads it.

The caller compiles too, so nothing waits for processes to start. A process that dies
or refuses a kernel costs nothing but time: the caller compiles what it does not find
in the cache, and reports what Triton says.
"""

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

_MOST: Final = 12
_SCRIPT: Final = Path(__file__).with_name("triton_worker.py")
NOT_COMPILED: Final = "not compiled"
"""Answer for a job that no process took or finished."""


class Task:
    """A job of the pool's, and its answer once it is done."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.answer = NOT_COMPILED
        self.done = threading.Event()


class CompilePool:
    """Processes that compile; they start when they are first wanted.

    Attributes:
        size: Most processes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._workers: dict[subprocess.Popen[str], threading.Thread] = {}

    def start(self, count: int | None = None) -> None:
        """Start processes until there are ``count``, without waiting for them."""
        for worker, thread in list(self._workers.items()):
            if not thread.is_alive():
                del self._workers[worker]
                _close(worker)
        count = self.size if count is None else min(count, self.size)
        while len(self._workers) < count:
            worker = subprocess.Popen(
                [sys.executable, "-P", str(_SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            thread = threading.Thread(
                target=_serve, args=(worker, self._waiting), daemon=True
            )
            self._workers[worker] = thread
            thread.start()

    def submit(self, job: dict[str, Any]) -> "Task":
        """Let the processes that are up begin a job; :meth:`finish` waits for it.

        Args:
            job: ``path`` and ``name`` of a kernel, and ``arguments`` for
                ``compile_printed``; or ``launcher``, the argument for
                ``prepare_launcher``. JSON can carry all of it.
        """
        task = Task(job)
        self._waiting.put(task)
        return task

    def finish(
        self, tasks: "Sequence[Task]", own: Callable[[int], None] | None = None
    ) -> list[str]:
        """Wait for jobs; return "" or the error of each.

        Args:
            tasks: What :meth:`submit` returned.
            own: Does the job of a number in this process; None: only the others work,
                and what they cannot do is :data:`NOT_COMPILED`.
        """
        self.start(len(tasks) if own is None else len(tasks) - 1)
        while own is not None:
            try:
                mine = self._waiting.get_nowait()
            except queue.Empty:
                break
            if mine is None:
                continue
            if mine in tasks:
                own(tasks.index(mine))
                mine.answer = ""
            mine.done.set()
        for task in tasks:
            while not task.done.wait(0.05):
                if not any(thread.is_alive() for thread in self._workers.values()):
                    break
        return [task.answer for task in tasks]

    def compile(
        self,
        jobs: Sequence[dict[str, Any]],
        own: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Do all jobs; return "" or the error of each.

        Args:
            jobs: As :meth:`submit` takes them.
            own: As :meth:`finish` takes it.
        """
        return self.finish([self.submit(job) for job in jobs], own)

    def stop(self) -> None:
        """End the processes: their input closes."""
        for _ in self._workers:
            self._waiting.put(None)
        for worker, thread in self._workers.items():
            _close(worker)
            thread.join(timeout=5)
        self._workers = {}


def _close(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdin is not None and worker.stdout is not None
    with contextlib.suppress(OSError):  # what was not written is lost with it
        worker.stdin.close()
    worker.wait()
    worker.stdout.close()


def _serve(
    worker: "subprocess.Popen[str]", waiting: "queue.SimpleQueue[Task | None]"
) -> None:
    """Hand jobs to a process, once it is up, until it ends."""
    assert worker.stdin is not None and worker.stdout is not None
    if not worker.stdout.readline():
        return
    while True:
        task = waiting.get()
        if task is None:
            return
        try:
            worker.stdin.write(json.dumps(task.job) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except (OSError, ValueError):
            line = ""
        if line:
            task.answer = json.loads(line)
        task.done.set()
        if not line:
            return


def _size() -> int:
    return max(1, min(_MOST, len(os.sched_getaffinity(0)) - 1))


POOL: Final = CompilePool(_size())
"""The processes of this one."""

atexit.register(POOL.stop)
