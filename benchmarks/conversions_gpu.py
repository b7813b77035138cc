"""Are emitted conversions right on a GPU, and how fast are they beside Triton's own?

    python benchmarks/conversions_gpu.py [--examples 70] [--random 100] [--candidates 8]
        [--seconds 420] [--commit HASH] [--json FILE]

``right``: hypothesis draws layouts (any matrices, copies, flips) and widths of 1 to 16
bytes, in several processes; each emission runs on random bytes with a poisoned target,
and every place of every thread must equal what PyTorch's indexing gives. A failure is
shrunk and listed.

``speed``: the published microbenchmark's ten cases and random ones. One block converts
there and back in a loop, each time what the last round gave. The candidates of each
case (``compiler.codegen.gluon.round_trip``) are timed once; the fastest is then timed
beside what the cost model takes and Triton's own, in turn, in one process; medians, for
1,024 conversions. All candidates' times are kept, to fit the cost model to. Every timed
kernel's output is compared too. Conversions whose layouts a tensor in Gluon can't name
(copies in lanes or warps) run in hardware form.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.conversions_cases import Case, drawn, published
from compiler.codegen.gluon.emission import Emission, load_module
from compiler.codegen.gluon.plan_block import STATIC_BYTES
from compiler.codegen.gluon.probe import ROUND_TRIPS, place_probe, round_trips
from compiler.codegen.gluon.round_trip import RoundTrip, candidates, opaque_bits
from compiler.codegen.gluon.tensor_conversion import row_major
from compiler.codegen.gluon.tuning import FEWEST_ROUNDS, LAUNCHES, Loop, choice
from compiler.convert import plans
from compiler.convert.hardware import hardware_of
from compiler.convert.limit import least_cycles
from verify.mutants.conversions import FAULTS, leaves_the_warp

CONVERSIONS = 1024
EVERY_FAULT = 40
REPEATS = 25
POISON = -86
MOST_REGISTER_BITS = 7
TRITON = "triton"


def places(layout: Any) -> Any:
    """Return the row-major index of the element of each place, in order."""
    import torch

    columns, start = row_major(layout)
    index = torch.full((1,), start, dtype=torch.int64, device="cuda")
    for column in columns:
        index = torch.cat([index, index ^ column])
    return index


def random_bytes(elements: int, element_bits: int) -> Any:
    """Return random integers of a width."""
    import torch

    kind = getattr(torch, f"int{element_bits}")
    size = elements * element_bits // 8
    found = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
    return found.view(kind)


def is_right(emission: Emission) -> bool:
    """Run an emission in hardware form once; compare each place with PyTorch."""
    import torch

    src, dst = emission.src, emission.dst
    elements = 1 << sum(src.linear.out_bits)
    source = random_bytes(elements, emission.element_bits)
    want = source[places(dst)]
    found = torch.full_like(want, POISON)
    kernel = load_module(place_probe(emission.function, src, dst)).probe
    kernel[(1,)](source, found, num_warps=1 << hardware_of(src).warps)
    return bool(torch.equal(want.view(torch.uint8), found.view(torch.uint8)))


def search(number: int, examples: int, deadline: float, note: str) -> dict[str, Any]:
    """Let hypothesis look for a wrong conversion in this process."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from verify.strategies import ConversionCase, conversions

    counts: Counter[str] = Counter()
    smallest: dict[str, Any] = {}

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(conversions())
    def every_conversion_is_right(case: ConversionCase) -> None:
        if time.time() > deadline:
            counts["out of time"] += 1
            return
        text = f"{case.src!r} -> {case.dst!r}, {case.element_bits} bits"
        Path(note).write_text(text)
        found = plans(case.src, case.dst, case.element_bits)
        one = found[crc32(text.encode()) % len(found)]
        if one.shared_bytes > 48 * 1024:
            counts["more than 48 KiB"] += 1
            return
        emission = one.emit("hardware")
        right = is_right(emission)
        if not smallest:
            counts["run"] += 1
            counts[f"{case.element_bits} bits"] += 1
            counts[f"by {one.way}"] += 1
            counts["with copies"] += not (
                case.src.linear.is_injective and case.dst.linear.is_injective
            )
            counts["with a flip"] += case.src.offset != case.dst.offset
        if not right:
            smallest["case"] = text
            smallest["way"] = one.way
        assert right, text

    try:
        every_conversion_is_right()
    except AssertionError:
        smallest["failed"] = True
    except Exception as error:
        smallest["error"] = f"{type(error).__name__}: {error}"[:2000]
        smallest["case"] = Path(note).read_text()
        smallest["trace"] = traceback.format_exc()[-1500:]
    return {"worker": number, "counts": dict(counts), "failure": smallest}


