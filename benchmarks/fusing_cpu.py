"""Speed of the fusing compiler on a CPU, against Inductor and eager mode.

Ours, Inductor and eager mode run the same function on the same inputs in turns. The
time that counts is the first decile of the calls, which a busy machine disturbs less;
medians and the least are in the table too. Compile times include the capture, start
from empty caches and come after one throw-away compile of each compiler.
"""

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_PROC_BIND", "true")
CACHES = Path(tempfile.mkdtemp(prefix="fusing-"))
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(CACHES / "inductor")
os.environ["TILEWRIGHT_CACHE"] = str(CACHES / "tilewright")

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from benchmarks.micro import CPU, ITEMS, Item, moved_bytes

BACKENDS = ("tilewright", "inductor")
RESET: Callable[[], None] = torch.compiler.reset
"""Forgets what was compiled in this process."""

SECONDS = 2.0
"""Time for the calls of one item, if ten rounds fit."""

RESULTS = Path(__file__).parent / "results" / "fusing_cpu.json"


def compiled(function: Any, backend: str, *args: Any, **kwargs: Any) -> Any:
    """Return a compiled function and the seconds of its first call."""
    RESET()
    ready: Callable[..., Any] = torch.compile(function, backend=backend)
    start = time.perf_counter()
    with torch.no_grad():
        ready(*args, **kwargs)
    return ready, time.perf_counter() - start


def alternate(
    calls: dict[str, Callable[[], Any]], rounds: int
) -> dict[str, list[float]]:
    """Return the time of each of many calls, sorted [s].

    The three take turns of three calls; the first of each turn finds another's data in
    the cache and is not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    limit = time.perf_counter() + SECONDS
    with torch.no_grad():
        for number in range(rounds):
            if time.perf_counter() > limit and number >= 10:
                break
            names = list(calls)
            for name in names if number % 2 else reversed(names):
                call = calls[name]
                call()
                for _ in range(2):
                    start = time.perf_counter()
                    call()
                    times[name].append(time.perf_counter() - start)
    return {name: sorted(found) for name, found in times.items()}


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Return all tensors of an output."""
    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "items"):
        value = [part for _, part in value.items()]
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in tensors_of(part)]
    return []


def difference(ours: Any, right: Any) -> float:
    """Return the largest difference, relative to the largest value."""
    worst = 0.0
    for a, b in zip(tensors_of(ours), tensors_of(right), strict=True):
        if a.dtype != b.dtype or a.shape != b.shape or a.stride() != b.stride():
            return math.inf
        apart = (a.double() - b.double()).abs().max().item()
        worst = max(worst, apart / max(b.double().abs().max().item(), 1e-30))
    return worst


