"""A subject in a process of its own, which may crash, abort, hang or print garbage."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from .case import Case

START_SECONDS = 120.0
"""Limit for the start of a process: imports."""


class SubjectProcess:
    """Runs cases, one at a time, and outlives whatever they do to the process.

    Args:
        timeout: Limit for a case [seconds].
        environment: More environment variables.
        per_process: Cases after which a fresh process is started.
        module: What runs in the process, and answers each JSON line with one.
    """

    def __init__(
        self,
        timeout: float = 60.0,
        environment: Mapping[str, str] | None = None,
        per_process: int = 200,
        module: str = "verify.campaign.child",
    ) -> None:
        self.timeout = timeout
        self.environment = dict(environment or {})
        self.per_process = per_process
        self.module = module
        self.child: subprocess.Popen[bytes] | None = None
        self.count = 0
        self._rest = b""
        self._log = Path(tempfile.mkstemp(prefix="tilewright-subject-")[1])

    def run(self, case: Case) -> dict[str, Any]:
        """Return the answer of ``subjects.run``, or what became of the process.

        Args:
            case: What is run.
        """
        return self.ask(case.to_json())

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the process's answer to a message, or what became of it.

        Two more statuses: ``"died"`` with the signal or exit status and the end of
        what it printed, and ``"hung"`` after the time limit.
        """
        if self.child is None or self.count >= self.per_process:
            self.close_child()
            failed = self._start()
            if failed is not None:
                return failed
        self.count += 1
        child = self.child
        assert child is not None and child.stdin is not None
        try:
            child.stdin.write(json.dumps(message).encode() + b"\n")
            child.stdin.flush()
        except OSError:
            return self._dead()
        return self._answer(self.timeout)

    def _start(self) -> dict[str, Any] | None:
        with self._log.open("wb") as log:
            self.child = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        self.count = 0
        self._rest = b""
        answer = self._answer(START_SECONDS)
        return None if answer.get("status") == "ready" else answer

    def _answer(self, timeout: float) -> dict[str, Any]:
        child = self.child
        assert child is not None and child.stdout is not None
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self.close_child()
                    return {"status": "hung", "detail": f"no answer in {timeout:g} s"}
                part = os.read(child.stdout.fileno(), 1 << 16)
                if not part:
                    return self._dead()
                self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "status" not in answer:
            self.close_child()
            return {"status": "broken", "detail": f"garbage: {line[:200]!r}"}
        return answer

    def _dead(self) -> dict[str, Any]:
        child = self.child
        assert child is not None
        child.wait(timeout=30)
        code = child.returncode
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        tail = self._log.read_bytes()[-1500:].decode(errors="replace")
        self.close_child()
        return {"status": "died", "kind": name, "detail": tail}

    def close_child(self) -> None:
        """End the process and all that it started."""
        child, self.child = self.child, None
        if child is None:
            return
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close_child()
        self._log.unlink(missing_ok=True)
