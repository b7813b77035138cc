"""Are emitted conversions right on a GPU, and how fast are they beside Triton's own?

    python benchmarks/conversions_gpu.py [--examples 70] [--random 100] [--json FILE]

``right``: hypothesis draws layouts (any matrices, copies, flips) and widths of 1 to 16
bytes, in several processes; each emission runs on random bytes with a poisoned target,
and every place of every thread must equal what PyTorch's indexing gives. A failure is
shrunk and listed.

``speed``: the published microbenchmark's ten cases and random ones. One block converts
there and back in a loop, each time what the last round gave; 1,024 conversions are
timed, ours and Triton's in turn, in one process; medians. Every timed kernel's output
is compared too. Conversions whose layouts a tensor in Gluon can't name (copies in lanes
or warps) run in hardware form.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from algebra.gauss import rank
from benchmarks.conversions_cases import Case, drawn, published
from compiler.codegen.gluon.conversion import tile_function
from compiler.codegen.gluon.emission import Emission, load_module
from compiler.codegen.gluon.plan_block import STATIC_BYTES
from compiler.codegen.gluon.probe import ROUND_TRIPS, place_probe, round_trips
from compiler.codegen.gluon.tensor_conversion import row_major
from compiler.convert import plans
from compiler.convert.copies import without_copies
from compiler.convert.hardware import hardware_of
from compiler.convert.nearest import nearest_source
from compiler.convert.plan import Plan
from compiler.convert.steps import SCOPES, Barrier
from verify.mutants.conversions import FAULTS, leaves_the_warp

CONVERSIONS = 1024
EVERY_FAULT = 40
LOOPS = 4
REPEATS = 25
POISON = -86
MOST_REGISTER_BITS = 7
OTHERS = int(os.environ.get("OTHERS", "0"))  # plans timed besides the chosen one


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


def waits(plan: Plan) -> int:
    """Return the widest barrier of a plan, as a place in SCOPES; -1 without one."""
    scopes = [SCOPES.index(s.scope) for s in plan.steps if isinstance(s, Barrier)]
    return max(scopes, default=-1)


def pair_text(there: Plan, back: Plan, form: str) -> str:
    """Return the module that times two plans in a form.

    A conversion needs no barrier before its stores if the other one has a barrier as
    wide: every thread passes it after it has loaded, and before it stores again.
    Where both together take more than a kernel may declare, they share their memory.
    """
    shares = there.shared_bytes + back.shared_bytes > STATIC_BYTES and form != "memory"
    tile = "shared_tile" if shares else ""
    first, second = (
        one.emit(
            form,
            name=name,
            repeated=shares or waits(other) < waits(one),
            tile=tile,
        )
        for one, other, name in ((there, back, "there"), (back, there, "back"))
    )
    declared = None
    if shares:
        size = max(there.shared_bytes, back.shared_bytes)
        declared = tile_function(tile, size, hardware_of(there.src))
    bits = opaque_bits(there, back)
    return round_trips(
        first, second, there.src, there.dst, opaque_bits=bits, tile=declared
    )


def opaque_bits(there: Plan, back: Plan) -> int:
    """Return the size of an element if both ways could be shuffles, else 0.

    There a compiler that sees both ways cancels the selections of one with those of
    the other, which no program that computes between them can do.
    """
    within = there.least_shuffles is not None or back.least_shuffles is not None
    registers = min(hardware_of(side).registers for side in (there.src, there.dst))
    whole = there.element_bits << registers >= 32
    return there.element_bits if within and whole else 0


def form_of(there: Plan, back: Plan) -> str:
    """Return the form in which both plans' own steps run, if there is one."""
    if there.shared_bytes + back.shared_bytes > STATIC_BYTES:
        return "memory"
    through = all(plan.swizzling is not None for plan in (there, back))
    if through and (there.is_narrow or back.is_narrow):
        return "memory"
    planned = all(one.emit("tensor").is_planned for one in (there, back))
    return "tensor" if planned else "hardware"


