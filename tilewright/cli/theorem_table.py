"""The table that ``tilewright prove`` prints."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
WIDE = 140
"""Columns of a terminal in which the details have room."""

DETAILS = ("scope", "solvers agree", "certificate")
HEADINGS = (
    "theorem",
    "verdict",
    "scope",
    "method",
    "solvers agree",
    "certificate",
    "time",
)


def solver_times(record: Record) -> str:
    """Return the time that each solver took, as they agreed: ``z3 0.10 s = ...``."""
    facts = record.get("facts", {})
    found = [(name, facts.get(f"{name}_seconds")) for name in ("z3", "bitwuzla")]
    return " = ".join(f"{n} {spent:.2f} s" for n, spent in found if spent is not None)


def certificate(record: Record) -> tuple[str, str]:
    """Return what was found of a certificate, and why there is none: either is empty.

    Example:
        >>> certificate({"facts": {"certificate": "none: cadical is missing"}})
        ('none', 'cadical is missing')
    """
    facts = record.get("facts", {})
    found = "remembered" if facts.get("remembered") else facts.get("certificate", "")
    if not found.startswith("none: "):
        return found, ""
    return "none", found.removeprefix("none: ")


def print_table(records: Sequence[Record], total: int) -> None:
    """Print a line a theorem, without the columns in which nothing stands.

    A narrow terminal shows no details; ``--json`` has all of them.
    """
    # rich is loaded when there is something to print
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = []
    for record in records:
        solvers = solver_times(record)
        rows.append(
            (
                record["name"],
                record["verdict"],
                record["scope"],
                record["method"],
                solvers if "=" in solvers else "",
                certificate(record)[0],
                f"{record['seconds']:.2f} s",
            )
        )
    console = Console(width=None if sys.stdout.isatty() else 200)
    narrow = console.width < WIDE
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [
        i
        for i, heading in enumerate(HEADINGS)
        if any(row[i] for row in rows) and not (narrow and heading in DETAILS)
    ]
    for i in shown:
        right = HEADINGS[i] == "time"
        table.add_column(
            HEADINGS[i], justify="right" if right else "left", overflow="fold"
        )
    for row in rows:
        style = "green" if row[1] == "proved" else "bold red"
        cells = [escape(cell) for cell in row]
        cells[1] = f"[{style}]{row[1]}[/]"
        table.add_row(*(cells[i] for i in shown))
    console.print(table)
    proved = 0
    for record in records:
        proved += record["verdict"] == "proved"
        notes = {fact: record.get(fact, "") for fact in ("counterexample", "reason")}
        notes["no certificate"] = certificate(record)[1]
        for what, note in notes.items():
            if note:
                said = f"{record['name']}: {what}: {note}"
                console.print(said, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{proved} of {total} proved", highlight=False)
