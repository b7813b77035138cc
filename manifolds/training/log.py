"""The CSV of a run, one line a step, and the plot of its losses."""

import csv
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

CSV = "losses.csv"
PLOT = "losses.png"


@dataclass(frozen=True, slots=True)
class Row:
    """One step.

    Args:
        iteration: From 1.
        loss: Before the step.
        accuracy: In [0, 1], or not a number.
        defect: Of the recurrent weight after the step; not a number between checks.
        seconds: Of training so far [s].
    """

    iteration: int
    loss: float
    accuracy: float
    defect: float
    seconds: float


COLUMNS = [field.name for field in fields(Row)]


def read(path: Path, until: int | None = None) -> list[Row]:
    """Read a CSV; a line that a kill cut short is left out, and all after it.

    Args:
        path: Of the CSV; need not be there.
        until: The last iteration wanted.

    Returns:
        Its rows.
    """
    rows: list[Row] = []
    if not path.is_file():
        return rows
    with path.open(newline="") as file:
        lines = csv.reader(file)
        next(lines, None)
        for line in lines:
            if len(line) != len(COLUMNS):
                break
            row = Row(int(line[0]), *map(float, line[1:]))
            if until is not None and row.iteration > until:
                break
            rows.append(row)
    return rows


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a whole CSV with its heading."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(astuple(row) for row in rows)


def append(path: Path, row: Row) -> None:
    """Add one line."""
    with path.open("a", newline="") as file:
        csv.writer(file).writerow(astuple(row))


def smooth(losses: Sequence[float], width: int = 20) -> list[float]:
    """Return running means over the last steps.

    Args:
        losses: One for each step.
        width: Steps of a mean.

    Example:
        >>> smooth([1.0, 2.0, 3.0], width=2)
        [1.0, 1.5, 2.5]
    """
    means = []
    total = 0.0
    for i, loss in enumerate(losses):
        total += loss - (losses[i - width] if i >= width else 0.0)
        means.append(total / min(i + 1, width))
    return means


def plot(curves: dict[str, list[Row]], baseline: float, path: Path) -> None:
    """Draw the losses of one run, or of several in one picture.

    Args:
        curves: Legend -> rows.
        baseline: A dashed line.
        path: Of the picture; its ending is the format.
    """
    from matplotlib.figure import Figure  # slow to load, and only needed at the end

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for title, rows in curves.items():
        steps = [row.iteration for row in rows]
        axes.plot(steps, smooth([row.loss for row in rows]), label=title, linewidth=1)
    axes.axhline(baseline, color="gray", linestyle="--", label="no memory")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss, mean of 20 steps")
    axes.legend()
    figure.savefig(path, dpi=120)
