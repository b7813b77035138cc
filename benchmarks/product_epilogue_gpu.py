"""Products with epilogues: one kernel of ours, or the library and a second kernel.

    python benchmarks/product_epilogue_gpu.py --commit HASH --out FILE

For each product of five models that an elementwise map reads (shapes and epilogues in
``product_epilogue_cases.py``): every tiling is compared with float64 on random data
first, memory for results holding NaN before; then all tilings and the library with our
separate kernel run in turns. Both ways run as compiled graphs do. The result file grows
case by case; a case that the deadline leaves no time for is in it as skipped. With
``--table FILE`` the entries of ``compiler.cost.product`` that a result file supports
are printed instead: tilings that are faster for all measured products of a class.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
import triton

from benchmarks.fusing_gpu import alternate, poison
from benchmarks.product_epilogue_cases import (
    CASES,
    Case,
    arrays_of,
    exact,
    program_of,
    tiled,
)
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.cost.product import ShapeClass
from compiler.errors import BuildError
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Map, Tiling
from compiler.options import Options
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import POOL, Task
from compiler.runtime.wrapper import wrap
from compiler.schedule import schedule
from compiler.schedule.epilogues import is_costly

MULTIPROCESSORS = 132
GAIN = 1.03
"""How much faster a tiling must be to be taken."""

TOLERANCE = 1.5
"""Times the error of the library and a second kernel that ours may have."""

TILINGS: tuple[Tiling, ...] = (
    Tiling(128, 256, 64, 8, 3),
    Tiling(128, 256, 64, 8, 3, 0, True),
    Tiling(128, 256, 64, 8, 3, MULTIPROCESSORS, True),
    # two programs of these fit a multiprocessor: one multiplies, one ends
    Tiling(128, 128, 64, 4, 3),
    Tiling(128, 128, 64, 4, 3, 0, True),
    Tiling(128, 128, 64, 8, 3, 0, True),
    Tiling(128, 128, 64, 8, 3, 2 * MULTIPROCESSORS, True),
    Tiling(64, 256, 64, 4, 2, 0, True),
    Tiling(128, 256, 64, 8, 4, 0, True),
    Tiling(256, 128, 64, 8, 3, 0, True),
    Tiling(256, 128, 64, 8, 3, MULTIPROCESSORS, True),
    Tiling(128, 256, 64, 8, 3, MULTIPROCESSORS),
    Tiling(128, 128, 64, 8, 4),
    Tiling(128, 128, 128, 8, 3, 0, True),
    Tiling(128, 64, 64, 4, 3, 0, True),
)
"""Those that should be among the best first."""

CALLS = 5
"""In a CUDA graph that is timed."""

Run = Callable[[], Sequence[torch.Tensor]]
"""A call that returns the results."""

Way = tuple[Schedule, dict[str, TritonKernel]]
"""What runs: steps, and their kernels."""


def ways(case: Case) -> dict[Tiling | None, Way]:
    """Return how a case can run: by tiling; None: by the library and a second kernel.

    A tiling that falls back to plain loads, because the bulk copy engine cannot bring
    a factor, is the same kernel as another one, and left out.
    """
    program = program_of(case)
    separate = schedule(program, Options(product_epilogues="off"))
    fused = schedule(program, Options(product_epilogues="always"))
    found: dict[Tiling | None, Way] = {None: _way(separate)}
    for tiling in TILINGS:
        chosen = tiled(fused, tiling)
        if any(
            (factors := plan(step).factors) is not None and factors.tiling != tiling
            for step in chosen.steps
            if isinstance(step, Kernel)
        ):
            continue
        found[tiling] = _way(chosen)
    return found


def _way(chosen: Schedule) -> Way:
    kernels = [step for step in chosen.steps if isinstance(step, Kernel)]
    return chosen, {k.name: TritonKernel(print_kernel(k, plan(k))) for k in kernels}


def begun(found: Iterable[Way], arch: int) -> list[Task]:
    """Begin to compile all kernels, on all processors, after those begun before."""
    kernels = [k for _, made in found for k in made.values()]
    return [POOL.submit(kernel.job(arch)) for kernel in kernels]


def error_of(run: Run, right: list[torch.Tensor]) -> float:
    """Return the largest relative error of results in memory that held NaN before."""
    poison()
    errors = []
    for found, wanted in zip(run(), right, strict=True):
        if found.shape != wanted.shape:
            raise SystemExit(f"a result of {found.shape}, needed {wanted.shape}")
        errors.append(float((found.double() - wanted).norm() / wanted.norm()))
    return math.nan if any(map(math.isnan, errors)) else max(errors)


def runs(found: Mapping[Tiling | None, Way], arrays: list[torch.Tensor]) -> Any:
    """Return tiling -> a call that returns the results."""

    def run_of(way: Way) -> Run:
        run = wrap(way[0], way[1]).run
        return lambda: run(list(arrays))

    return {tiling: run_of(way) for tiling, way in found.items()}


def recorded(call: Callable[[], Any], calls: int = CALLS) -> Callable[[], None]:
    """Return the replay of a CUDA graph of several calls.

    Small products take less time than their launches from Python.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph.replay


