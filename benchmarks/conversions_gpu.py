"""Are emitted conversions right on a GPU, and how fast are they beside Triton's own?

    python benchmarks/conversions_gpu.py [--examples 70] [--random 100]
        [--candidates 10] [--seconds 420] [--commit HASH] [--json FILE]

``right``: hypothesis draws layouts (any matrices, copies, flips) and widths of 1 to 16
bytes, in several processes; each emission runs on random bytes with a poisoned target,
and every place of every thread must equal what PyTorch's indexing gives. A failure is
shrunk and listed.

``faults``: plans with the faults of ``verify.mutants.conversions``, kinds 18 to 23 and
48, in a process each. The plan without the fault must give the right result, the one
with it must not. Copies that are silent hold wrong bits where the fault is that they
store; shared memory holds what other kernels left there, on other random bytes. A
shuffle cannot leave its warp on this hardware, so that fault is left to the proof.

``speed``: the published microbenchmark's ten cases and random ones. One block converts
there and back in a loop, each time what the last round gave. The candidates of each
case (``compiler.codegen.gluon.round_trip``) are timed once; the fastest is then timed
beside what the cost model takes and Triton's own, in turn, in one process; medians, for
1,024 conversions. All candidates' times are kept, to fit the cost model to. Every timed
kernel's output is compared too, and each way of what was chosen alone. Conversions
whose layouts a tensor in Gluon can't name (copies in lanes or warps) run in hardware
form.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.conversions_cases import Case, drawn, published
from benchmarks.conversions_right import (
    POISON,
    fault_pool,
    is_right,
    outcome,
    random_bytes,
    right,
    start_faults,
)
from compiler.codegen.gluon.emission import Emission
from compiler.codegen.gluon.probe import ROUND_TRIPS, round_trips
from compiler.codegen.gluon.round_trip import RoundTrip, candidates, opaque_bits
from compiler.codegen.gluon.tuning import FEWEST_ROUNDS, Loop, choice
from compiler.convert.limit import least_cycles

CONVERSIONS = 1024
REPEATS = 15
TRITON = "triton"


@dataclass(frozen=True, slots=True)
class Variants:
    """What is timed of a case.

    Attributes:
        pairs: The pairs of plans, the cost model's own first.
        texts: Their modules, and that of Triton's own conversions, by name.
        wrong: What went wrong with some of them, by name.
    """

    pairs: list[RoundTrip]
    texts: dict[str, str]
    wrong: dict[str, str]


def native(first: RoundTrip) -> str:
    """Return the module of Triton's own conversions, as opaque as ours."""
    bits = opaque_bits(first.there, first.back)
    src, dst = first.there.src, first.there.dst
    return round_trips(None, None, src, dst, opaque_bits=bits)


def loop(case: Case, text: str) -> Loop:
    """Return a kernel of round trips with its memory."""
    warps = case.src.get_in_dim_size("warp")
    return Loop(text, 1 << sum(case.src.out_bits), case.element_bits, warps)


def copies(case: Case, emission: Emission) -> bool:
    """Run a function in a tensor form once; return whether it gives back its input."""
    import torch

    source = random_bytes(1 << sum(case.src.out_bits), case.element_bits)
    target = torch.full_like(source, POISON)
    warps = case.src.get_in_dim_size("warp")
    emission.load_probe()[(1,)](source, target, num_warps=warps)
    return bool(torch.equal(source, target))


def warm(case: Case, most: int) -> Variants:
    """Plan, compile and check all variants of a case."""
    warps = case.src.get_in_dim_size("warp")
    found = candidates(
        case.src, case.dst, case.element_bits, resident_warps=warps, most=most
    )
    texts = {TRITON: native(found[0])}
    texts |= {str(number): one.text for number, one in enumerate(found)}
    wrong = {}
    for name, text in texts.items():
        try:
            if not loop(case, text).is_right():
                wrong[name] = "wrong output"
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"[:600]
    return Variants(found, texts, wrong)


def directions(case: Case, one: RoundTrip) -> str:
    """Check each way of a pair alone; return what went wrong."""
    for plan in (one.there, one.back):
        try:
            emission = plan.emit(one.form)
            hardware = one.form == "hardware"
            fine = is_right(emission) if hardware else copies(case, emission)
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:600]
        if not fine:
            return "wrong output of one direction"
    return ""