def both(case: Case) -> list[list[Plan]]:
    """Return the plans there and back, for a block that is alone and a loop."""
    warps = case.src.get_in_dim_size("warp")
    sides = [(case.src, case.dst), (case.dst, case.src)]
    return [
        plans(*pair, case.element_bits, resident_warps=warps, packed=False)
        for pair in sides
    ]


def variants(case: Case) -> dict[str, tuple[str, str, Any]]:
    """Return the modules to time: name -> text, form, what the plans are."""
    there, back = both(case)
    found: dict[str, tuple[str, str, Any]] = {}
    src, dst = there[0].src, there[0].dst
    bits = opaque_bits(there[0], back[0])
    native = round_trips(None, None, src, dst, opaque_bits=bits)
    found["triton"] = (native, "tensor", None)
    form = form_of(there[0], back[0])
    listed = [("ours", form, there[0], back[0])]
    listed += [
        (f"{i}/0", form, one, back[0])
        for i, one in enumerate(there[1 : OTHERS + 1], start=1)
    ]
    listed += [
        (f"0/{i}", form, there[0], one)
        for i, one in enumerate(back[1 : OTHERS + 1], start=1)
    ]
    if OTHERS and form != "memory" and there[0].swizzling and back[0].swizzling:
        listed.append(("memory", "memory", there[0], back[0]))
    for name, form, one, other in listed:
        facts = {
            "ways": [one.way, other.way],
            "counts": [one.counts, other.counts],
            "costs": [one.cost, other.cost],
            "shared_bytes": [one.shared_bytes, other.shared_bytes],
        }
        try:
            found[name] = (pair_text(one, other, form), form, facts)
        except Exception as error:
            found[name] = ("", f"{error}"[:300], facts)
    return found


class Timed:
    """A compiled module of one case, with its memory."""

    def __init__(self, case: Case, text: str, form: str) -> None:
        """Load the kernel and draw the data."""
        import torch

        self.form = form
        elements = 1 << sum(case.src.out_bits)
        self.source = random_bytes(elements, case.element_bits)
        self.target = torch.full_like(self.source, POISON)
        self.kernel = load_module(text).probe
        self.warps = case.src.get_in_dim_size("warp")

    def run(self, rounds: int) -> Any:
        """Launch once."""
        return self.kernel[(1,)](self.source, self.target, rounds, num_warps=self.warps)

    def is_right(self) -> bool:
        """Compare what came back."""
        import torch

        self.target.fill_(POISON)
        self.run(3)
        torch.cuda.synchronize()
        return bool(torch.equal(self.target, self.source))

    def microseconds(self) -> float:
        """Return the time of 1,024 conversions, launch included."""
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.run(LOOPS * CONVERSIONS // (2 * ROUND_TRIPS))
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) * 1000 / LOOPS


def copies(case: Case, emission: Emission) -> bool:
    """Run a function in a tensor form once; return whether it gives back its input."""
    import torch

    source = random_bytes(1 << sum(case.src.out_bits), case.element_bits)
    target = torch.full_like(source, POISON)
    warps = case.src.get_in_dim_size("warp")
    emission.load_probe()[(1,)](source, target, num_warps=warps)
    return bool(torch.equal(source, target))


def warm(case: Case) -> dict[str, str]:
    """Compile all variants of a case in this process; return what went wrong."""
    wrong = {}
    there, back = (found[0] for found in both(case))
    form = form_of(there, back)
    for one in (there, back):
        emission = one.emit(form)
        fine = is_right(emission) if form == "hardware" else copies(case, emission)
        if not fine:
            wrong["ours"] = "wrong output of one direction"
    for name, (text, form, _) in variants(case).items():
        if not text:
            wrong[name] = form
            continue
        try:
            if not Timed(case, text, form).is_right():
                wrong[name] = "wrong output"
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"[:600]
    return wrong


