"""Draw the losses of ``copying_gpu.py``'s runs into one picture.

python benchmarks/copying_plot.py [--out docs/copying.png]
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# this folder has an algebra.py of its own
sys.path[0] = str(ROOT)

from matplotlib.figure import Figure

from manifolds.training.log import smooth

LENGTHS = (1000, 2000)
COLOURS = {"exprnn": "C0", "dtriv": "C1", "rnn": "C2", "lstm": "C3"}
NAMES = {"exprnn": "expRNN", "dtriv": "dtriv, K=100", "rnn": "tanh RNN", "lstm": "LSTM"}


def main() -> None:
    """Read the results and write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "copying.png")
    options = parser.parse_args()
    figure = Figure(figsize=(10, 4), layout="constrained")
    for place, length in enumerate(LENGTHS, 1):
        path = ROOT / "benchmarks" / "results" / f"copying_gpu_{length}.json"
        report: dict[str, Any] = json.loads(path.read_text())
        axes = figure.add_subplot(1, 2, place)
        named = set()
        for row in report["rows"]:
            model = row["model"]
            losses = smooth(row["losses"])
            label = None if model in named else NAMES[model]
            named.add(model)
            steps = range(1, len(losses) + 1)
            axes.plot(steps, losses, COLOURS[model], label=label, linewidth=1)
        baseline = report["rows"][0]["baseline"]
        axes.axhline(baseline, color="gray", linestyle="--", label="no memory")
        limit = report["threshold"] * baseline
        axes.axhline(limit, color="gray", linestyle=":", label="a tenth of it")
        axes.set_yscale("log")
        axes.set_title(f"copying over {length} steps, n = 190, batch 128")
        axes.set_xlabel("optimizer step")
        axes.set_ylabel("cross-entropy, mean of 20 steps")
        axes.legend()
    figure.savefig(options.out, dpi=100)


if __name__ == "__main__":
    main()
