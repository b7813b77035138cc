"""How far from orthogonal is a trained weight, by the periods K and M?

RMSprop in float32 with the copying task's rate on a weight that is pulled to random
targets, a new one each step; ``||Q^T Q - I||_F`` after some steps. K counts optimizer
steps between changes of the base (None: static), M changes between repairs of it.

    python benchmarks/drift_cpu.py [--size N] [--steps N] [--out FILE]
"""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch

from manifolds import orthogonal, rebase_after_steps
from manifolds.charts import O

PERIODS = ((1, 30), (1, None), (100, 30), (100, None), (None, 30))
REPORT = (10, 100, 1000, 4000)


def drift(size: int, steps: int, every: int | None, repair: int | None) -> Any:
    """Return steps -> defect for one pair of periods."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(size, size, bias=False)
    orthogonal(layer, every=every, project_every=repair, init="henaff", det=1)
    optimizer = torch.optim.RMSprop(layer.parameters(), lr=2e-5)
    rebase_after_steps(optimizer, layer)
    found = {}
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        (layer.weight * torch.randn(size, size)).sum().backward()
        optimizer.step()
        if step in REPORT or step == steps:
            weight = layer.weight.detach().double()
            found[str(step)] = float(O().defect(weight))
    return found


def main() -> None:
    """Measure all pairs of periods, print a table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=190)
    parser.add_argument("--steps", type=int, default=4000)
    out = ROOT / "benchmarks" / "results" / "drift_cpu.json"
    parser.add_argument("--out", type=Path, default=out)
    arguments = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    torch.set_num_threads(1)
    rows = []
    for every, repair in PERIODS:
        defects = drift(arguments.size, arguments.steps, every, repair)
        rows.append({"every": every, "project_every": repair, "defects": defects})
        print(f"K={every!s:5} M={repair!s:5}", defects)
    report = {
        "question": "||Q^T Q - I||_F in float32 by the periods K and M",
        "commit": commit.stdout.strip(),
        "cases": len(rows),
        "size": arguments.size,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "rows": rows,
    }
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