def slots(plan: Plan) -> int:
    """Return how many cycles of the memory unit any way must take, for one warp.

    What a thread does not have yet comes by a shuffle or a load: a cycle for each word.
    What another warp needs is stored before: a cycle for 32 words. By the ranks of the
    maps, ``2**-rank`` of the words are in the thread, or the warp, already.
    """
    src, dst = without_copies(plan.src)[1], without_copies(plan.dst)[1]
    source = nearest_source(src, dst)
    new, old = hardware_of(dst), hardware_of(src)
    away, outside = [], []
    for bit, column in enumerate(source.linear.columns):
        own = 1 << bit - new.registers + old.registers if bit >= new.registers else 0
        away.append((column ^ own) >> old.registers)
        outside.append((column ^ own) >> old.registers + old.lanes)
    words = (plan.element_bits << new.registers) / 32
    elements = plan.element_bits << sum(src.linear.out_bits)
    stored = elements / 32 / 32 / (1 << old.warps)
    moved = words * (1 - 2.0 ** -rank(away))
    crossing = stored * (1 - 2.0 ** -rank(outside))
    return math.ceil(moved) + math.ceil(crossing)


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


def speed(case: Case, wrong: dict[str, str], repeats: int) -> dict[str, Any]:
    """Time the variants of a case in turn."""
    found = variants(case)
    timed = {
        name: Timed(case, text, form)
        for name, (text, form, _) in found.items()
        if name not in wrong
    }
    row: dict[str, Any] = {
        "case": case.name,
        "element_bits": case.element_bits,
        "wrong": wrong,
        "variants": {},
    }
    compiled = {name: one.run(3) for name, one in timed.items()}
    counts = {name: instructions(one) for name, one in compiled.items()}
    there, back = (plans[0] for plans in both(case))
    row["least_slots"] = slots(there) + slots(back)
    row["slots"] = {name: taken(one) for name, one in compiled.items()}
    times: dict[str, list[float]] = {name: [] for name in timed}
    for one in timed.values():
        one.microseconds()
    for _ in range(repeats):
        for name, one in timed.items():
            times[name].append(one.microseconds())
    for name, one in timed.items():
        row["variants"][name] = {
            "us": round(statistics.median(times[name]), 3),
            "least_us": round(min(times[name]), 3),
            "form": one.form,
            "ptx": counts[name],
            "plan": found[name][2],
        }
    medians = {name: entry["us"] for name, entry in row["variants"].items()}
    if "triton" in medians and "ours" in medians:
        row["at_limit"] = row["slots"]["triton"] <= row["least_slots"]
        row["ratio"] = round(medians["ours"] / medians["triton"], 4)
        best = min(us for name, us in medians.items() if name != "triton")
        row["best_ratio"] = round(best / medians["triton"], 4)
    return row


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
    parser.add_argument("--seconds", type=float, default=240, help="for the whole run")
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
    wrong: dict[str, dict[str, str]] = {}
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        warming = {pool.submit(warm, case): case for case in cases}
        for done in as_completed(warming):
            case = warming[done]
            try:
                wrong[case.name] = done.result()
            except Exception as error:
                wrong[case.name] = {"triton": f"{type(error).__name__}: {error}"}
        print(f"compiled {len(cases)} cases after {time.time() - started:.0f} s")
        rows: list[dict[str, Any]] = []
        result["speed"] = rows
        for case in cases:
            try:
                rows.append(speed(case, wrong.get(case.name, {}), REPEATS))
            except Exception as error:
                text = f"{type(error).__name__}: {error}"[:600]
                rows.append({"case": case.name, "error": text})
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
        "at_limit": len(at_limit),
        "at_limit_above_1.02": sum(ratio > 1.02 for ratio in at_limit),
        "geometric_mean_not_at_limit": round(geometric_mean(others), 4),
    }


def show(row: dict[str, Any]) -> None:
    """Print one line."""
    if "ratio" not in row:
        print(f"{row['case'][:60]:60} {row.get('error') or row['wrong']}"[:200])
        return
    entry = row["variants"]
    ours, native = entry["ours"], entry["triton"]
    print(
        f"{row['case'][:52]:52} {row['element_bits']:2} {ours['us']:8.1f} "
        f"{native['us']:8.1f} {row['ratio']:.3f} {row['best_ratio']:.3f} "
        f"{ours['form'][:1]}"
    )


def head() -> str:
    """Return the commit."""
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
