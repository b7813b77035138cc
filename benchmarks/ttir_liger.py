"""How much of Liger-Kernel is proved, from two recorded launches of each wrapper?

    python benchmarks/ttir_liger.py --json benchmarks/results/ttir_liger.json

Needs liger-kernel (the dev group) and no GPU. A kernel counts as settled if bounds,
wraps, single writes and races are proved for all sizes, or under a condition that was
found, checked and is printed here. Times are processor time of the check alone.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import triton

from algebra.errors import ArgumentError
from benchmarks.liger_launches import SIZES, cases, launches
from verify.checking.check import check, text_of
from verify.checking.report import Report, verdict_name
from verify.launches import Recording
from verify.launches.generalise import Statement, by_kernel, generalised

CORE = ("in_bounds", "no_wrap", "write_once", "no_race")


def main() -> int:
    """Check, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--budget", type=float, default=12.0, help="of a kernel [s]")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--texts", type=Path, help="write the TTIR texts here")
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    measured = options.commit or commit()
    records: list[dict[str, Any]] = []
    seen: set[tuple[Any, ...]] = set()
    for name, case in cases().items():
        if options.only not in name:
            continue
        first, second, third = (
            launches(case, *size)[0] for size in (*SIZES, (SIZES[1][0], SIZES[0][1]))
        )
        others = by_kernel([*second])
        for key, launch in by_kernel(first).items():
            identity = (key[0], key[2], key[3])
            if identity in seen:
                continue
            seen.add(identity)
            partners = [
                b for k, b in others.items() if (k[0], k[2], k[3]) == identity
            ] + [b for b in third if b.kernel is launch.kernel]
            record = examine(name, launch, partners, options)
            records.append(record)
            print(line_of(record), flush=True)
    result = summary(records) | {"kernels": records}
    result["commit"] = measured
    result["versions"] = {
        "python": platform.python_version(),
        "triton": triton.__version__,
        "machine": platform.processor() or platform.machine(),
    }
    print(json.dumps({k: v for k, v in result.items() if k != "kernels"}, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def examine(
    name: str, launch: Recording, partners: list[Recording], options: Any
) -> dict[str, Any]:
    """Return the record of one kernel."""
    record: dict[str, Any] = {"case": name, "kernel": launch.name}
    error = "no second launch with the same constants"
    for partner in partners:
        try:
            statement = generalised(launch, partner)
            text = text_of(launch.kernel, statement.args, statement.constants)
        except (ArgumentError, ValueError) as caught:
            error = f"{type(caught).__name__}: {str(caught)[:300]}"
            continue
        if options.texts:
            options.texts.mkdir(exist_ok=True)
            (options.texts / f"{name}.{launch.name}.ttir").write_text(text)
        record |= judged(text, statement, options.budget)
        return record
    return record | {"verdict": "unknown", "settled": False, "reason": error}


def judged(text: str, statement: Statement, budget: float) -> dict[str, Any]:
    """Check a text and return what came out."""
    started = time.process_time()
    report = check(
        text,
        statement.args,
        statement.constants,
        statement.grid,
        statement.assume,
        budget=budget,
    )
    seconds = time.process_time() - started
    names = {o: verdict_name(v) for o, v in report.verdicts.items()}
    # nothing is proved from a grid of several programs that is the same in both
    fixed = statement.grid_is_fixed
    proved = all(names[o] == "proved" for o in CORE) and not fixed
    found: dict[str, Any] = {
        "verdict": verdict_name(report.verdict),
        "obligations": names,
        "core": "proved"
        if proved
        else "under a condition"
        if report.precondition and not fixed
        else "open",
        "settled": (proved or report.precondition is not None) and not fixed,
        "grid": list(statement.grid),
        "condition": report.precondition,
        "assumed": list(report.assumptions),
        "cpu_seconds": round(seconds, 4),
        "questions": report.questions,
    }
    if not proved:
        found["detail"] = details(report)
    return found


def details(report: Report) -> dict[str, str]:
    """Return, for each obligation that is not proved, why, in one line."""
    found = {}
    for name, verdict in report.verdicts.items():
        if verdict_name(verdict) != "proved":
            reason = getattr(verdict, "reason", "") or str(
                getattr(verdict, "counterexample", "")
            )
            found[name] = " | ".join(reason.split("\n"))[:400]
    return found


def line_of(record: dict[str, Any]) -> str:
    """Return a line for the terminal."""
    return (
        f"{record['case']:<32} {record['kernel']:<46} "
        f"{record.get('core', record['verdict']):<18} "
        f"{record.get('condition') or record.get('reason', '')}"
    )


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures."""
    times = sorted(r["cpu_seconds"] for r in records if "cpu_seconds" in r)
    refuted = [r for r in records if "refuted" in r.get("obligations", {}).values()]
    return {
        "question": "How much of Liger-Kernel is proved from two recorded launches?",
        "command": "python benchmarks/ttir_liger.py",
        "cases": len(records),
        "functions": len({r["kernel"] for r in records}),
        "proved": sum(r["verdict"] == "proved" for r in records),
        "core": dict(Counter(r.get("core", "open") for r in records)),
        "settled": sum(r["settled"] for r in records),
        "settled_share": round(
            sum(r["settled"] for r in records) / max(1, len(records)), 4
        ),
        "with_a_confirmed_refutation": len(refuted),
        "cpu_seconds": {
            "p50": times[len(times) // 2] if times else None,
            "p95": times[int(len(times) * 0.95)] if times else None,
            "max": times[-1] if times else None,
        },
    }


def commit() -> str:
    """Return the commit that is measured."""
    return subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
