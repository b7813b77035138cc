"""The folder of a campaign: finds, progress, nothing lost when a worker dies."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Store:
    """Finds and progress in a folder that workers share.

    Files are written beside their place and moved there, so that a reader sees a
    whole file or none. A find has the name of its cause, so each is kept once.

    Args:
        folder: Made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "finds").mkdir(parents=True, exist_ok=True)
        (folder / "workers").mkdir(exist_ok=True)

    def known(self, cause: str) -> bool:
        """Return whether there is a find with this cause."""
        return (self.folder / "finds" / f"{cause}.json").exists()

    def add(self, cause: str, find: Mapping[str, Any], test: str | None) -> None:
        """Keep a find, with its test file if it has one."""
        if test is not None:
            self._write(self.folder / "finds" / f"test_{cause}.py", test)
        text = json.dumps(find, indent=1) + "\n"
        self._write(self.folder / "finds" / f"{cause}.json", text)

    def finds(self) -> Iterator[dict[str, Any]]:
        """Yield the finds; a file that is no JSON is passed over."""
        for path in sorted((self.folder / "finds").glob("*.json")):
            with contextlib.suppress(ValueError, OSError):
                yield {"cause": path.stem, **json.loads(path.read_text())}

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
