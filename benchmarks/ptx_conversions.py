r"""Is what Triton emits for random layout conversions right, in every released wheel?

    python benchmarks/ptx_conversions.py --wheel .venv --wheel .oracle/3.9.0 \
        --count 5000 --seconds 600 --json benchmarks/results/ptx_conversions.json

Each conversion is compiled to PTX by the wheel, in a process of its own, and proved
from the text. Conversion number i of a seed is always the same, so a run that was cut
short goes on where the JSON file ends. ``--seconds`` is shared by the wheels. Times of
proofs are processor time.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from algebra.verdict import Refuted, Unknown
from verify.oracle import Wheel
from verify.ptx.campaign import Outcome, judge, ptx_wheel
from verify.ptx.random_conversions import random_conversion

BATCH = 50
SHOWN = 20
CLASSES = {
    "shuffles": r"shfl\.",
    "shared memory": r"st\.shared",
    "ldmatrix": r"ldmatrix",
    "stmatrix": r"stmatrix",
    "byte permutes": r"prmt\.",
    "several barriers": r"(bar\.sync[\s\S]*){2}",
    "warp barriers": r"bar\.warp",
    "guarded stores": r"@%p\d+ st\.global",
}
_wheels: dict[str, Wheel] = {}


def main() -> int:
    """Compile, prove, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--wheel", action="append", default=[], help="folder; .venv: the installed one"
    )
    parser.add_argument("--count", type=int, default=5000, help="of each wheel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path, help="results; continued if it exists")
    parser.add_argument("--merge", type=Path, help="take other wheels from here")
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    record = start(options)
    wheels = options.wheel or [".venv"]
    deadline = time.monotonic() + (options.seconds or float("inf"))
    with (
        ProcessPoolExecutor(options.workers) as pool,
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        ) as progress,
    ):
        if options.merge:
            save(options, record)
        for left, path in zip(range(len(wheels), 0, -1), wheels, strict=True):
            now = time.monotonic()
            until = now + (deadline - now) / left
            run(options, record, path, pool, progress, until)
    return report(record)


def start(options: argparse.Namespace) -> dict[str, Any]:
    """Return the record to go on with."""
    fresh = {
        "question": "Is the PTX that Triton emits for random conversions right?",
        "command": "python benchmarks/ptx_conversions.py",
        "seed": options.seed,
        "arch": options.arch,
        "wheels": {},
    }
    if options.json and options.json.exists():
        found: dict[str, Any] = json.loads(options.json.read_text())
        if (found["seed"], found["arch"]) != (options.seed, options.arch):
            raise SystemExit(f"{options.json} is about another seed or architecture")
        fresh["wheels"] = found["wheels"]
    if options.merge:
        other = json.loads(options.merge.read_text())
        if (other["seed"], other["arch"]) != (options.seed, options.arch):
            raise SystemExit(f"{options.merge} is about another seed or architecture")
        fresh["wheels"] |= other["wheels"]
    return fresh


def run(
    options: argparse.Namespace,
    record: dict[str, Any],
    path: str,
    pool: ProcessPoolExecutor,
    progress: Progress,
    until: float,
) -> None:
    """Judge the conversions of one wheel that are not yet in the record."""
    version = pool.submit(version_of, path).result()
    found = record["wheels"].setdefault(version, empty())
    for name, value in (
        ("commits", options.commit or commit()),
        ("processors", processor()),
    ):
        if found["cases"] < options.count and value not in found[name]:
            found[name].append(value)
    task = progress.add_task(version, total=options.count, completed=found["cases"])
    starts = range(found["cases"], options.count, BATCH)
    waiting = []
    for first in starts:
        last = min(first + BATCH, options.count)
        job = (path, options.seed, first, last, options.arch)
        waiting.append(pool.submit(batch, *job))
        if len(waiting) > options.workers or last == options.count:
            merge(found, waiting.pop(0).result())
            progress.update(task, completed=found["cases"])
            save(options, record)
        if time.monotonic() > until:
            break
    for future in waiting:
        merge(found, future.result())
        progress.update(task, completed=found["cases"])
        save(options, record)


def wheel_at(path: str) -> Wheel:
    """Return this process's wheel of a folder."""
    if path not in _wheels:
        _wheels[path] = ptx_wheel(None if path == ".venv" else path)
    return _wheels[path]


def version_of(path: str) -> str:
    """Return the version of the wheel in a folder."""
    return wheel_at(path).version


def conversions(seed: int, first: int, last: int) -> Iterator[Any]:
    """Yield conversions by number."""
    for number in range(first, last):
        yield random_conversion(Random(f"{seed}/{number}"))


