"""The folder of a campaign: finds, progress, nothing lost when a worker dies."""

import contextlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from .case import Case, from_json

ABANDONED = 900.0
"""Age from which another machine's failing case has no worker any more [seconds]."""


def _is_abandoned(owned: Mapping[str, Any], path: Path) -> bool:
    if owned.get("host") != platform.node():
        return time.time() - path.stat().st_mtime > ABANDONED
    try:
        pid = int(owned.get("pid", 0))
        if pid <= 0:
            return True
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, TypeError):
        return False
    return False


def _owned(case: Case, pid: int) -> str:
    owner = {"host": platform.node(), "pid": pid}
    return json.dumps({**owner, "case": case.to_json()}, indent=1) + "\n"


def _find(path: Path) -> dict[str, Any] | None:
    """Return a find, None where the file holds none."""
    try:
        found = json.loads(path.read_text())
    except (ValueError, OSError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("title"), str):
        return None
    answer, case = found.get("answer", {}), found.get("case", {})
    if not isinstance(answer, dict) or not isinstance(case, dict):
        return None
    operations = case.get("operations", [])
    right = isinstance(operations, list) and isinstance(answer.get("status", ""), str)
    return found if right else None


class Store:
    """Finds and progress in a folder that workers share.

    Files are written beside their place and moved there, so that a reader sees a
    whole file or none. A find has the name of its cause, so each is kept once.

    Args:
        folder: Made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: list[tuple[str, Mapping[str, Any], str | None]] = []
        (folder / "finds").mkdir(parents=True, exist_ok=True)
        (folder / "workers").mkdir(exist_ok=True)
        (folder / "failing").mkdir(exist_ok=True)
        (folder / "unconfirmed").mkdir(exist_ok=True)

    def known(self, cause: str) -> bool:
        """Return whether there is a readable find with this cause."""
        if any(waiting[0] == cause for waiting in self.waiting):
            return True
        return _find(self.folder / "finds" / f"{cause}.json") is not None

    def add(self, cause: str, find: Mapping[str, Any], test: str | None) -> None:
        """Keep a find, with its test file if it has one.

        A full disk loses nothing: the find waits for the next :meth:`flush`.
        """
        self.waiting.append((cause, find, test))
        self.flush()

    def add_unconfirmed(self, cause: str, record: Mapping[str, Any]) -> None:
        """Keep a failure that did not come again: a race, or an unsteady program."""
        with contextlib.suppress(OSError):
            text = json.dumps(record, indent=1) + "\n"
            self._write(self.folder / "unconfirmed" / f"{cause}.json", text)

    def flush(self) -> None:
        """Write what waits; on a full disk it goes on waiting."""
        still: list[tuple[str, Mapping[str, Any], str | None]] = []
        for cause, find, test in self.waiting:
            try:
                if test is not None:
                    self._write(self.folder / "finds" / f"test_{cause}.py", test)
                text = json.dumps(find, indent=1) + "\n"
                self._write(self.folder / "finds" / f"{cause}.json", text)
            except OSError:
                still.append((cause, find, test))
        self.waiting = still

    def finds(self) -> Iterator[dict[str, Any]]:
        """Yield the finds; a file that does not hold one is passed over."""
        for path in sorted((self.folder / "finds").glob("*.json")):
            found = _find(path)
            if found is not None:
                yield {"cause": path.stem, **found}

    def save_failing(self, case: Case, pid: int | None = None) -> None:
        """Keep a failing case until it is shrunk, in case its worker dies over it.

        Args:
            case: The case.
            pid: Process of its worker, default this one; 0 is none.
        """
        with contextlib.suppress(OSError):
            text = _owned(case, os.getpid() if pid is None else pid)
            self._write(self._failing(case), text)

    def failing(self) -> list[Case]:
        """Return the cases that are neither finds nor dismissed yet."""
        found = []
        for path in sorted((self.folder / "failing").iterdir()):
            with contextlib.suppress(
                OSError, ValueError, KeyError, TypeError, AttributeError
            ):
                found.append(from_json(json.loads(path.read_text())["case"]))
        return found

    def take_failing(self) -> Iterator[Case]:
        """Yield the cases that dead workers left behind, each to one caller only.

        Who takes one owns it until it is settled, and may die over it too. A file that
        is no case is put away.
        """
        folder = self.folder / "failing"
        for path in sorted((*folder.glob("*.json"), *folder.glob("*.taken"))):
            with contextlib.suppress(OSError):
                try:
                    owned = json.loads(path.read_text())
                    case = from_json(owned["case"])
                except (ValueError, KeyError, TypeError, AttributeError):
                    path.replace(path.with_suffix(".broken"))
                    continue
                if _is_abandoned(owned, path):
                    mine = self._failing(case, f".{os.getpid()}.taken")
                    self._write(mine, _owned(case, os.getpid()))
                    try:
                        if path != mine:
                            path.unlink()  # fails for all callers but one
                    except OSError:
                        mine.unlink(missing_ok=True)
                        continue
                    yield case

    def settle(self, case: Case) -> None:
        """Forget a failing case: it has become a find, or is none."""
        for end in (".json", f".{os.getpid()}.taken"):
            self._failing(case, end).unlink(missing_ok=True)

    def _failing(self, case: Case, end: str = ".json") -> Path:
        text = json.dumps(case.to_json(), sort_keys=True)
        name = sha256(text.encode()).hexdigest()[:16]
        return self.folder / "failing" / f"{name}{end}"

    def progress(self, worker: int) -> dict[str, Any]:
        """Return what a worker wrote last, {} if nothing readable is there."""
        path = self.folder / "workers" / f"{worker}.json"
        try:
            found = json.loads(path.read_text())
        except (ValueError, OSError):
            return {}
        return found if isinstance(found, dict) else {}

    def save_progress(self, worker: int, state: Mapping[str, Any]) -> None:
        """Keep what a worker has done; a full disk is no reason to stop."""
        self.flush()
        with contextlib.suppress(OSError):
            path = self.folder / "workers" / f"{worker}.json"
            self._write(path, json.dumps(state) + "\n")

    def _write(self, path: Path, text: str) -> None:
        handle, room = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            Path(room).replace(path)
        except OSError:
            Path(room).unlink(missing_ok=True)
            raise
