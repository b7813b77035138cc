"""The folder that shows what became of one graph.

``graph.py`` is the captured graph, ``program.txt`` its lowering, ``schedule.txt`` the
kernels with the reasons for what is fused and what is not, ``wrapper.py`` the function
that runs, ``kernels/`` the generated sources, and ``summary.json`` the counts, times,
extern calls and certificates.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUMMARY = "summary.json"


@dataclass
class Trace:
    """Collects times and, if a folder is wanted, writes what it is given.

    Attributes:
        folder: Where it writes; None: nowhere.
        seconds: Step -> what it took [s].
        facts: What else the summary says.
    """

    folder: Path | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def begin(cls, root: str | None, name: str) -> "Trace":
        """Return a trace with a new folder ``NAME-...`` below the root.

        A folder that cannot be made leaves the compilation alone: nothing is written,
        and the reason stands in ``facts``.
        """
        if root is None:
            return cls()
        try:
            base = Path(root)
            base.mkdir(parents=True, exist_ok=True)
            number = sum(1 for entry in base.iterdir() if entry.is_dir())
            made = tempfile.mkdtemp(prefix=f"{number:03d}-{name}-", dir=base)
            os.chmod(made, 0o755)
            return cls(Path(made), facts={"graph": name})
        except OSError as error:
            return cls(facts={"graph": name, "trace": f"not written: {error}"})

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what is inside."""
        started = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + passed

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder; a full disk only ends the trace."""
        if self.folder is None:
            return
        try:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            self.facts["trace"] = f"not complete: {error}"
            self.folder = None

    def end(self) -> None:
        """Write the summary."""
        seconds = {name: round(took, 6) for name, took in self.seconds.items()}
        summary = {**self.facts, "seconds": seconds}
        self.write(SUMMARY, json.dumps(summary, indent=1) + "\n")
