"""How much of Liger-Kernel is proved, from recorded launches of each wrapper?

    python benchmarks/ttir_liger.py --json benchmarks/results/ttir_liger.json

Needs liger-kernel (the dev group) and no GPU. A kernel counts as settled if bounds,
wraps, single writes and races are proved for all sizes, or under a condition that was
found, checked and is printed here. Times are processor time of the check alone. Each
refutation is run once more, in Triton's own interpreter (``ttir_interpreted.py``).
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import triton

from algebra.errors import ArgumentError
from algebra.verdict import Proved, Refuted
from benchmarks.liger_launches import SIZES, cases, launches
from benchmarks.ttir_interpreted import NotRunError, interpreted
from verify.checking.check import check, text_of
from verify.checking.report import Report, verdict_name
from verify.launches import Recording
from verify.launches.check_recorded import believed
from verify.launches.generalise import Statement, by_kernel, generalised

THIRD = (7, 503)
"""A size of the same powers of two as the first."""

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
        first, second, *more = (
            launches(case, *size)[0]
            for size in (*SIZES, (SIZES[1][0], SIZES[0][1]), THIRD)
        )
        others = by_kernel([*second])
        for key, launch in by_kernel(first).items():
            identity = (key[0], key[2], key[3])
            if identity in seen:
                continue
            seen.add(identity)
            partners = [
                b for k, b in others.items() if (k[0], k[2], k[3]) == identity
            ] + [b for third in more for b in third if b.kernel is launch.kernel]
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
        rest = [other for other in partners if other is not partner]
        try:
            statement = generalised(launch, partner, *rest)
            text = text_of(launch.kernel, statement.args, statement.constants)
        except (ArgumentError, ValueError) as caught:
            error = f"{type(caught).__name__}: {str(caught)[:300]}"
            continue
        if options.texts:
            options.texts.mkdir(exist_ok=True)
            (options.texts / f"{name}.{launch.name}.ttir").write_text(text)
        record |= judged(text, statement, options.budget, launch.kernel)
        return record
    return record | {"verdict": "unknown", "settled": False, "reason": error}


def judged(
    text: str, statement: Statement, budget: float, kernel: Any = None
) -> dict[str, Any]:
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
    report = replace(report, verdicts=believed(statement, report))
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
    if report.verdict.__class__ is not Proved:
        found["detail"] = details(report)
    refuted = {
        name: again(verdict.counterexample, name, kernel, statement)
        for name, verdict in report.verdicts.items()
        if isinstance(verdict, Refuted)
    }
    if refuted:
        found["refuted"] = refuted
    return found


def again(
    example: Any, obligation: str, kernel: Any, statement: Statement
) -> dict[str, Any]:
    """Return a counterexample as data, and what Triton's interpreter makes of it."""
    found: dict[str, Any] = {
        "statement": example.statement[:300],
        "source": example.source,
        "arguments": dict(example.arguments),
        "grid": list(example.grid),
        "programs": [dict(program) for program in example.programs],
        "contents": {k: dict(v) for k, v in example.contents.items()},
        "run_on_ttir": example.confirmed[:300],
    }
    try:
        text = interpreted(
            kernel, statement.args, statement.constants, example, obligation
        )
    except NotRunError as error:
        return found | {"interpreter": None, "interpreter_says": str(error)}
    return found | {"interpreter": text}


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
    runs = [one for r in refuted for one in r.get("refuted", {}).values()]
    return {
        "question": "How much of Liger-Kernel is proved from recorded launches?",
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
        "refutations": len(runs),
        "refutations_confirmed_in_tritons_interpreter": sum(
            one["interpreter"] is not None for one in runs
        ),
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
