"""The command ``python -m manifolds.train``.

    python -m manifolds.train copying --length 1000 --model dtriv --every 100

A folder for each run holds checkpoint, CSV and plot. The same command again goes on
where a run was stopped or killed. ``--compare`` draws earlier runs into the plot.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from algebra.errors import LayoutError
from manifolds.tasks.images import existing
from manifolds.training import MODELS, TASKS, Outcome, Schedule, Settings, log
from manifolds.training import train as run

Option = typer.Option

PLAIN: dict[str, Any] = {"highlight": False, "soft_wrap": True, "markup": False}
"""How text is printed that may hold brackets and long paths."""


def train(
    task: Annotated[str, typer.Argument(help=", ".join(TASKS))],
    model: Annotated[str, Option(help=", ".join(MODELS))] = "dtriv",
    length: Annotated[int, Option(help="of copying and adding")] = 1000,
    every: Annotated[int, Option(help="K: steps between changes of the base")] = 100,
    map: Annotated[str, Option(help="exp or cayley")] = "exp",
    hidden: Annotated[int | None, Option(help="n; else the paper's smallest")] = None,
    lr: Annotated[float | None, Option(help="else the paper's")] = None,
    manifold_lr: Annotated[float | None, Option(help="else lr / 10")] = None,
    batch: Annotated[int, Option(help="sequences of a step")] = 128,
    iterations: Annotated[int | None, Option(help="else the paper's")] = None,
    seed: Annotated[int, Option(help="of weights and data")] = 5544,
    device: Annotated[str, Option(help="cpu or cuda")] = "cpu",
    data_dir: Annotated[Path | None, Option(help="of MNIST, TIMIT, digits")] = None,
    out: Annotated[Path | None, Option(help="else runs/ and the run's title")] = None,
    until: Annotated[
        float | None, Option(help="stop below this part of the baseline")
    ] = None,
    save_every: Annotated[int, Option(help="steps between checkpoints")] = 100,
    compare: Annotated[
        list[Path] | None, Option(help="folders of runs to draw with this one")
    ] = None,
) -> None:
    """Train a recurrent network, or go on with a run that was stopped."""
    console = Console()
    try:
        settings = Settings(
            task=task,
            model=model,
            length=length,
            every=every,
            map=map,
            hidden=hidden,
            lr=lr,
            manifold_lr=manifold_lr,
            batch=batch,
            iterations=iterations,
            seed=seed,
            device=device,
            data_dir=data_dir,
        )
        folder = out or Path("runs") / settings.title
        for other in compare or ():
            existing(other / log.CSV)
        outcome = watched(settings, folder, Schedule(save_every, until=until), console)
        if compare:
            curves = {f.name: log.read(f / log.CSV) for f in [folder, *compare]}
            log.plot(curves, outcome.baseline, folder / log.PLOT)
    except LayoutError as error:
        console.print(str(error), style="red", **PLAIN)
        sys.exit(2)
    except OSError as error:
        text = f"{folder} cannot be written: {error}; free space, or choose --out"
        console.print(text, style="red", **PLAIN)
        sys.exit(2)
    except KeyboardInterrupt:
        text = f"stopped; the same command goes on from the last checkpoint in {folder}"
        console.print(text, **PLAIN)
        sys.exit(130)
    report(outcome, folder, console)


def watched(
    settings: Settings, folder: Path, schedule: Schedule, console: Console
) -> Outcome:
    """Train with a progress bar.

    Args:
        settings: Of the run.
        folder: Of the run.
        schedule: When to save and stop.
        console: Where the bar is drawn.

    Returns:
        The outcome.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("loss {task.fields[loss]}"),
    )
    with Progress(*columns, console=console) as bar:
        line = bar.add_task(settings.title, total=settings.steps, loss="-")

        def watch(row: log.Row) -> None:
            bar.update(line, completed=row.iteration, loss=f"{row.loss:.5f}")

        return run(settings, folder, schedule, watch)


def report(outcome: Outcome, folder: Path, console: Console) -> None:
    """Print how a run ended."""
    console.print(
        f"{outcome.iterations} steps in {outcome.seconds:.0f} s: loss "
        f"{outcome.loss:.5f}, {outcome.loss / outcome.baseline:.2f} of the baseline "
        f"{outcome.baseline:.5f}; ||Q^T Q - I|| = {outcome.defect:.1e}"
        + ("" if outcome.test is None else f"; test {outcome.test:.4f}"),
        soft_wrap=True,
        highlight=False,
    )
    console.print(f"{folder / log.CSV}, {folder / log.PLOT}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(train)
