"""``tilewright hunt`` and ``tilewright reproduce``: campaigns and their test files."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from .arguments import Json
from .failures import WRONG, InputError


def hunt(
    subject: Annotated[
        str,
        typer.Option(
            help="eager, dynamo, aot_eager, inductor, tilewright or module:function; "
            "or a library: tensor_layouts, pycute, torch_pycute, cute_dsl, "
            "triton_layouts, triton_interpreter, triton_compiler."
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
    path: Annotated[
        str,
        typer.Option(
            help="Folder put first on the module path of a library's process."
        ),
    ] = "",
    programs: Annotated[
        str,
        typer.Option(
            help="tensors (operators), or capture (Python with side effects)."
        ),
    ] = "tensors",
    engine: Annotated[
        str,
        typer.Option(help="processes (of this machine), or dask (a cluster)."),
    ] = "processes",
    address: Annotated[
        str,
        typer.Option(help="Of a Dask scheduler; empty starts a cluster here."),
    ] = "",
    as_json: Json = False,
) -> int:
    """Draw programs, compare a compiler with eager PyTorch, keep what fails.

    Each distinct failure becomes a small pytest file in FOLDER/finds. Exit status 1
    if there is one of the subject's own; what PyTorch's capture or differentiation
    shows without the subject, in the same way, is listed but is none.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from verify.campaign.cluster import EngineError, hunt_with_dask
    from verify.campaign.hunt import KINDS, Campaign, Tally
    from verify.campaign.hunt import hunt as run
    from verify.campaign.store import Store
    from verify.campaign.subjects import SUBJECTS
    from verify.libraries.catalogue import LIBRARIES
    from verify.strategies.programs import FAMILIES

    if subject in LIBRARIES:
        return _hunt_library(subject, folder, minutes, seed, path, workers, as_json)
    if subject not in SUBJECTS and ":" not in subject:
        raise InputError(
            f"subject must be one of {', '.join((*SUBJECTS, *LIBRARIES))}, or "
            f"module:function for another backend, got subject={subject!r}"
        )
    chosen = tuple(name for name in families.split(",") if name) or tuple(FAMILIES)
    wrong = [name for name in chosen if name not in FAMILIES]
    if wrong:
        raise InputError(
            f"families must be among {', '.join(FAMILIES)}, got {wrong[0]!r}"
        )
    if engine not in ("processes", "dask"):
        raise InputError(f"engine must be processes or dask, got engine={engine!r}")
    if programs not in KINDS:
        raise InputError(
            f"programs must be one of {', '.join(KINDS)}, got programs={programs!r}"
        )
    campaign = Campaign(
        subject,
        folder,
        minutes,
        seed,
        device,
        timeout,
        operations,
        chosen,
        dynamic,
        programs=programs,
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
            if engine == "dask":
                done = hunt_with_dask(campaign, workers, address or None, report)
            else:
                done = run(campaign, workers, report)
        except EngineError as error:
            raise InputError(str(error)) from error
        except KeyboardInterrupt:
            typer.echo(f"stopped; {folder} keeps what was found", err=True)
            raise
    store = Store(folder)
    found, waiting = list(store.finds()), len(store.failing())
    total = sum(tally.programs for tally in done)
    seconds = sum(tally.seconds for tally in done) / max(len(done), 1)
    pairs = {pair for tally in done for pair in tally.pairs}
    statuses: dict[str, int] = {}
    for tally in done:
        for name, count in tally.statuses.items():
            statuses[name] = statuses.get(name, 0) + count
    if total and statuses.get("broken") == total:
        raise InputError(
            f"no program ran: {subject!r} could not be imported, or its process broke"
        )
    if as_json:
        facts = {
            "subject": subject,
            "programs": total,
            "programs_per_second": round(total / seconds, 3) if seconds else 0.0,
            "statuses": statuses,
            "operation_pairs": len(pairs),
            "median_statements": _median_statements(found),
            "waiting": waiting,
            "finds": found,
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(
            f"{total} programs in {seconds:.0f} s, {len(pairs)} pairs of operations, "
            + ", ".join(f"{count} {name}" for name, count in sorted(statuses.items()))
        )
        if found:
            size = _median_statements(found)
            typer.echo(f"{len(found)} finds, of {size:g} statements in the median")
        for find in found:
            test = folder / "finds" / f"test_{find['cause']}.py"
            typer.echo(
                f"{find['title']}\n  at fault: {find.get('stage', '')}\n  {test}"
            )
        if waiting:  # their workers were killed
            typer.echo(
                f"{waiting} failing, not made small yet: the same command goes on"
            )
    own = [find for find in found if find.get("own", True)]
    return WRONG if own else 0


def _median_statements(finds: Sequence[Mapping[str, Any]]) -> float:
    """Return the median number of statements of reduced programs, 0 of none."""
    cases = [find.get("case", {}) for find in finds]
    sizes = [len(case["operations"]) for case in cases if "operations" in case]
    return float(median(sizes)) if sizes else 0.0


def _hunt_library(
    subject: str,
    folder: Path,
    minutes: float,
    seed: int,
    path: str,
    workers: int,
    as_json: bool,
) -> int:
    """Call a library's functions with drawn arguments, keep what contradicts them."""
    from verify.campaign.store import Store
    from verify.libraries.campaign import LibraryCampaign, UnavailableError
    from verify.libraries.campaign import hunt as run

    campaign = LibraryCampaign(subject, folder, minutes, seed, path)
    try:
        done = run(campaign, workers)
    except UnavailableError as error:
        raise InputError(str(error)) from error
    found = list(Store(folder).finds())
    compared = sum(tally.compared for tally in done)
    seconds = sum(tally.seconds for tally in done) / max(len(done), 1)
    rate = compared / seconds if seconds else 0.0
    statuses: dict[str, int] = {}
    for tally in done:
        for name, count in tally.statuses.items():
            statuses[name] = statuses.get(name, 0) + count
    if as_json:
        facts = {
            "subject": subject,
            "compared": compared,
            "compared_per_second": round(rate, 1),
            "statuses": statuses,
            "finds": found,
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(
            f"{compared} comparisons, {rate:.0f} a second, "
            + ", ".join(f"{count} {name}" for name, count in sorted(statuses.items()))
        )
        for find in found:
            test = folder / "finds" / f"test_{find['cause']}.py"
            typer.echo(f"{find['title']}\n  {test}")
    return WRONG if found else 0


def reproduce(
    file: Annotated[Path, typer.Argument(help="A test file that hunt wrote.")],
    times: Annotated[int, typer.Option(min=1, help="Fresh processes.")] = 1,
    path: Annotated[
        str, typer.Option(help="Folder put first on the module path of the processes.")
    ] = "",
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
    if path:
        before = environment.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join(p for p in (path, before) if p)
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
