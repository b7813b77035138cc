"""Fused kernels whose accesses lie across: Triton's layouts, assigned ones, Inductor.

    python benchmarks/fused_layouts_gpu.py --commit HASH --out FILE [--deadline 500]

Each function of ``fused_layouts_cases.py`` is compiled by ``torch.compile`` in three
ways: the option ``layouts`` at ``"triton"``, at ``"assigned"``, and Inductor. Each way
is first compared with float64 on random data, memory for results holding NaN before;
what is right then runs in turns, as CUDA graphs of several calls between CUDA events,
and medians are compared. ``assigned`` counts the kernels of a case that really had
layouts of ours, ``kernels`` those whose accesses lie across; a case without any counts
with ratio 1. The file grows case by case; what the deadline leaves out is in it.
"""

import argparse
import json
import math
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
import triton

from benchmarks import turns
from benchmarks.fused_layouts_cases import CASES, Case
from benchmarks.fusing_gpu import alternate, poison
from benchmarks.product_epilogue_gpu import recorded
from compiler.runtime.triton_pool import POOL
from tilewright.backend import compile as ours

WAYS = ("triton", "assigned", "inductor")
CALLS = 10
"""In a CUDA graph that is timed."""

TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}
"""Greatest error, relative by norms, by the coarsest type on the way."""

OPTIONS: dict[str, Any] = {
    "fallback": False,
    "cache": False,
    "product_epilogues": "always",
}
Run = Callable[[], torch.Tensor]


@contextmanager
def counted() -> Iterator[list[bool]]:
    """Note for each kernel that lies across whether it is assigned, in the block."""
    module: Any = import_module("compiler.codegen.triton.build")
    seen: list[bool] = []
    plain = module._assigned

    def noted(chosen: Any, printed: Any) -> Any:
        found = plain(chosen, printed)
        if module.lies_across(chosen):
            seen.append(found is not None)
        return found

    with mock.patch.object(module, "_assigned", noted):
        yield seen


def compiled(case: Case, way: str, arguments: list[torch.Tensor]) -> Run:
    """Return a call of the compiled function."""
    torch._dynamo.reset()
    ready: Any
    if way == "inductor":
        ready = torch.compile(case.call, dynamic=False)
    else:
        options = {**OPTIONS, "layouts": way}
        ready = torch.compile(case.call, backend=ours, options=options, dynamic=False)
    with torch.no_grad():
        ready(*arguments)
    return lambda: ready(*arguments)


def error_of(run: Run, right: torch.Tensor) -> float:
    """Return the relative error of a result in memory that held NaN before."""
    poison()
    found = run()
    if found.shape != right.shape:
        return math.inf
    return float((found.double() - right).norm() / right.norm())


def measured(case: Case, rounds: int) -> dict[str, Any]:
    """Return errors of a case, and the times of the ways that are right."""
    arguments = case.arguments()
    right = case.exact(arguments)
    bound = max(TOLERANCE[case.dtype], TOLERANCE[case.out])
    row: dict[str, Any] = {"case": case.name, "shapes": case.shapes, "ways": {}}
    graphs = {}
    for way in WAYS:
        started = time.monotonic()
        one: dict[str, Any] = {}
        row["ways"][way] = one
        try:
            with turns.beside(), counted() as seen, torch.no_grad():
                run = compiled(case, way, arguments)
                one["compile_seconds"] = round(time.monotonic() - started, 2)
                one["error"] = error_of(run, right)
                one["right"] = one["error"] <= bound
                if one["right"]:
                    graphs[way] = recorded(run, CALLS)
        except Exception:  # said in the row
            one["fault"] = traceback.format_exc()[-1500:]
        if way == "assigned":
            row["kernels"], row["assigned"] = len(seen), sum(seen)
        if not one.get("right"):
            print(f"{case.name} {way} is WRONG or refused: {one}", flush=True)
    del right
    with turns.alone():
        times = {n: t / CALLS for n, t in alternate(graphs, rounds, 3).items()}
    for way, seconds in times.items():
        row["ways"][way]["seconds"] = seconds
    for other in ("triton", "inductor"):
        if {"assigned", other} <= set(times):
            row[f"{other}_over_assigned"] = times[other] / times["assigned"]
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts and geometric means; a case that was not assigned counts as 1."""

    def mean(name: str) -> float | None:
        found = [row[name] if row["assigned"] else 1.0 for row in rows if name in row]
        logs = [math.log(value) for value in found]
        return math.exp(sum(logs) / len(logs)) if logs else None

    ran = [row for row in rows if "ways" in row]
    return {
        "cases": len(rows),
        "ran": len(ran),
        "right": sum(all(w.get("right") for w in r["ways"].values()) for r in ran),
        "kernels_across": sum(row["kernels"] for row in ran),
        "kernels_assigned": sum(row["assigned"] for row in ran),
        "cases_assigned": sum(row["assigned"] > 0 for row in ran),
        "triton_over_assigned": mean("triton_over_assigned"),
        "inductor_over_assigned": mean("inductor_over_assigned"),
    }


def main() -> int:
    """Measure all cases and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--commit", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--cases", nargs="*", help="parts of names")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--deadline", type=float, default=500.0, help="seconds")
    options = parser.parse_args()
    until = time.monotonic() + options.deadline
    POOL.start()
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if options.cases and not any(part in case.name for part in options.cases):
            continue
        if time.monotonic() > until:
            rows.append({"case": case.name, "skipped": "deadline"})
            continue
        rows.append(measured(case, options.rounds))
        one = rows[-1]
        report = {
            "question": "Are assigned layouts faster in kernels that lie across?",
            "commit": options.commit,
            "machine": torch.cuda.get_device_name(),
            "versions": {"torch": torch.__version__, "triton": triton.__version__},
            "summary": summary(rows),
            "cases": rows,
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n")
        ratios = [one.get(f"{o}_over_assigned") for o in ("triton", "inductor")]
        shown = [f"{ratio:.3f}" if ratio else "-" for ratio in ratios]
        print(
            f"{case.name:15} {one['assigned']} of {one['kernels']} assigned, over "
            f"Triton's {shown[0]}, over Inductor {shown[1]}",
            flush=True,
        )
        torch.cuda.empty_cache()
    print(json.dumps(summary(rows), indent=1))
    ways = [way for row in rows for way in row.get("ways", {}).values()]
    return int(not all(way.get("right") for way in ways))


if __name__ == "__main__":
    raise SystemExit(main())
