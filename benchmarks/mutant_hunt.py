"""Does a campaign see faults of the compiler? Each is hunted with no hints.

    python benchmarks/mutant_hunt.py --json benchmarks/results/mutant_hunt.json

Each fault of the registry (kinds 24 to 47) gets a campaign of its own: programs from
all families, one process, at most ``--minutes`` on two cores, counted as seconds of
processors (two a second); it ends with the first kill, a program that fails with the
fault and passes without it. The compiler without a fault is hunted on each route for
``--control`` minutes of a processor: what fails there is a false alarm, but for what
PyTorch's capture shows without us and graphs that are left to PyTorch, which are
counted apart. A run that was cut short goes on where its JSON file ends; with more
minutes, what survived is hunted again.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from verify.mutants.compiler import COMPILER_FAULTS
from verify.mutants.compiler.detect import Detection, detect
from verify.mutants.compiler.fault import ROUTES

CORES = 2


def main() -> int:
    """Hunt, print, write, and return the exit code: 1 if a fault is not killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="on two cores")
    parser.add_argument("--control", type=float, default=10.0, help="a route")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--only", nargs="*", help="names of faults or right_ROUTE")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    results: dict[str, dict[str, Any]] = {}
    if options.json and options.json.exists():
        before = json.loads(options.json.read_text())
        if before["seed"] == options.seed:
            results = before["results"]
    jobs = [job for job in _jobs(options) if not _decided(results.get(job[0]), job[2])]
    end = time.time() + options.deadline
    made = options.commit or _commit()
    context = get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        running = {pool.submit(_one, *job, options.seed, end): job for job in jobs}
        for done in as_completed(running):
            name, route, budget = running[done]
            found = done.result()
            if found is None or (found.kill is None and found.cpu_seconds < budget):
                continue  # the deadline came first: the next run does it
            results[name] = _record(name, route, found, budget, made)
            print(_line(name, results[name]), flush=True)
            _write(options, results)
    summary = _write(options, results)
    print(json.dumps(summary, indent=1))
    return int(bool(summary["survivors"]) or bool(summary["false_alarms"]))


def _jobs(options: argparse.Namespace) -> list[tuple[str, str, float]]:
    """Return (backend, route, limit [s])."""
    limit = 60 * options.minutes * CORES
    jobs = [(fault.name, fault.route, limit) for fault in COMPILER_FAULTS]
    jobs += [(f"right_{route}", route, 60 * options.control) for route in ROUTES]
    return [job for job in jobs if not options.only or job[0] in options.only]


def _one(
    name: str, route: str, limit: float, seed: int, end: float
) -> Detection | None:
    left = end - time.time()
    return None if left <= 0 else detect(name, route, limit, seed, wall_seconds=left)


def _decided(record: dict[str, Any] | None, limit: float) -> bool:
    """Return whether a run with this limit would say nothing new."""
    return record is not None and (record["killed"] or record["limit"] >= limit)


def _record(
    name: str, route: str, found: Detection, limit: float, made: str
) -> dict[str, Any]:
    numbers = {fault.name: fault.number for fault in COMPILER_FAULTS}
    return {
        "kind": numbers.get(name),
        "route": route,
        "programs": found.programs,
        "seconds": round(found.seconds, 1),
        "cpu_seconds": round(found.cpu_seconds, 1),
        "limit": limit,
        "killed": found.kill is not None,
        "how": None if found.kill is None else found.kill["how"],
        "kill": None if found.kill is None else found.kill["case"],
        "alarms": list(found.alarms),
        "apart": dict(found.apart),
        "commit": made,
    }


def _line(name: str, record: dict[str, Any]) -> str:
    what = record["how"] if record["killed"] else "survives"
    return (
        f"{record['kind'] or '-':>3} {name:50} {record['programs']:6} programs "
        f"{record['cpu_seconds']:7.1f} s of processors  {what}"
    )


def _write(
    options: argparse.Namespace, results: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    faults = {name: one for name, one in results.items() if one["kind"]}
    killed = [one for one in faults.values() if one["killed"]]
    control = [one for one in results.values() if not one["kind"]]
    seconds = sorted(one["cpu_seconds"] for one in killed)
    summary: dict[str, Any] = {
        "faults": len(faults),
        "registered": len(COMPILER_FAULTS),
        "equivalent": 0,
        "killed": len(killed),
        "rate": round(len(killed) / len(faults), 4) if faults else None,
        "survivors": [name for name, one in faults.items() if not one["killed"]],
        "first_kill_cpu_seconds": {
            "median": statistics.median(seconds) if seconds else None,
            "greatest": seconds[-1] if seconds else None,
        },
        "control_programs": sum(one["programs"] for one in control),
        "control_cpu_seconds": round(sum(one["cpu_seconds"] for one in control), 1),
        "false_alarms": sum(len(one["alarms"]) for one in results.values()),
    }
    if options.json:
        setup = {
            "seed": options.seed,
            "minutes_on_two_cores": options.minutes,
            "workers": options.workers,
        }
        whole = {**setup, "summary": summary, "results": results}
        part = options.json.with_suffix(".part")
        part.write_text(json.dumps(whole, indent=1) + "\n")
        part.replace(options.json)
    return summary


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
