"""How fast is a training step of the copying task on the CPU, next to plain torch?

    python benchmarks/exprnn_cpu.py [--rounds N] [--length L] [--out FILE]

n = 190, batch 128, float32, two threads. Ours is the step that ``manifolds.train``
takes. The baselines: a cell that reads the weight of torch's own parametrization
``orthogonal`` at each step, inside ``parametrize.cached()``; the same with the
projections moved out of the loop and the weight computed once; and torch.compile of
that. All take the same task's data, in turn; times are medians, and so is the ratio of
neighbours.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_PROC_BIND", "true")
ROOT = Path(__file__).resolve().parent.parent
# this folder has an algebra.py of its own
sys.path[0] = str(ROOT)

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal

from benchmarks.manifolds_baselines import BATCH, CLASSES, SIZE, Hoisted, training_data
from manifolds.tasks import Copying
from manifolds.training import Settings
from manifolds.training.network import Network, make_optimizers

BAR = 2.0


class Ours:
    """The step of ``manifolds.train``."""

    def __init__(self, length: int, data: tuple[Tensor, Tensor]) -> None:
        """Make the network and its optimizer."""
        settings = Settings("copying", "exprnn", length=length)
        self.network = Network(settings, Copying(length))
        (self.optimizer,) = make_optimizers(settings, self.network)
        self.inputs, self.targets = data

    def step(self) -> None:
        """Take an optimizer step."""
        self.optimizer.zero_grad()
        logits = self.network(self.inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), self.targets.flatten())
        loss.backward()
        self.optimizer.step()


class Cached(nn.Module):
    """A cell with torch's own parametrization, in a loop that is cached."""

    def __init__(self, data: tuple[Tensor, Tensor]) -> None:
        """Make the layers."""
        super().__init__()
        inputs, self.targets = data
        self.inputs = nn.functional.one_hot(inputs, CLASSES).float()
        self.kernel = nn.Linear(CLASSES, SIZE, bias=False)
        self.recurrent = nn.Linear(SIZE, SIZE, bias=False)
        orthogonal(self.recurrent, orthogonal_map="matrix_exp")
        self.bias = nn.Parameter(torch.zeros(SIZE).uniform_(-0.01, 0.01))
        self.head = nn.Linear(SIZE, CLASSES - 1)
        self.optimizer = torch.optim.RMSprop(self.parameters(), lr=2e-4)

    def step(self) -> None:
        """Take an optimizer step."""
        self.optimizer.zero_grad()
        h = torch.zeros(BATCH, SIZE)
        outputs = []
        with parametrize.cached():
            for x in self.inputs.unbind():
                z = self.kernel(x) + self.recurrent(h)
                h = z.sign() * torch.relu(z.abs() + self.bias)
                outputs.append(self.head(h))
        logits = torch.stack(outputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), self.targets.flatten())
        loss.backward()
        self.optimizer.step()


class Compiled(Hoisted):
    """The hoisted step, its loss compiled."""

    def __init__(self, data: tuple[Tensor, Tensor]) -> None:
        """Compile."""
        super().__init__(data, "cpu")
        begin = time.perf_counter()
        self.compiled = torch.compile(lambda: self.loss(self.weight()))
        self.step()
        self.compile_seconds = time.perf_counter() - begin

    def step(self) -> None:
        """Take an optimizer step."""
        self.optimizer.zero_grad()
        self.compiled().backward()
        self.optimizer.step()


def main() -> int:
    """Measure, print, write the JSON; return 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--no-compile", action="store_true")
    out = ROOT / "benchmarks" / "results" / "exprnn_cpu.json"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    data = training_data(options.length, "cpu")
    ours = Ours(options.length, data)
    subjects: dict[str, Callable[[], None]] = {
        "ours": ours.step,
        "cached": Cached(data).step,
        "hoisted": Hoisted(data, "cpu").step,
    }
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "threads": torch.get_num_threads(),
        "length": options.length,
        "n": SIZE,
        "batch": BATCH,
        "rounds": options.rounds,
    }
    if not options.no_compile:
        compiled = Compiled(data)
        report["compile_seconds"] = compiled.compile_seconds
        subjects["torch_compile"] = compiled.step
    times = alternate(subjects, options.rounds)
    report["cases"] = len(subjects)
    report["ms"] = {name: statistics.median(values) for name, values in times.items()}
    report["best_ms"] = {name: min(values) for name, values in times.items()}
    rivals = [name for name in subjects if name != "ours"]
    fastest = min(rivals, key=lambda name: report["ms"][name])
    pairs = zip(times[fastest], times["ours"], strict=True)
    report["fastest_baseline"] = fastest
    report["ratio"] = report["ms"][fastest] / report["ms"]["ours"]
    report["median_of_ratios"] = statistics.median(x / y for x, y in pairs)
    for name, median in report["ms"].items():
        print(f"{name:14} {median:8.1f} ms (best {report['best_ms'][name]:.1f})")
    print(f"ratio to {fastest}: {report['ratio']:.2f}, bar {BAR}")
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    return int(report["ratio"] < BAR)


def alternate(
    subjects: dict[str, Callable[[], None]], rounds: int
) -> dict[str, list[float]]:
    """Return the times of each [ms], all in turn after a first step."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for step in subjects.values():
        step()
    for _ in range(rounds):
        for name, step in subjects.items():
            begin = time.perf_counter()
            step()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return times


if __name__ == "__main__":
    sys.exit(main())
