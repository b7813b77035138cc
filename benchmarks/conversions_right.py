"""Are emitted conversions right on a GPU, and are faulty ones seen to be wrong?

The parts of ``conversions_gpu.py`` that need no quiet device; each runs in processes of
its own.
"""

import time
import traceback
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

from compiler.codegen.gluon.declared import STATIC_BYTES
from compiler.codegen.gluon.emission import Emission, load_module
from compiler.codegen.gluon.probe import place_probe
from compiler.codegen.gluon.tensor_conversion import row_major
from compiler.convert import plans
from compiler.convert.hardware import hardware_of
from verify.mutants.conversions import (
    FAULTS,
    copies_store_too,
    leaves_the_warp,
    silent_warps,
)

EVERY_FAULT = 40
DRAWN_FAULTS = 400
POISON = -86
FOLDER = Path("/tmp/conversions_gpu")


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


def is_right(emission: Emission, silent: int = 0) -> bool:
    """Run an emission in hardware form once; compare each place with PyTorch.

    Args:
        emission: What is run.
        silent: Bits of a source place that select copies, which hold wrong bits.
    """
    import torch

    src, dst = emission.src, emission.dst
    elements = 1 << sum(src.linear.out_bits)
    source = random_bytes(elements, emission.element_bits)
    want = source[places(dst)]
    found = torch.full_like(want, POISON)
    text = place_probe(emission.function, src, dst, silent=silent)
    kernel = load_module(text).probe
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
    spoilt = any(n == name and change is copies_store_too for _, n, _, change in FAULTS)
    tried = 0
    for planned in mutant.configurations(1, DRAWN_FAULTS):
        plan = planned.plan
        here = hardware_of(plan.src)
        large = max(here.registers, hardware_of(plan.dst).registers) > 5
        if here.blocks or here.lanes != 5 or plan.element_bits > 64 or large:
            continue
        if plan.shared_bytes > STATIC_BYTES:
            continue
        right = plan.emit("hardware")
        try:
            wrong = replace(plan, steps=mutant.wrong(planned)).emit("hardware")
        except Exception:
            continue  # steps that no text can be made of
        if wrong.text == right.text:
            continue  # lanes with copies store with the others
        tried += 1
        silent = silent_warps(plan) if spoilt else 0
        if not is_right(right, silent):
            return {"fault": name, "caught_at": None, "how": "wrong without the fault"}
        try:
            caught = not is_right(wrong, silent)
        except Exception as error:
            return {"fault": name, "caught_at": tried, "how": f"{error}"[:200]}
        if caught:
            return {"fault": name, "caught_at": tried, "how": "wrong result"}
        if tried == EVERY_FAULT:
            break
    return {"fault": name, "caught_at": None, "tried": tried}


def right(
    pool: ProcessPoolExecutor, first: int, searches: int, examples: int, deadline: float
) -> dict[str, Any]:
    """Search in several processes; return counts and failures.

    Args:
        pool: Where to search.
        first: Seed of the first search; others have the next ones.
        searches: How many.
        examples: Of each search.
        deadline: When to stop [s].
    """
    FOLDER.mkdir(exist_ok=True)
    counts: Counter[str] = Counter()
    failures: list[Any] = []
    jobs = {}
    for number in range(searches):
        note = str(FOLDER / f"{number}")
        jobs[pool.submit(search, first + number, examples, deadline, note)] = note
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


def start_faults(pool: ProcessPoolExecutor) -> dict[str, Future[dict[str, Any]]]:
    """Start a process for each fault; one may leave it without a device.

    A shuffle that leaves its warp is not among them: this hardware takes the lane's
    number within the warp.
    """
    names = [name for _, name, _, change in FAULTS if change is not leaves_the_warp]
    return {name: pool.submit(fault, name) for name in names}


def fault_pool() -> ProcessPoolExecutor:
    """Return a pool that starts a process for each task."""
    return ProcessPoolExecutor(
        len(FAULTS), mp_context=get_context("spawn"), max_tasks_per_child=1
    )


def outcome(job: Future[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return what became of a fault."""
    try:
        return job.result()
    except Exception as error:
        return {"fault": name, "caught_at": None, "died": f"{error}"[:300]}
