"""``tilewright prove``: theorems of the catalogue, or one encoding."""

import fnmatch
import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from algebra.verdict import Proved, Refuted, Verdict
from proofs.theorem import Theorem

from .arguments import ENCODING_HELP, Json, Release, read_encoding, read_shape, seconds
from .failures import INTERRUPTED, WRONG, InputError, cannot, one_line
from .files import read_text

Record = dict[str, Any]
HEADINGS = (
    "theorem",
    "verdict",
    "scope",
    "method",
    "solvers agree",
    "certificate",
    "time",
)


def prove(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[THEOREM...] | ENCODING",
            help=f"Names of theorems (none: all); with --shape an encoding: "
            f"{ENCODING_HELP}",
        ),
    ] = None,
    shape: Annotated[
        str | None, typer.Option(help="Shape of the encoding: 64x64 or 64,64.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Theorems whose name has this in it, or *.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(parser=seconds, help="Limit of each solver call [s].")
    ] = 60.0,
    resume: Annotated[
        Path | None,
        typer.Option(help="Note what is proved in this file; skip what is there."),
    ] = None,
    release: Release = "3.9",
    as_json: Json = False,
) -> None:
    """Prove theorems, or that an encoding is its index formula, for all elements."""
    if shape is not None:
        theorems = [_encoding_theorem(subjects or [], shape, release)]
    else:
        theorems = _chosen(subjects or [], only)
    done = _noted(resume)
    records: list[Record] = []
    interrupted = False
    try:
        with nullcontext() if as_json else _progress(len(theorems)) as advance:
            for theorem in theorems:
                if advance is not None:
                    advance(theorem.name)
                record = done.get((theorem.name, theorem.statement))
                if record is None:
                    record = _checked(theorem, timeout)
                    _note(resume, record)
                records.append(record)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        typer.echo(json.dumps({"theorems": records, "interrupted": interrupted}))
    else:
        _print_table(records, len(theorems))
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(record["verdict"] != "proved" for record in records):
        raise typer.Exit(WRONG)


def _chosen(names: Sequence[str], only: str | None) -> list[Theorem]:
    """Return the theorems that are asked for, in the catalogue's order."""
    from proofs import catalogue

    theorems = list(catalogue())
    known = {theorem.name for theorem in theorems}
    if unknown := [name for name in names if name not in known]:
        close = _closest(unknown[0], known)
        raise InputError(
            f"needed the name of a theorem, got {unknown[0]!r}; {close}, or give "
            "--shape to prove an encoding"
        )
    if names:
        theorems = [theorem for theorem in theorems if theorem.name in names]
    if only is not None:
        pattern = only if "*" in only else f"*{only}*"
        theorems = [t for t in theorems if fnmatch.fnmatchcase(t.name, pattern)]
    if not theorems:
        raise InputError(
            f"needed at least one theorem, got none for --only {only!r}; "
            f"the catalogue has {len(known)}, tilewright prove --json lists them"
        )
    return theorems


def _closest(name: str, known: set[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f"the nearest is {near[0]!r}" if near else "see tilewright prove --json"


def _encoding_theorem(subjects: Sequence[str], shape: str, release: str) -> Theorem:
    """Return the statement that one encoding is its index formula."""
    if len(subjects) != 1:
        raise InputError(
            f"--shape needs one encoding, got {len(subjects)} arguments; "
            "quote the encoding"
        )
    encoding = read_encoding(subjects[0])
    sizes = read_shape(shape)
    encoding.to_linear_layout(sizes, release=release)

    def check(timeout: float) -> Verdict:
        from verify import prove_encoding

        verdict: Verdict = prove_encoding(
            encoding, sizes, release=release, timeout=timeout
        )
        return verdict

    return Theorem(
        name=f"{encoding.kind}_equals_its_index_formula",
        statement=f"{encoding!r} maps every position as the index formula does",
        scope=f"shape {'x'.join(map(str, sizes))}",
        method="z3",
        source=f"Triton {release}",
        check=check,
    )


def _checked(theorem: Theorem, timeout: float) -> Record:
    """Check one theorem and return its line of the listing."""
    started = time.perf_counter()
    verdict = theorem.prove(timeout)
    record: Record = {
        "name": theorem.name,
        "verdict": type(verdict).__name__.lower(),
        "method": theorem.method,
        "statement": theorem.statement,
        "scope": theorem.scope,
        "source": theorem.source,
        "seconds": round(time.perf_counter() - started, 3),
    }
    if isinstance(verdict, Proved):
        record["method"] = verdict.method or theorem.method
        record["facts"] = dict(verdict.facts)
    elif isinstance(verdict, Refuted):
        record["counterexample"] = one_line(str(verdict.counterexample))
    else:
        record["reason"] = one_line(verdict.reason)
    return record


def _noted(path: Path | None) -> dict[tuple[str, str], Record]:
    """Return the proved records of an earlier run, by name and statement."""
    if path is None or not path.exists():
        return {}
    records = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            record = json.loads(line)
            key = record["name"], record["statement"]
            if record["verdict"] == "proved":
                records.append((key, record))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"--resume needs a file that this command wrote, got line {number} of "
                f"{str(path)!r}: {line[:40]!r}; name a new file"
            ) from error
    return dict(records)


def _note(path: Path | None, record: Record) -> None:
    if path is None:
        return
    try:
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
    except OSError as error:
        raise cannot("write", path, error, "name another file") from error


def _progress(total: int) -> Any:
    """Return a progress bar on standard error, whose value advances it."""
    from .progress import progress

    return progress("proving", total)


def solver_times(record: Record) -> str:
    """Return the time that each solver took, as they agreed: ``z3 0.10 s = ...``."""
    facts = record.get("facts", {})
    found = [(name, facts.get(f"{name}_seconds")) for name in ("z3", "bitwuzla")]
    return " = ".join(f"{n} {spent:.2f} s" for n, spent in found if spent is not None)


def _print_table(records: list[Record], total: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading == "time" else "left")
    for record in records:
        style = "green" if record["verdict"] == "proved" else "bold red"
        table.add_row(
            record["name"],
            f"[{style}]{record['verdict']}[/]",
            escape(record["scope"]),
            escape(record["method"]),
            escape(solver_times(record)),
            escape(str(record.get("facts", {}).get("certificate", ""))),
            f"{record['seconds']:.2f} s",
        )
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    proved = 0
    for record in records:
        proved += record["verdict"] == "proved"
        for fact in ("counterexample", "reason"):
            if fact in record:
                console.print(f"{record['name']}: {fact}: {record[fact]}", markup=False)
    console.print(f"{proved} of {total} proved", highlight=False)
