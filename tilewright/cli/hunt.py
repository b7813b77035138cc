"""``tilewright hunt`` and ``tilewright reproduce``: campaigns and their test files."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from .arguments import Json
from .failures import WRONG, InputError


def hunt(
    subject: Annotated[
        str,
        typer.Option(
            help="eager, dynamo, aot_eager, inductor, tilewright or module:function."
        ),
    ] = "tilewright",
    minutes: Annotated[float, typer.Option(min=0.01, help="How long.")] = 1.0,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    folder: Annotated[
        Path,
        typer.Option(help="Where finds and progress go; an old one goes on."),
    ] = Path("hunt"),
    seed: Annotated[int, typer.Option(help="Of the first batch.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Limit for a program, in seconds.")
    ] = 60.0,
    families: Annotated[
        str, typer.Option(help="Kinds of operations, by commas; default all.")
    ] = "",
    operations: Annotated[
        int, typer.Option(min=1, help="At most so many statements a program.")
    ] = 8,
    dynamic: Annotated[
        bool, typer.Option("--dynamic", help="Compile sizes as symbols.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Draw programs, compare a compiler with eager PyTorch, keep what fails.

    Each distinct failure becomes a small pytest file in FOLDER/finds. Exit status 1
    if there is one.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from verify.campaign.hunt import Campaign, Tally
    from verify.campaign.hunt import hunt as run
    from verify.campaign.store import Store
    from verify.campaign.subjects import SUBJECTS
    from verify.strategies.programs import FAMILIES

    if subject not in SUBJECTS and ":" not in subject:
        raise InputError(
            f"subject must be one of {', '.join(SUBJECTS)}, or module:function for "
            f"another backend, got subject={subject!r}"
        )
    chosen = tuple(name for name in families.split(",") if name) or tuple(FAMILIES)
    wrong = [name for name in chosen if name not in FAMILIES]
    if wrong:
        raise InputError(
            f"families must be among {', '.join(FAMILIES)}, got {wrong[0]!r}"
        )
    campaign = Campaign(
        subject, folder, minutes, seed, device, timeout, operations, chosen, dynamic
    )
    console = Console(stderr=True)
    tallies: dict[int, Tally] = {}
    with Progress(
        TextColumn("hunting {task.fields[subject]}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=60 * minutes, subject=subject)

        def report(worker: int, tally: Tally) -> None:
            tallies[worker] = tally
            count = sum(one.programs for one in tallies.values())
            finds = sum(1 for _ in Store(folder).finds())
            bar.update(
                task,
                completed=min(60 * minutes, bar.tasks[0].elapsed or 0.0),
                description=f"{count} programs, {finds} finds",
            )

        try:
            done = run(campaign, workers, report)
        except KeyboardInterrupt:
            typer.echo(f"stopped; {folder} keeps what was found", err=True)
            raise
    found = list(Store(folder).finds())
    total = sum(tally.programs for tally in done)
    seconds = sum(tally.seconds for tally in done) / max(len(done), 1)
    pairs = {pair for tally in done for pair in tally.pairs}
    statuses: dict[str, int] = {}
    for tally in done:
        for name, count in tally.statuses.items():
            statuses[name] = statuses.get(name, 0) + count
    if as_json:
        facts = {
            "subject": subject,
            "programs": total,
            "programs_per_second": round(total / seconds, 3) if seconds else 0.0,
            "statuses": statuses,
            "operation_pairs": len(pairs),
            "finds": found,
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(
            f"{total} programs in {seconds:.0f} s, {len(pairs)} pairs of operations, "
            + ", ".join(f"{count} {name}" for name, count in sorted(statuses.items()))
        )
        for find in found:
            test = folder / "finds" / f"test_{find['cause']}.py"
            typer.echo(f"{find['title']}\n  at fault: {find['stage']}\n  {test}")
    return WRONG if found else 0


def reproduce(
    file: Annotated[Path, typer.Argument(help="A test file that hunt wrote.")],
    times: Annotated[int, typer.Option(min=1, help="Fresh processes.")] = 1,
    as_json: Json = False,
) -> int:
    """Run a test file in clean processes; exit status 1 if it fails, as it should.

    With --times 20 the answer says in how many of 20 processes it fails.
    """
    if not file.is_file():
        raise InputError(f"a test file was needed, got {str(file)!r}")
    failed = 0
    last = ""
    environment = {**os.environ, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
    for _ in range(times):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
                *("--rootdir", str(file.resolve().parent), "-c", os.devnull),
                str(file.resolve()),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=file.resolve().parent,
        )
        failed += done.returncode != 0
        last = done.stdout[-2000:]
    if as_json:
        typer.echo(json.dumps({"file": str(file), "runs": times, "failed": failed}))
    else:
        typer.echo(last.rstrip())
        typer.echo(f"fails in {failed} of {times} clean processes")
    return WRONG if failed else 0
