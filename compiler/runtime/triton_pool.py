"""Parallel compilation: a few processes fill Triton's cache, the caller reads it.

A worker that dies or refuses a kernel costs nothing but time: the caller compiles what
it does not find, and reports what Triton says.
"""

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_MOST: Final = 12
_SCRIPT: Final = Path(__file__).with_name("triton_worker.py")


class CompilePool:
    """Processes that compile; they start when they are first wanted.

    Attributes:
        size: Most processes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._workers: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()

    def start(self, count: int | None = None) -> None:
        """Start processes until there are ``count``, without waiting for them."""
        count = self.size if count is None else min(count, self.size)
        while len(self._workers) < count:
            worker = subprocess.Popen(
                [sys.executable, "-P", str(_SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._workers.append(worker)

    def compile(self, jobs: Sequence[dict[str, Any]]) -> list[str]:
        """Compile all jobs; return "" or the error of each.

        Args:
            jobs: ``path`` and ``name`` of a kernel, and ``arguments`` for
                ``compile_printed``, all of which JSON can carry.
        """
        with self._lock:
            self.start(len(jobs))
            waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
            for number in range(len(jobs)):
                waiting.put(number)
            answers = ["not compiled"] * len(jobs)
            threads = [
                threading.Thread(
                    target=_serve, args=(worker, waiting, jobs, answers), daemon=True
                )
                for worker in self._workers
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for worker in [w for w in self._workers if w.poll() is not None]:
                self._workers.remove(worker)
                _close(worker)
            return answers

    def stop(self) -> None:
        """End the processes: their input closes."""
        for worker in self._workers:
            _close(worker)
        self._workers = []


def _close(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdin is not None and worker.stdout is not None
    with contextlib.suppress(OSError):  # what was not written is lost with it
        worker.stdin.close()
    worker.stdout.close()
    worker.wait()


def _serve(
    worker: "subprocess.Popen[str]",
    waiting: "queue.SimpleQueue[int]",
    jobs: Sequence[dict[str, Any]],
    answers: list[str],
) -> None:
    assert worker.stdin is not None and worker.stdout is not None
    while True:
        try:
            number = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            worker.stdin.write(json.dumps(jobs[number]) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except OSError:
            line = ""
        if not line:
            return
        answers[number] = json.loads(line)


def _size() -> int:
    return max(1, min(_MOST, len(os.sched_getaffinity(0)) - 1))


POOL: Final = CompilePool(_size())
"""The processes of this one."""

atexit.register(POOL.stop)