def wavefronts(line: str) -> int:
    """Return the wavefronts of a shared-memory instruction without conflicts."""
    found = re.search(r"matrix\.sync\.aligned\.m8n8\.x(\d)", line)
    if found:
        return int(found[1])
    found = re.search(r"(?:st|ld)\.shared(?:\.v(\d))?\.[bsuf](\d+)", line)
    return max(1, int(found[1] or 1) * int(found[2]) // 32) if found else 0


def taken(compiled: Any) -> int:
    """Return the cycles of the memory unit of a round trip, without conflicts."""
    lines = compiled.asm["ptx"].splitlines()
    whole = sum("shfl.sync" in line for line in lines) + sum(map(wavefronts, lines))
    return whole // ROUND_TRIPS


def instructions(compiled: Any) -> dict[str, int]:
    """Count what a round trip has of each kind in a kernel's PTX."""
    counts: Counter[str] = Counter()
    for line in compiled.asm["ptx"].splitlines():
        for kind in ("shfl", "st.shared", "ld.shared", "stmatrix", "ldmatrix"):
            counts[kind] += f"{kind}." in line
        counts["bar.sync"] += "bar.sync" in line or "barrier.sync" in line
        counts["bar.warp"] += "bar.warp.sync" in line
    trips = {kind: number // ROUND_TRIPS for kind, number in counts.items()}
    return {kind: number for kind, number in trips.items() if number}


class Timed:
    """A case while it is timed: its variants, and their loops, made once."""

    def __init__(self, case: Case, variants: Variants) -> None:
        """Take a case and what was compiled of it."""
        self.case, self.variants = case, variants
        self.loops: dict[str, Loop] = {}
        self.found: dict[str, tuple[int, float]] = {}

    def loop(self, name: str) -> Loop:
        """Return the loop of a variant."""
        if name not in self.loops:
            self.loops[name] = loop(self.case, self.variants.texts[name])
        return self.loops[name]

    def timed(self, name: str) -> tuple[int, float]:
        """Return rounds that fill a launch, and a variant's time in some launches."""
        if name not in self.found:
            self.found[name] = self.loop(name).timed()
        return self.found[name]

    def tune(self) -> dict[str, Any]:
        """Time each candidate once; return the chosen one's number and all times."""
        entries: list[dict[str, Any]] = []
        times: list[float | None] = []
        for number, one in enumerate(self.variants.pairs):
            us = None
            if str(number) not in self.variants.wrong:
                us = self.timed(str(number))[1]
            times.append(us)
            entries.append(
                {
                    "form": one.form,
                    "ways": [one.there.way, one.back.way],
                    "counts": [one.there.counts, one.back.counts],
                    "costs": [one.there.cost, one.back.cost],
                    "shared_bytes": [one.there.shared_bytes, one.back.shared_bytes],
                    "us": us and round(us * CONVERSIONS, 3),
                }
            )
        return {"chosen": choice(times), "candidates": entries}

    def speed(self, row: dict[str, Any]) -> None:
        """Time what was chosen, the cost model's own and Triton's own, in turn."""
        case = self.case
        names = {TRITON: TRITON, "ours": str(row["chosen"])}
        if row["chosen"] and row["candidates"][0]["us"]:
            names["model"] = "0"
        loops = {name: self.loop(variant) for name, variant in names.items()}
        compiled = {name: one.run(FEWEST_ROUNDS) for name, one in loops.items()}
        row["least_slots"] = sum(
            least_cycles(*sides, case.element_bits)
            for sides in ((case.src, case.dst), (case.dst, case.src))
        )
        row["slots"] = {name: taken(one) for name, one in compiled.items()}
        row["ptx"] = {name: instructions(one) for name, one in compiled.items()}
        rounds = {name: self.timed(variant)[0] for name, variant in names.items()}
        times: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(REPEATS):
            for name, one in loops.items():
                times[name].append(one.microseconds(rounds[name]) * CONVERSIONS)
        row["rounds"] = rounds
        row["us"] = {n: round(statistics.median(t), 3) for n, t in times.items()}
        row["least_us"] = {n: round(min(t), 3) for n, t in times.items()}
        row["at_limit"] = row["slots"][TRITON] <= row["least_slots"]
        row["ratio"] = round(row["us"]["ours"] / row["us"][TRITON], 4)
        model = row["us"].get("model", row["us"]["ours"])
        row["model_ratio"] = round(model / row["us"][TRITON], 4)


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return statistics.geometric_mean(values) if values else float("nan")


def main() -> int:
    """Run both parts, print a table, write the result and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--examples", type=int, default=70, help="of each worker")
    parser.add_argument("--random", type=int, default=100, help="cases to time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=420, help="for the whole run")
    parser.add_argument(
        "--candidates", type=int, default=10, help="timed for each case"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="the commit measured, where git is not")
    options = parser.parse_args()
    import torch
    import triton

    started = time.time()
    deadline = started + options.seconds
    result: dict[str, Any] = {
        "question": "Are emitted conversions right, and how fast beside Triton's own?",
        "commit": options.commit or head(),
        "gpu": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "seed": options.seed,
        "conversions_in_a_loop": CONVERSIONS,
    }

    def flush() -> None:
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")

    cases = published() + drawn(options.seed, options.random)
    rows: list[dict[str, Any]] = [{"case": case.name} for case in cases]
    result["speed"] = rows
    spawn = get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=spawn) as pool:
        timed = compiled(pool, cases, rows, options.candidates)
        print(f"compiled {len(cases)} cases after {time.time() - started:.0f} s")
        time_all(timed, rows, deadline, flush)
        print(json.dumps(summarise(rows, len(cases))))
        print(f"timed after {time.time() - started:.0f} s")
        # the device need not be quiet from here on
        checks = {
            pool.submit(directions, one.case, one.variants.pairs[row["chosen"]]): row
            for one, row in zip(timed, rows, strict=True)
            if one is not None and "ratio" in row
        }
        if options.examples:
            with fault_pool() as others:
                faults = start_faults(others)
                result["right"] = right(
                    pool,
                    1000 * options.seed,
                    options.workers,
                    options.examples,
                    deadline,
                )
                result["faults"] = [outcome(job, name) for name, job in faults.items()]
        for done in as_completed(checks):
            try:
                wrong = done.result()
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"[:600]
            if wrong:
                checks[done]["error"] = wrong
                del checks[done]["ratio"]
    result["summary"] = summarise(rows, len(cases))
    result["seconds"] = round(time.time() - started, 1)
    flush()
    print(json.dumps(result.get("right"))[:1500])
    print(json.dumps(result.get("faults"))[:2500])
    for row in rows:
        show(row)
    print(json.dumps(result["summary"]), f"after {result['seconds']} s")
    return 0


def compiled(
    pool: ProcessPoolExecutor,
    cases: list[Case],
    rows: list[dict[str, Any]],
    most: int,
) -> list[Timed | None]:
    """Compile all variants of all cases, the largest first; None where that failed."""
    jobs = {
        number: pool.submit(warm, case, most)
        for number, case in sorted(enumerate(cases), key=lambda item: -size(item[1]))
    }
    found: list[Timed | None] = []
    for number, case in enumerate(cases):
        try:
            variants = jobs[number].result()
        except Exception as error:
            rows[number]["error"] = f"{type(error).__name__}: {error}"[:600]
            found.append(None)
            continue
        rows[number]["wrong"] = variants.wrong
        found.append(Timed(case, variants))
    return found


def size(case: Case) -> int:
    """Return the bits that a thread holds on both sides, as the code's length goes."""
    registers = [side.get_in_dim_size("register") for side in (case.src, case.dst)]
    return sum(registers) * case.element_bits


def time_all(
    timed: list[Timed | None],
    rows: list[dict[str, Any]],
    deadline: float,
    flush: Callable[[], None],
) -> None:
    """Choose by timing, then time what was chosen beside Triton's own."""

    def each(step: Callable[[Timed, dict[str, Any]], None]) -> None:
        for one, row in zip(timed, rows, strict=True):
            if one is None or "error" in row:
                continue
            if time.time() > deadline:
                row["error"] = "out of time"
                continue
            try:
                step(one, row)
            except Exception as error:
                row["error"] = f"{type(error).__name__}: {error}"[:600]
        flush()

    def chosen(one: Timed, row: dict[str, Any]) -> None:
        row["element_bits"] = one.case.element_bits
        row |= one.tune()
        if row["chosen"] is None or TRITON in row["wrong"]:
            row["error"] = "nothing to time"

    each(chosen)
    each(lambda one, row: one.speed(row))


def summarise(rows: list[dict[str, Any]], asked: int) -> dict[str, Any]:
    """Return the figures of all rows."""
    timed = [row for row in rows if "ratio" in row]
    ratios = [row["ratio"] for row in timed]
    at_limit = [row["ratio"] for row in timed if row["at_limit"]]
    others = [row["ratio"] for row in timed if not row["at_limit"]]
    return {
        "cases": asked,
        "timed": len(timed),
        "geometric_mean": round(geometric_mean(ratios), 4),
        "above_1.05": sum(ratio > 1.05 for ratio in ratios),
        "largest": max(ratios, default=None),
        "geometric_mean_by_the_cost_model": round(
            geometric_mean([row["model_ratio"] for row in timed]), 4
        ),
        "model_above_1.05": sum(row["model_ratio"] > 1.05 for row in timed),
        "at_limit": len(at_limit),
        "at_limit_above_1.02": sum(ratio > 1.02 for ratio in at_limit),
        "geometric_mean_not_at_limit": round(geometric_mean(others), 4),
    }


def show(row: dict[str, Any]) -> None:
    """Print one line."""
    if "ratio" not in row:
        print(f"{row['case'][:60]:60} {row.get('error')} {row.get('wrong')}"[:200])
        return
    entry = row["candidates"][row["chosen"]]
    print(
        f"{row['case'][:52]:52} {row['element_bits']:2} {row['us']['ours']:8.1f} "
        f"{row['us'][TRITON]:8.1f} {row['ratio']:.3f} {row['model_ratio']:.3f} "
        f"{row['chosen']} {entry['form'][:1]}"
    )


def head() -> str:
    """Return the commit."""
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
