"""Does the algebra agree with a released Triton, on random encodings and operations?

    python benchmarks/oracle.py --seed 1 --cases 20000 [--triton .oracle/3.9.0]

Prints a table a kind and lists what is different and what cannot be compared; exits 1
if anything differs. With ``--json`` the numbers go to a file.
"""

import argparse
import json
import platform
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from verify.oracle import (
    Comparison,
    Wheel,
    compare_encodings,
    compare_operations,
    exposed_kinds,
    random_cases,
    random_operation,
)

SHOWN = 5


def main() -> int:
    """Compare, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20_000, help="of each of the two")
    parser.add_argument("--triton", type=Path, help="folder of another wheel")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--list-all", action="store_true", help="every case apart")
    options = parser.parse_args()
    with Wheel(options.triton) as wheel:
        version = wheel.version
        kinds, hidden = exposed_kinds(wheel)
        print(f"triton {version}, seed {options.seed}, {options.cases} cases of each")
        for kind, reason in hidden.items():
            print(f"  not exposed by this wheel: {kind} ({reason[:100]})")
        start = time.perf_counter()
        cases = random_cases(options.seed, options.cases, kinds)
        encodings = compare_encodings(wheel, cases)
        middle = time.perf_counter()
        rng = Random(options.seed)
        operations = compare_operations(
            wheel, [random_operation(rng) for _ in range(options.cases)]
        )
        end = time.perf_counter()
        restarts = wheel.restarts
    results = {
        "encodings": summary(encodings, middle - start),
        "operations": summary(operations, end - middle),
    }
    for name, result in (("encodings", encodings), ("operations", operations)):
        show(name, result, results[name], options.list_all)
    print(f"children that died and were replaced: {restarts}")
    if options.json:
        record = {
            "command": "python benchmarks/oracle.py",
            "triton": version,
            "seed": options.seed,
            "cases": options.cases,
            "not_exposed": hidden,
            "machine": platform.machine(),
            "processor": processor(),
            "python": platform.python_version(),
            **results,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if encodings.different or operations.different else 0


def summary(result: Comparison, seconds: float) -> dict[str, Any]:
    """Return the numbers of one comparison."""
    apart: Counter[str] = Counter()
    for (_, reason), count in result.apart.items():
        apart[reason] += count
    return {
        "cases": result.cases,
        "equal": sum(result.equal.values()),
        "different": len(result.different),
        "apart": dict(apart),
        "seconds": round(seconds, 2),
        "per_second": round(result.cases / seconds),
    }


def show(name: str, result: Comparison, numbers: dict[str, Any], every: bool) -> None:
    """Print one comparison."""
    print(f"\n{name}: {numbers}")
    for kind, count in sorted(result.equal.items()):
        print(f"  {kind:42s} {count:6d} equal")
    for kind, given, mine, theirs in result.different[:SHOWN]:
        print(f"  DIFFERENT {kind}: {given}\n    ours   {mine}\n    theirs {theirs}")
    seen: Counter[tuple[str, str, str]] = Counter()
    for kind, reason, given, said in result.listed:
        key = (kind, reason, said[:60])
        seen[key] += 1
        if every or seen[key] == 1:
            print(f"  apart, {reason}: {kind} {given}: {said[:160]}")
    for (kind, reason), count in sorted(result.apart.items()):
        print(f"  {kind:42s} {count:6d} apart: {reason}")


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
