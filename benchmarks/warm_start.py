"""Start from the disk: what compiling costs a process whose model is in the cache.

    python benchmarks/warm_start.py --rounds 5 --out benchmarks/results/warm_start.json

A tiny BERT (two layers), in inference and in one step of training, by tilewright and by
Inductor with its caches of graphs (both of its own, at their defaults). The first
process of each starts with an empty cache (cold), the later ones find it full (warm);
compilers take turns, and each process compiles another small function first, so that
what it imports is not counted. Timed is the backend alone: from the call with Dynamo's
graph until it returns a function, which in training includes the backward half.
Tilewright's warm processes have an empty PATH: there is no g++.
Results are compared with eager mode's. Times are of the clock and of the processor (the
process and its children), both in seconds; the medians are of the warm processes.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

BACKENDS = ("tilewright", "inductor")
KINDS = ("inference", "training")


class Clock:
    """Adds up what calls take, by the clock and by the processor [s]."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def timing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            wall, cpu = time.perf_counter(), sum(os.times()[:4])
            result = function(*args, **kwargs)
            self.wall += time.perf_counter() - wall
            self.cpu += sum(os.times()[:4]) - cpu
            return result

        return call


def child(backend: str, kind: str) -> None:
    """Compile and run in this process; print the times as JSON."""
    import torch

    from benchmarks import model_zoo

    model_zoo.declare_vision_operators()
    case = model_zoo.CASES["bert"]
    model, batch = case.model(), case.inputs()
    clock = Clock()
    from torch._dynamo.backends.registry import lookup_backend

    plain: Callable[..., Any] = lookup_backend(backend)
    small: Any = torch.compile(_small, backend=backend)
    first = torch.randn(7).requires_grad_(kind == "training")
    if kind == "training":
        small(first).backward()
    else:
        small(first)
    torch.compiler.reset()
    compiled: Any = torch.compile(model, backend=clock.timing(plain))

    def loss(function: Any) -> Any:
        return sum(t.square().mean() for t in model_zoo.tensors_of(function(**batch)))

    if kind == "training":
        loss(compiled).backward()
        ours = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        loss(model).backward()
        theirs = [p.grad for p in model.parameters() if p.grad is not None]
    else:
        with torch.no_grad():
            ours = model_zoo.tensors_of(compiled(**batch))
            theirs = model_zoo.tensors_of(model(**batch))
    for mine, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-4, rtol=1e-4)
    print(json.dumps({"wall": clock.wall, "cpu": clock.cpu, **_found(backend)}))


def _small(x: Any) -> Any:
    return x.cos().sum()


def _found(backend: str) -> dict[str, int]:
    """Return how many graphs came from the disk, and how many did not."""
    if backend == "tilewright":
        from compiler.frontend.graph_cache import COUNTS

        return {
            "hits": COUNTS["found"],
            "misses": sum(COUNTS.values()) - COUNTS["found"],
        }
    from torch._dynamo.utils import counters

    found: dict[str, int] = {"hits": 0, "misses": 0}
    for group, prefix in (("inductor", "fxgraph"), ("aot_autograd", "autograd")):
        found["hits"] += counters[group][f"{prefix}_cache_hit"]
        found["misses"] += counters[group][f"{prefix}_cache_miss"]
    return found


def measure(backend: str, kind: str, cache: str, *, warm: bool) -> dict[str, Any]:
    """Return what one process reports."""
    environment = {
        **os.environ,
        "TILEWRIGHT_CACHE": f"{cache}/tilewright",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        "HF_HUB_OFFLINE": "1",
    }
    if warm and backend == "tilewright":
        environment.update(PATH=f"{cache}/nothing", CXX="")
    done = subprocess.run(
        [sys.executable, __file__, "--child", backend, kind],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{backend}, {kind}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def write(path: Path, rows: list[dict[str, Any]], rounds: int) -> None:
    """Write what is measured so far, and where."""
    import torch

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    facts = {
        "commit": commit.stdout.strip(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
        "rounds": rounds,
        "rows": rows,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n")


def main() -> None:
    """Measure, print a table, write the results."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--child", nargs=2, metavar=("BACKEND", "KIND"))
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    rows = []
    for kind in arguments.kinds:
        with tempfile.TemporaryDirectory() as cache:
            cold = {b: measure(b, kind, cache, warm=False) for b in BACKENDS}
            warm: dict[str, list[Any]] = {b: [] for b in BACKENDS}
            for _ in range(arguments.rounds):
                for backend in BACKENDS:
                    warm[backend].append(measure(backend, kind, cache, warm=True))
        for backend in BACKENDS:
            row: dict[str, Any] = {"backend": backend, "kind": kind}
            row["cold"], row["warm"] = cold[backend], warm[backend]
            for clock in ("wall", "cpu"):
                times = [one[clock] for one in warm[backend]]
                row[f"warm_{clock}_median"] = statistics.median(times)
                row[f"warm_{clock}_best"] = min(times)
            rows.append(row)
            print(
                f"{kind:10} {backend:10} cold {row['cold']['wall']:6.2f} s, warm "
                f"{row['warm_wall_median']:5.2f} s (processor "
                f"{row['warm_cpu_median']:5.2f} s)",
                flush=True,
            )
        if arguments.out:
            write(arguments.out, rows, arguments.rounds)


if __name__ == "__main__":
    main()
