"""How many encodings are proved equal to their index formula in a second, on one core?

    python benchmarks/proofs.py [--cases N] [--seed S]

Random encodings of the six modelled kinds. The time counts everything after the
encoding's dictionary: parsing it, its linear layout, both formulas as terms, and the
solver. It is processor time of this process, so that other work on the machine does
not count; the wall time is recorded beside it. Writes benchmarks/results/proofs.json;
exits 1 if a proof fails or the rate is below the bar.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from algebra.encodings import from_dict
from algebra.verdict import Proved
from verify.equivalence import prove_encoding
from verify.oracle import Case, random_cases

BAR = 400
RESULTS = ROOT / "benchmarks" / "results" / "proofs.json"
ALLOWED = ("blocked", "nvidia_mma", "slice", "dot_operand", "swizzled_shared")


def modelled(case: Case) -> str | None:
    """Return the name of the modelled kind, or ``None`` for the AMD ones."""
    if "amd" in case.kind:
        return None
    first = case.kind.split(" of ")[0]
    if first == "nvidia_mma":
        return f"mma v{case.encoding['version'][0]}"
    return first.replace("_", " ")


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def main() -> int:
    """Prove, print the table, write the file, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release", default="3.9")
    parser.add_argument("--solver", default="z3")
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    cases = [
        (name, case)
        for case in random_cases(options.seed, 2 * options.cases, ALLOWED)
        if (name := modelled(case))
    ][: options.cases]
    spent: dict[str, list[float]] = {}
    largest = 0
    failures: list[str] = []
    prove(cases[0][1], options)
    wall = time.perf_counter()
    for name, case in cases:
        start = time.process_time()
        verdict, positions = prove(case, options)
        spent.setdefault(name, []).append(time.process_time() - start)
        largest = max(largest, positions)
        if not isinstance(verdict, Proved):
            failures.append(f"{case}: {verdict}")
    wall = time.perf_counter() - wall
    everything = [seconds for part in spent.values() for seconds in part]
    rate = len(everything) / sum(everything)
    print(
        f"{'kind':18s} {'proofs':>7s} {'a second':>9s} {'median':>8s} {'max':>8s}  ms"
    )
    rows: dict[str, Any] = {}
    for name, part in sorted(spent.items()):
        rows[name] = row(part)
        print_row(name, rows[name])
    total = row(everything)
    print_row("all", total)
    print(f"largest: {largest:,} hardware positions in one proof")
    for failure in failures[:5]:
        print("NOT PROVED", failure)
    if not options.no_write:
        record = {
            "command": f"python benchmarks/proofs.py --cases {options.cases}"
            f" --seed {options.seed}",
            "proofs_a_second_on_one_core": round(rate),
            "bar": BAR,
            "wall_seconds": round(wall, 2),
            "failures": len(failures),
            "largest_positions": largest,
            "release": options.release,
            "total": total,
            "kinds": rows,
            "machine": platform.machine(),
            "processor": processor(),
            "python": platform.python_version(),
            "solvers": {name: version(name) for name in ("z3-solver", "bitwuzla")},
        }
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if failures or rate < BAR else 0


def prove(case: Case, options: argparse.Namespace) -> tuple[Any, int]:
    """Return the verdict and the number of positions of one case."""
    encoding = from_dict(case.encoding)
    layout = encoding.to_linear_layout(case.shape, options.release)
    verdict = prove_encoding(
        encoding,
        case.shape,
        release=options.release,
        solver=options.solver,
        layout=layout,
    )
    return verdict, 1 << len(layout.columns)


def row(seconds: list[float]) -> dict[str, Any]:
    """Return the numbers of one kind."""
    return {
        "proofs": len(seconds),
        "a_second": round(len(seconds) / sum(seconds)),
        "median_ms": round(1e3 * statistics.median(seconds), 3),
        "p95_ms": round(1e3 * sorted(seconds)[int(0.95 * (len(seconds) - 1))], 3),
        "max_ms": round(1e3 * max(seconds), 3),
    }


def print_row(name: str, numbers: dict[str, Any]) -> None:
    """Print one line of the table."""
    print(
        f"{name:18s} {numbers['proofs']:7d} {numbers['a_second']:9d} "
        f"{numbers['median_ms']:8.2f} {numbers['max_ms']:8.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
