"""``tilewright inspect``: what became of the graphs that were compiled."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from .arguments import Json
from .failures import WRONG, InputError, cannot

SUMMARY = "summary.json"


def inspect(
    folder: Annotated[
        Path, typer.Argument(help="A folder that TILEWRIGHT_TRACE named.")
    ],
    kernel: Annotated[
        str | None, typer.Option(help="Show the source of this kernel.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option(help="Only the graphs whose name has this text.")
    ] = None,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Say why what is fused and what is not.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show kernels, calls into PyTorch, times and verdicts of compiled graphs.

    Exit code 1 where a graph or a kernel was not compiled, or a verdict is Refuted.
    """
    found = [
        (path, facts)
        for path, facts in _graphs(folder)
        if graph is None or graph in path.name
    ]
    if not found:
        wanted = "" if graph is None else f" whose name has {graph!r}"
        raise InputError(
            f"{str(folder)!r} has no traced graph{wanted}; compile with "
            "TILEWRIGHT_TRACE set to it"
        )
    if kernel is not None:
        typer.echo(_source(found, kernel))
        return
    if as_json:
        typer.echo(json.dumps({path.name: facts for path, facts in found}))
    else:
        typer.echo("\n\n".join(_text(path, facts, reasons) for path, facts in found))
    if any(_faults(facts) for _, facts in found):
        raise typer.Exit(WRONG)


def _graphs(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the graphs below a folder (or the one that it is) and their facts."""
    if not folder.is_dir():
        raise InputError(f"a folder of traces was needed, got {str(folder)!r}")
    graphs = []
    for path in sorted([*folder.glob(SUMMARY), *folder.glob(f"**/*/{SUMMARY}")]):
        try:
            graphs.append((path.parent, dict(json.loads(path.read_text()))))
        except OSError as error:
            raise cannot("read", path, error, "check its rights") from error
        except ValueError as error:
            raise InputError(
                f"{str(path)!r} is no summary of a trace: {error}; compile again"
            ) from error
    return graphs


def _source(graphs: list[tuple[Path, dict[str, Any]]], kernel: str) -> str:
    for path, _ in graphs:
        for source in sorted((path / "kernels").glob(f"{kernel}.*")):
            return source.read_text()
    names = sorted(
        row["name"] for _, facts in graphs for row in facts.get("kernels", ())
    )
    raise InputError(
        f"a kernel of these graphs was needed, got {kernel!r}; there are "
        f"{', '.join(names[:20]) or 'none'}"
    )


def _faults(facts: dict[str, Any]) -> list[str]:
    """Return what was not compiled, and what is refuted."""
    faults = [f"not compiled: {facts['error']}"] if "error" in facts else []
    for row in facts.get("kernels", ()):
        if not row.get("compiled", True):
            faults.append(f"{row['name']} runs by PyTorch's operators")
        for name, verdict in row.get("verdicts", {}).items():
            if verdict.startswith("Refuted"):
                faults.append(f"{row['name']}: {name} is refuted")
    return faults


def _text(path: Path, facts: dict[str, Any], reasons: bool) -> str:
    kernels, calls = facts.get("kernels", []), facts.get("extern_calls", [])
    seconds = facts.get("seconds", {})
    took = ", ".join(f"{name} {value:.3f} s" for name, value in seconds.items())
    ours, theirs = _bytes(kernels), _bytes(calls)
    share = f", {100 * ours / (ours + theirs):.0f} % of the bytes" if ours else ""
    lines = [
        f"{path.name}: {len(kernels)} kernels{share}, {len(calls)} calls into PyTorch",
        f"  {took}",
        *(f"  {fault}" for fault in _faults(facts)),
    ]
    for row in kernels:
        where = row["origins"][0] if row["origins"] else ""
        lines.append(
            f"  {row['name']:32} {_size(row['bytes']):>9}  "
            f"{_verdict(row['verdicts'])}{where}"
        )
        if reasons:
            lines += [f"      {reason}" for reason in row["reasons"]]
    counts = Counter((call["target"], call["reason"]) for call in calls)
    for (target, reason), count in counts.most_common():
        lines.append(f"  {count:4} x {target}: {reason}")
    if reasons:
        lines += [f"  {note}" for note in facts.get("notes", ())]
    return "\n".join(lines)


def _bytes(rows: list[dict[str, Any]]) -> int:
    return sum(row["bytes"] or 0 for row in rows)


def _size(count: float | None) -> str:
    if count is None:
        return "?"
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def _verdict(verdicts: dict[str, str]) -> str:
    if not verdicts:
        return ""
    counts = Counter(verdict.partition(":")[0] for verdict in verdicts.values())
    return ", ".join(f"{n} {word}" for word, n in sorted(counts.items())) + "  "