def fault(name: str) -> dict[str, Any]:
    """Run emissions with a fault until one gives a wrong result."""
    from verify.mutants import CONVERSION_MUTANTS

    mutant = next(m for m in CONVERSION_MUTANTS if m.name == name)
    tried = 0
    for planned in mutant.configurations(1, EVERY_FAULT):
        plan = planned.plan
        here = hardware_of(plan.src)
        large = max(here.registers, hardware_of(plan.dst).registers) > 5
        if here.blocks or here.lanes != 5 or plan.element_bits > 64 or large:
            continue
        if plan.shared_bytes > STATIC_BYTES:
            continue
        try:
            emission = replace(plan, steps=mutant.wrong(planned)).emit("hardware")
        except Exception:
            continue  # steps that no text can be made of
        tried += 1
        try:
            caught = not is_right(emission)
        except Exception as error:
            return {"fault": name, "caught_at": tried, "how": f"{error}"[:200]}
        if caught:
            return {"fault": name, "caught_at": tried, "how": "wrong result"}
    return {"fault": name, "caught_at": None, "tried": tried}


@cache
def pairs(case: Case, most: int) -> list[RoundTrip]:
    """Return the pairs of plans that are timed, the cost model's own first."""
    warps = case.src.get_in_dim_size("warp")
    return candidates(
        case.src, case.dst, case.element_bits, resident_warps=warps, most=most
    )


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


def warm(case: Case, most: int) -> dict[str, str]:
    """Compile and check all variants of a case; return what went wrong."""
    found = pairs(case, most)
    texts = {TRITON: native(found[0])}
    texts |= {str(number): one.text for number, one in enumerate(found)}
    wrong = {}
    for name, text in texts.items():
        try:
            if not loop(case, text).is_right():
                wrong[name] = "wrong output"
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"[:600]
    return wrong


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


def tune(case: Case, wrong: dict[str, str], most: int) -> dict[str, Any]:
    """Time each candidate once; return the chosen one's number and all times."""
    found = pairs(case, most)
    entries: list[dict[str, Any]] = []
    times: list[float | None] = []
    for number, one in enumerate(found):
        us = None
        if str(number) not in wrong:
            kernel = loop(case, one.text)
            rounds = kernel.rounds()
            us = statistics.median(kernel.microseconds(rounds) for _ in range(LAUNCHES))
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


