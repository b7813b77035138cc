"""``tilewright prove``: theorems of the catalogue, or one encoding."""

import fnmatch
import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algebra.verdict import Proved, Refuted, Unknown, Verdict

from .arguments import ENCODING_HELP, Json, Release, read_encoding, read_shape, seconds
from .failures import INTERRUPTED, WRONG, InputError, one_line
from .notes import note, noted
from .theorem_table import print_table

if TYPE_CHECKING:
    from proofs.theorem import Theorem

Record = dict[str, Any]


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
    listed: Annotated[
        bool, typer.Option("--list", help="Show the names only; check nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prove theorems, or that an encoding is its index formula, for all elements."""
    if shape is not None:
        theorems = [_encoding_theorem(subjects or [], shape, release)]
    else:
        theorems = _chosen(subjects or [], only)
    if listed:
        _print_names(theorems, as_json)
        return
    done = noted(resume)
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
                    note(resume, record)
                records.append(record)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        typer.echo(json.dumps({"theorems": records, "interrupted": interrupted}))
    else:
        print_table(records, len(theorems))
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(record["verdict"] != "proved" for record in records):
        raise typer.Exit(WRONG)


def _chosen(names: Sequence[str], only: str | None) -> "list[Theorem]":
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
            f"the catalogue has {len(known)}, tilewright prove --list shows them"
        )
    return theorems


def _closest(name: str, known: set[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f"the nearest is {near[0]!r}" if near else "see tilewright prove --list"


def _encoding_theorem(subjects: Sequence[str], shape: str, release: str) -> "Theorem":
    """Return the statement that one encoding is its index formula."""
    if len(subjects) != 1:
        raise InputError(
            f"--shape needs one encoding, got {len(subjects)} arguments; "
            "quote the encoding"
        )
    from proofs.theorem import Theorem

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


def _checked(theorem: "Theorem", timeout: float) -> Record:
    """Check one theorem and return its line of the listing.

    A check that breaks proves nothing, and does not keep the others from running.
    """
    started = time.perf_counter()
    try:
        verdict = theorem.prove(timeout)
    except Exception as error:
        verdict = Unknown(f"the check broke: {type(error).__name__}: {error}")
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


def _progress(total: int) -> Any:
    """Return a progress bar on standard error, whose value advances it."""
    from .progress import progress

    return progress("proving", total)


def _print_names(theorems: "Sequence[Theorem]", as_json: bool) -> None:
    if as_json:
        names = [{"name": t.name, "statement": t.statement} for t in theorems]
        typer.echo(json.dumps({"theorems": names}))
    else:
        typer.echo("\n".join(theorem.name for theorem in theorems))
