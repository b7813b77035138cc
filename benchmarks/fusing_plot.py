"""Draw the GPU results of the fusing compiler: time over a copy of the same bytes."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from matplotlib.figure import Figure

RESULTS = Path(__file__).parent / "results" / "fusing_gpu.json"
PICTURE = Path(__file__).parent.parent / "docs" / "fusing_gpu.svg"
LIMIT = 2.5
"""Longer bars are cut, with their value written at the end."""


def drawn(found: dict[str, Any]) -> Figure:
    """Return the picture of a result file."""
    rows = [row for row in found["micro"] if "over_roofline" in row][::-1]
    figure = Figure(figsize=(7, 6.5), layout="constrained")
    axes = figure.add_subplot()
    for shift, key, label, colour in (
        (0.2, "over_roofline", "tilewright", "#1b6ca8"),
        (-0.2, "inductor_over_roofline", "Inductor", "#c9c9c9"),
    ):
        values = [row[key] for row in rows]
        places = [number + shift for number in range(len(rows))]
        shown = [min(value, LIMIT) for value in values]
        axes.barh(places, shown, 0.38, label=label, color=colour)
        for place, value in zip(places, values, strict=True):
            if value > LIMIT:
                text = f"{value:.2f}"
                axes.text(LIMIT - 0.02, place, text, va="center", ha="right", size=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows], size=8)
    axes.set_xlim(0, LIMIT)
    axes.set_xlabel("time / time of a copy of the same bytes (less is faster)")
    summary = found["summary"]
    axes.set_title(
        f"{found['machine']['gpu']}, torch {found['machine']['torch']}: geometric mean "
        f"{summary['time_over_roofline']:.2f}, Inductor "
        f"{summary['inductor_over_roofline']:.2f}",
        size=9,
    )
    axes.legend(loc="lower right", fontsize=8)
    return figure


def main() -> int:
    """Write the picture."""
    drawn(json.loads(RESULTS.read_text())).savefig(PICTURE, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