def class_of(case: Case) -> ShapeClass:
    """Return the class of a case's product, as the compiler sees it."""
    reader = next(n for n in program_of(case).nodes if isinstance(n, Map))
    turned = not case.left_columns, not case.weight_rows
    costly = is_costly(reader.value)
    return ShapeClass.of(case.shape, turned, costly, case.normed, case.stays)


def measured(case: Case, found: Mapping[Tiling | None, Way], rounds: int) -> Any:
    """Return errors of a case, and the times of what is right.

    Raises:
        SystemExit: What the library computes is not a number, or has another shape.
    """
    arrays = arrays_of(case)
    calls = runs(found, arrays)
    right = exact(case, arrays)
    base = error_of(calls[None], right)
    if math.isnan(base):
        raise SystemExit(f"{case.name}: the library's result is not a number")
    row: dict[str, Any] = {"case": case.name, "shape": case.shape, "error": base}
    row["class"] = list(class_of(case))
    row["times"], row["tilings"], good = case.times, [], {None: calls[None]}
    for tiling, call in calls.items():
        if tiling is None:
            continue
        one: dict[str, Any] = {"tiling": asdict(tiling)}
        row["tilings"].append(one)
        try:
            one["error"] = error_of(call, right)
        except BuildError as error:
            one["refused"] = str(error)[:300]
            continue
        if one["error"] <= TOLERANCE * base + 1e-6:
            good[tiling] = call
        else:
            one["wrong"] = True
            print(f"{case.name} {tiling} is WRONG: {one['error']}", flush=True)
    del right
    graphs = {str(tiling): recorded(call) for tiling, call in good.items()}
    seconds = {n: t / CALLS for n, t in alternate(graphs, rounds, 2).items()}
    row["separate_seconds"] = seconds[str(None)]
    for one in row["tilings"]:
        name = str(Tiling(**one["tiling"]))
        if name in seconds:
            one["seconds"] = seconds[name]
    return row


def faster(rows: Iterable[Mapping[str, Any]]) -> dict[ShapeClass, Tiling]:
    """Return class -> the tiling that is best and faster for all cases of the class.

    Args:
        rows: Of a result file; one that was skipped says nothing, and a class where a
            case has no time has no entry.
    """
    gains: dict[ShapeClass, list[dict[Tiling, float]]] = {}
    for row in rows:
        if "class" not in row:
            continue
        tiles, terms, turned, *rest = row["class"]
        key = ShapeClass(tiles, terms, (turned[0], turned[1]), *rest)
        base = row["separate_seconds"]
        gains.setdefault(key, []).append(
            {
                Tiling(**one["tiling"]): base / one["seconds"]
                for one in row["tilings"]
                if "seconds" in one
            }
        )
    found = {}
    for key, cases in gains.items():
        common = set.intersection(*(set(case) for case in cases))
        least = {tiling: min(case[tiling] for case in cases) for tiling in common}
        if least:
            best = max(least, key=lambda tiling: (least[tiling], repr(tiling)))
            if least[best] >= GAIN:
                found[key] = best
    return found


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line a case: the library's time, ours, the best tiling."""
    lines = [f"{'case':18s} {'separate':>9s} {'fused':>9s} {'gain':>6s}  tiling"]
    for row in rows:
        timed = [one for one in row.get("tilings", ()) if "seconds" in one]
        if not timed:
            lines.append(f"{row['case']:18s} {row.get('skipped', 'no tiling ran')}")
            continue
        best = min(timed, key=lambda one: float(one["seconds"]))
        base = row["separate_seconds"]
        text = " ".join(str(part) for part in best["tiling"].values())
        lines.append(
            f"{row['case']:18s} {base * 1e6:7.1f}us {best['seconds'] * 1e6:7.1f}us "
            f"{base / best['seconds']:6.3f}  {text}"
        )
    return lines


def main() -> int:
    """Measure all cases and write them, or print what a result file says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--cases", nargs="*", help="parts of names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--deadline", type=float, default=105.0, help="seconds")
    options = parser.parse_args()
    if options.table is not None:
        for key, tiling in faster(
            json.loads(options.table.read_text())["cases"]
        ).items():
            print(f"    {key}: {tiling},")
        return 0
    if options.commit is None or options.out is None:
        parser.error("needed --commit and --out, or --table")
    until = time.monotonic() + options.deadline
    wanted = [
        case
        for case in CASES
        if not options.cases or any(part in case.name for part in options.cases)
    ]
    POOL.start()
    major, minor = torch.cuda.get_device_capability()
    rows: list[dict[str, Any]] = []
    # later cases are compiled while CUDA graphs are timed, which need no processor
    waiting = []
    for case in sorted(wanted, key=lambda case: case.normed):
        found = ways(case)
        waiting.append((case, found, begun(found.values(), 10 * major + minor)))
    for case, found, tasks in waiting:
        if time.monotonic() > until:
            rows.append({"case": case.name, "skipped": "deadline"})
            continue
        POOL.finish(tasks)
        rows.append(measured(case, found, options.rounds))
        print(table(rows[-1:])[-1], flush=True)
        written(options, rows)
        torch.cuda.empty_cache()
    written(options, rows)
    print("\n".join(table(rows)))
    return int(any("wrong" in one for row in rows for one in row.get("tilings", ())))


def written(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Write what is known so far."""
    report = {
        "question": "Is a product of matrices faster with its epilogue in one kernel?",
        "commit": options.commit,
        "machine": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "cases": rows,
    }
    options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