def speed(case: Case, row: dict[str, Any], repeats: int) -> None:
    """Time what was chosen, what the cost model takes, and Triton's own, in turn."""
    found = pairs(case, len(row["candidates"]))
    chosen = found[row["chosen"]]
    texts = {TRITON: native(found[0]), "ours": chosen.text}
    if row["chosen"] and row["candidates"][0]["us"]:
        texts["model"] = found[0].text
    loops = {name: loop(case, text) for name, text in texts.items()}
    compiled = {name: one.run(FEWEST_ROUNDS) for name, one in loops.items()}
    row["least_slots"] = sum(
        least_cycles(*sides, case.element_bits)
        for sides in ((case.src, case.dst), (case.dst, case.src))
    )
    row["slots"] = {name: taken(one) for name, one in compiled.items()}
    row["ptx"] = {name: instructions(one) for name, one in compiled.items()}
    rounds = {name: one.rounds() for name, one in loops.items()}
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(repeats):
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
    parser.add_argument("--candidates", type=int, default=8, help="timed for each case")
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
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        warming = {
            pool.submit(warm, case, options.candidates): row
            for case, row in zip(cases, rows, strict=True)
        }
        for done in as_completed(warming):
            try:
                warming[done]["wrong"] = done.result()
            except Exception as error:
                warming[done]["error"] = f"{type(error).__name__}: {error}"[:600]
        print(f"compiled {len(cases)} cases after {time.time() - started:.0f} s")
        time_all(pool, cases, rows, options.candidates, deadline, flush)
        result["summary"] = summarise(rows, len(cases))
        flush()
        print(json.dumps(result["summary"]), f"after {time.time() - started:.0f} s")
        if options.examples:
            result["right"] = right(pool, options, deadline)
            flush()
            print(json.dumps(result["right"])[:1500])
    if options.examples:
        names = [name for _, name, _, change in FAULTS if change is not leaves_the_warp]
        result["faults"] = []
        with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:
            for done in as_completed([pool.submit(fault, name) for name in names]):
                try:
                    result["faults"].append(done.result())
                except Exception as error:
                    result["faults"].append({"died": f"{error}"[:300]})
        print(json.dumps(result["faults"])[:2500])
    result["seconds"] = round(time.time() - started, 1)
    flush()
    for row in rows:
        show(row)
    print(json.dumps(result["summary"]))
    return 0


def time_all(
    pool: ProcessPoolExecutor,
    cases: list[Case],
    rows: list[dict[str, Any]],
    most: int,
    deadline: float,
    flush: Callable[[], None],
) -> None:
    """Choose by timing, check what was chosen, then time it beside Triton's own."""

    def each(step: Callable[[Case, dict[str, Any]], None]) -> None:
        for case, row in zip(cases, rows, strict=True):
            if "error" in row:
                continue
            if time.time() > deadline:
                row["error"] = "out of time"
                continue
            try:
                step(case, row)
            except Exception as error:
                row["error"] = f"{type(error).__name__}: {error}"[:600]
        flush()

    def chosen(case: Case, row: dict[str, Any]) -> None:
        row["element_bits"] = case.element_bits
        row |= tune(case, row["wrong"], most)
        if row["chosen"] is None or TRITON in row["wrong"]:
            row["error"] = "nothing to time"

    each(chosen)
    checks = {
        pool.submit(directions, case, pairs(case, most)[row["chosen"]]): row
        for case, row in zip(cases, rows, strict=True)
        if "error" not in row
    }
    for done in as_completed(checks):
        try:
            wrong = done.result()
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"[:600]
        if wrong:
            checks[done]["error"] = wrong
    each(lambda case, row: speed(case, row, REPEATS))


def right(
    pool: ProcessPoolExecutor, options: argparse.Namespace, deadline: float
) -> dict[str, Any]:
    """Search in several processes; return counts and failures."""
    folder = Path("/tmp/conversions_gpu")
    folder.mkdir(exist_ok=True)
    counts: Counter[str] = Counter()
    failures: list[Any] = []
    jobs = {}
    for number in range(options.workers):
        note = str(folder / f"{number}")
        seed = 1000 * options.seed + number
        jobs[pool.submit(search, seed, options.examples, deadline, note)] = note
    for job in as_completed(jobs):
        try:
            answer = job.result()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            path = Path(jobs[job])
            case = path.read_text() if path.exists() else ""
            failures.append({"died": text, "case": case})
            continue
        counts.update(answer["counts"])
        if answer["failure"]:
            failures.append(answer["failure"])
    return {"counts": dict(sorted(counts.items())), "failures": failures}


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