def empty() -> dict[str, Any]:
    """Return the numbers of no conversion."""
    return {
        "commits": [],
        "processors": [],
        "cases": 0,
        "verdicts": {},
        "kernels_with": {},
        "opcodes": [],
        "proof_ms": {},
        "compile_seconds": 0.0,
        "not_proved": [],
    }


def batch(path: str, seed: int, first: int, last: int, arch: int) -> dict[str, Any]:
    """Compile and judge some conversions; return their numbers."""
    found = empty()
    verdicts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    times: Counter[str] = Counter()
    opcodes: set[str] = set()
    asked = list(conversions(seed, first, last))
    for number, outcome in enumerate(judge(wheel_at(path), asked, arch), first):
        name = "none" if outcome.verdict is None else type(outcome.verdict).__name__
        verdicts[name] += 1
        found["compile_seconds"] += outcome.compile_seconds
        if outcome.verdict is None or isinstance(outcome.verdict, Refuted | Unknown):
            found["not_proved"].append(describe(number, outcome))
        if outcome.verdict is not None:
            times[str(int(1000 * outcome.proof_seconds))] += 1
            for kind, pattern in CLASSES.items():
                kinds[kind] += bool(re.search(pattern, outcome.ptx))
            opcodes.update(
                re.findall(r"^\s+(?:@!?%p\d+ )?([a-z][\w.:]+)", outcome.ptx, re.M)
            )
    found |= {
        "cases": last - first,
        "verdicts": dict(verdicts),
        "kernels_with": dict(kinds),
        "opcodes": sorted(opcodes),
        "proof_ms": dict(times),
    }
    return found


def describe(number: int, outcome: Outcome) -> dict[str, Any]:
    """Return a conversion that was not proved, with the reason."""
    said = outcome.refusal or str(
        getattr(outcome.verdict, "reason", None)
        or getattr(outcome.verdict, "counterexample", None)
    )
    return {
        "number": number,
        "verdict": type(outcome.verdict).__name__,
        "said": said,
        "conversion": outcome.conversion.to_dict(),
    }


def merge(total: dict[str, Any], part: dict[str, Any]) -> None:
    """Add the numbers of a batch."""
    total["cases"] += part["cases"]
    total["compile_seconds"] = round(
        total["compile_seconds"] + part["compile_seconds"], 2
    )
    for name in ("verdicts", "kernels_with", "proof_ms"):
        summed = Counter(total[name])
        summed.update(part[name])
        total[name] = dict(sorted(summed.items()))
    total["opcodes"] = sorted({*total["opcodes"], *part["opcodes"]})
    total["not_proved"] = [*total["not_proved"], *part["not_proved"]]


def percentile(times: dict[str, int], share: float) -> int:
    """Return a percentile of a histogram, rounded up [ms]."""
    wanted = share * sum(times.values())
    for time_ms in sorted(map(int, times)):
        wanted -= times[str(time_ms)]
        if wanted <= 0:
            return time_ms + 1
    return 0


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return what one wants to know of a wheel's numbers."""
    verdicts = found["verdicts"]
    decided = verdicts.get("Proved", 0) + verdicts.get("Refuted", 0)
    times = found["proof_ms"]
    slow = sum(n for t, n in times.items() if int(t) >= 200)
    return {
        "cases": found["cases"],
        "decided": round(decided / max(1, found["cases"]), 4),
        **{f"proof_ms_p{p}": percentile(times, p / 100) for p in (50, 95, 99, 100)},
        "slower_than_200_ms": slow,
        "distinct_opcodes": len(found["opcodes"]),
    }


def save(options: argparse.Namespace, record: dict[str, Any]) -> None:
    """Write the record, so that a run can go on from it."""
    if not options.json:
        return
    record["summary"] = {v: summary(f) for v, f in record["wheels"].items()}
    part = options.json.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    os.replace(part, options.json)


def report(record: dict[str, Any]) -> int:
    """Print the numbers; return 1 if something is refuted."""
    refuted = 0
    for version, found in record["wheels"].items():
        print(f"triton {version}: {found['verdicts']} {summary(found)}")
        print(f"  kernels with: {found['kernels_with']}")
        for case in found["not_proved"][:SHOWN]:
            print(f"  {case['verdict']} number {case['number']}: {case['said'][:200]}")
        refuted += found["verdicts"].get("Refuted", 0)
    return 1 if refuted else 0


def commit() -> str:
    """Return the commit of the checkout, with ``-dirty`` if the prover was changed."""
    command = ["git", "-C", str(ROOT)]
    head = subprocess.run(
        [*command, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    changed = subprocess.run(
        [*command, "status", "--porcelain", "verify/ptx", "algebra"],
        capture_output=True,
        text=True,
    )
    return head.stdout.strip() + ("-dirty" if changed.stdout.strip() else "")


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


if __name__ == "__main__":
    sys.exit(main())