def measure(
    name: str, function: Any, args: tuple[Any, ...], kwargs: Any, rounds: int
) -> dict[str, Any]:
    """Return times of one function by all three."""
    row: dict[str, Any] = {"name": name}
    calls: dict[str, Callable[[], Any]] = {}
    with torch.no_grad():
        right = function(*args, **kwargs)
    for backend in BACKENDS:
        ready, seconds = compiled(function, backend, *args, **kwargs)
        with torch.no_grad():
            row[f"{backend}_difference"] = difference(ready(*args, **kwargs), right)
        row[f"{backend}_compile_s"] = seconds
        calls[backend] = _bound(ready, args, kwargs)
    calls["eager"] = _bound(function, args, kwargs)
    for key, times in alternate(calls, rounds).items():
        row[f"{key}_us"] = times[len(times) // 10] * 1e6
        row[f"{key}_median_us"] = statistics.median(times) * 1e6
        row[f"{key}_least_us"] = times[0] * 1e6
    row["over_inductor"] = row["tilewright_us"] / row["inductor_us"]
    row["medians_over_inductor"] = (
        row["tilewright_median_us"] / row["inductor_median_us"]
    )
    row["least_over_inductor"] = row["tilewright_least_us"] / row["inductor_least_us"]
    row["over_eager"] = row["tilewright_us"] / row["eager_us"]
    row["bytes"] = moved_bytes(tensors_of(args), tensors_of(right))
    row["gb_per_s"] = row["bytes"] / row["tilewright_us"] / 1e3
    return row


def _bound(call: Any, args: tuple[Any, ...], kwargs: Any) -> Callable[[], Any]:
    return lambda: call(*args, **kwargs)


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    found = list(values)
    return math.exp(sum(map(math.log, found)) / len(found)) if found else math.nan


def throw_away() -> None:
    """Pay once for what the first compile of a process costs."""
    x = torch.randn(64, 64)
    for backend in BACKENDS:
        compiled(lambda x: (x + 1).sum(), backend, x)


def micro(names: list[str], rounds: int) -> list[dict[str, Any]]:
    """Return the rows of the micro suite."""
    rows = []
    for item in ITEMS:
        if names and item.name not in names:
            continue
        rows.append(_item(item, rounds))
    return rows


def _item(item: Item, rounds: int) -> dict[str, Any]:
    torch.manual_seed(0)
    row = measure(item.name, item.function, item.inputs(CPU), {}, rounds)
    show(row)
    return row


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    print(
        f"{row['name']:18s} ours {row['tilewright_us']:9.1f} us  inductor "
        f"{row['inductor_us']:9.1f}  eager {row['eager_us']:9.1f}  ratio "
        f"{row['over_inductor']:.3f}  compile {row['tilewright_compile_s']:.2f} "
        f"{row['inductor_compile_s']:.2f} s  error {row['tilewright_difference']:.1e} "
        f"{row['inductor_difference']:.1e}",
        flush=True,
    )


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the means of a group of rows."""
    return {
        "cases": len(rows),
        "time_over_inductor": geomean(r["over_inductor"] for r in rows),
        "medians_over_inductor": geomean(r["medians_over_inductor"] for r in rows),
        "least_over_inductor": geomean(r["least_over_inductor"] for r in rows),
        "time_over_eager": geomean(r["over_eager"] for r in rows),
        "inductor_over_eager": geomean(r["inductor_us"] / r["eager_us"] for r in rows),
        "compile_over_inductor": geomean(
            r["tilewright_compile_s"] / r["inductor_compile_s"] for r in rows
        ),
        "compile_s": sum(r["tilewright_compile_s"] for r in rows),
        "inductor_compile_s": sum(r["inductor_compile_s"] for r in rows),
    }


def machine() -> dict[str, Any]:
    """Return where and with what this runs."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    compiler = subprocess.run(
        ["g++", "--version"], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "compiler": compiler[0] if compiler else "none",
        "proc_bind": os.environ["OMP_PROC_BIND"],
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def commit() -> str:
    """Return the commit that was measured."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return done.stdout.strip() or "unknown"


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of items")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--suite", choices=["micro", "models", "all"], default="all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--commit", default=None)
    asked = parser.parse_args(arguments)
    if asked.threads is not None:
        torch.set_num_threads(asked.threads)
    found: dict[str, Any] = {
        "commit": asked.commit or commit(),
        "machine": machine(),
        "load": os.getloadavg(),
        "sizes": {"rows": CPU.rows, "columns": CPU.columns, "dtype": str(CPU.dtype)},
    }
    throw_away()
    if asked.suite in ("micro", "all"):
        found["micro"] = micro(asked.only, asked.rounds)
        asked.out.write_text(json.dumps(found, indent=1) + "\n")
        found["micro_summary"] = summary(found["micro"])
        print(found["micro_summary"])
    if asked.suite in ("models", "all"):
        from benchmarks.fusing_models import models

        def flush(rows: list[dict[str, Any]]) -> None:
            found["models"], found["models_summary"] = rows, summary(rows)
            asked.out.write_text(json.dumps(found, indent=1) + "\n")

        models(asked.only, asked.rounds, flush)
        print(found["models_summary"])
    if not asked.only:
        asked.out.write_text(json.dumps(found, indent=1) + "\n")
    shutil.rmtree(CACHES, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
