"""How does compiler.permute on the CPU compare with torch and numpy?

    PYTHONPATH=. python benchmarks/permute_cpu.py --out results.json

Named maps against torch's ``.contiguous()`` of the same permutation as strides; bit
reversal and random matrices against numpy's fancy indexing. Each result is checked,
then both are timed in turn, and the least times compared: machines are shared.
"""

import argparse
import json
import math
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from algebra import gauss
from compiler import permutations, permute
from compiler.permuting.index_map import IndexMap, table

DTYPES = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.int64}
TORCH_BAR = 1.0
NUMPY_BAR = 4.0
Action = Callable[[], object]


def main() -> int:
    """Measure everything; return 1 if a result was wrong or a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    parser.add_argument("--bits", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": options.commit or commit(),
        "machine": f"{processor()}, {torch.get_num_threads()} threads",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "bits": options.bits,
        "cases": 0,
        "failures": 0,
        "skipped": 0,
        "against_torch": [],
        "against_numpy": [],
    }
    for width, dtype in DTYPES.items():
        source = torch.from_numpy(
            np.random.default_rng(options.seed).integers(
                0, 256, width << options.bits, dtype=np.uint8
            )
        ).view(dtype)
        for name, shape, axes in named(options.bits):
            against_torch(report, source, name, shape, axes, options.rounds)
        for name, columns in dense(options.bits, options.seed):
            against_numpy(report, source, name, columns, options.rounds)
    for key, bar in (("against_torch", TORCH_BAR), ("against_numpy", NUMPY_BAR)):
        ratios = [row["times_faster"] for row in report[key]]
        report[f"{key}_geomean"] = geomean(ratios)
        report[f"{key}_smallest"] = min(ratios)
        report[f"{key}_wanted"] = bar
        print(f"{key}: geomean {geomean(ratios)}, smallest {min(ratios)}, wanted {bar}")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    met = (
        report["against_torch_geomean"] >= TORCH_BAR
        and report["against_numpy_smallest"] >= NUMPY_BAR
    )
    return 0 if met and not report["failures"] else 1


def named(bits: int) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Return the named maps that strides can express: shape and axes of permute."""
    side = bits // 2
    every = tuple([2] * bits)
    reverse = tuple(reversed(range(bits)))
    rows, columns = 1 << side, 1 << (bits - side)
    zipped = [axis for i in range(side) for axis in (i, side + i)]
    return [
        ("transpose", (rows, columns), (1, 0)),
        ("nchw to nhwc", (1 << (bits - 18), 64, 1 << 12), (0, 2, 1)),
        ("nhwc to nchw", (1 << (bits - 18), 1 << 12, 64), (0, 2, 1)),
        ("nc/32hw32", (1 << (bits - 17), 32, 64, 64), (0, 2, 3, 1)),
        ("pixel shuffle", (1 << (bits - 16), 4, 4, 64, 64), (0, 3, 1, 4, 2)),
        ("block scales", (1 << (bits - 19), 4, 32, 1 << 10, 4), (0, 3, 2, 1, 4)),
        ("bit reversal", every, reverse),
        ("morton", every, (*zipped, *range(2 * side, bits))),
    ]


def dense(bits: int, seed: int) -> list[tuple[str, tuple[int, ...]]]:
    """Return bit reversal and dense random matrices, as columns."""
    rng = random.Random(seed)
    result = [("bit reversal", tuple(1 << i for i in reversed(range(bits))))]
    for number in range(3):
        while True:
            columns = tuple(rng.getrandbits(bits) for _ in range(bits))
            if gauss.rank(columns) == bits:
                break
        result.append((f"random {number}", columns))
    return result


def against_torch(
    report: dict[str, Any],
    source: torch.Tensor,
    name: str,
    shape: Sequence[int],
    axes: Sequence[int],
    rounds: int,
) -> None:
    """Compare with a strided view made contiguous."""
    layout = permutations.permute_axes(shape, axes)
    view = source.view(*shape).permute(*axes)
    result = permute(source, layout)
    expected = view.contiguous().view(-1)
    right = torch.equal(result.view(torch.uint8), expected.view(torch.uint8))
    ours, theirs = in_turn(
        rounds, lambda: permute(source, layout), lambda: view.contiguous()
    )
    add(report, "against_torch", source, name, ours, theirs, right)


def against_numpy(
    report: dict[str, Any],
    source: torch.Tensor,
    name: str,
    columns: tuple[int, ...],
    rounds: int,
) -> None:
    """Compare with ``array[index]``, the index made beforehand."""
    back = IndexMap(columns).invert()
    gather = np.array(table(back.columns), dtype=np.int64)
    array = source.numpy()
    layout = permutations.from_columns(columns)
    result = permute(source, layout)
    right = bool((result.view(torch.uint8).numpy() == array[gather].view("u1")).all())
    ours, theirs = in_turn(
        max(rounds // 3, 3), lambda: permute(source, layout), lambda: array[gather]
    )
    add(report, "against_numpy", source, name, ours, theirs, right)


def add(
    report: dict[str, Any],
    key: str,
    source: torch.Tensor,
    name: str,
    ours: float,
    theirs: float,
    right: bool,
) -> None:
    """Add a row to the report."""
    report["cases"] += 1
    report["failures"] += not right
    row = {
        "map": name,
        "width": source.element_size(),
        "ours_ms": round(ours, 3),
        "theirs_ms": round(theirs, 3),
        "times_faster": round(theirs / ours, 3),
        "right": right,
    }
    report[key].append(row)
    print(key, row, flush=True)


def in_turn(rounds: int, *actions: Action) -> list[float]:
    """Return the least times of some actions, one after another [ms]."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, kept in zip(actions, times, strict=True):
            begin = time.perf_counter()
            action()
            kept.append((time.perf_counter() - begin) * 1e3)
    return [min(kept) for kept in times]


def geomean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return round(math.exp(statistics.fmean(map(math.log, values))), 3)


def processor() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def commit() -> str:
    """Return the commit of the checkout, with ``-dirty`` if it was changed."""
    root = Path(__file__).resolve().parent.parent
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
