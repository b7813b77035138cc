r"""Does a GPU do what the model of PTX says?

    python benchmarks/ptx_conversions_gpu.py --count 400 --workers 8 --json FILE

Random conversions are compiled by the installed Triton and judged from their PTX, and
so are mutants of each text. Then the same texts run on the GPU, on random bytes: the
output must equal the input where the verdict is Proved, and must differ where it is
Refuted by a wrong or missing element, if nothing can cover it up: a race may go either
way, and so may a fault in a register that another thread or register has a copy of.
``--refuted`` adds what ``ptx_conversions.py`` found wrong in this wheel.
"""

import argparse
import ctypes
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

from algebra import LinearLayout
from algebra.verdict import Proved, Refuted, Verdict
from verify.ptx import prove_conversion
from verify.ptx.campaign import judge, ptx_wheel
from verify.ptx.miscompiled import MISCOMPILED
from verify.ptx.mutation import EXCHANGES, FAULTS, mutants
from verify.ptx.random_conversions import conversion_from_dict, random_conversion

SLACK = 1 << 26
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
# faults that move addresses could end the process's use of the GPU
ADDRESSES = {
    "wrong shared offset",
    "wrong shift",
    "wrong mask",
    "wrong xor",
    "wrong field",
    "wrong stride",
    "wrong addend",
}
OF_A_KIND = 1
RUNS = 3
PLAIN = ("wrong element", "missing store")


class GpuError(RuntimeError):
    """The driver refused a call."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The driver, and an input and output with room around them."""

    driver: Any
    given: torch.Tensor
    result: torch.Tensor

    @classmethod
    def open(cls) -> "Bench":
        """Return a bench on the first GPU."""
        given = torch.randint(0, 256, (2 * SLACK,), dtype=torch.uint8, device="cuda")
        return cls(ctypes.CDLL("libcuda.so.1"), given, torch.empty_like(given))

    def call(self, name: str, *arguments: Any) -> None:
        """Call the driver."""
        code = getattr(self.driver, name)(*arguments)
        if code:
            raise GpuError(f"{name} returned {code}")

    def copies(self, ptx: str, threads: int, shared: int, size: int) -> bool:
        """Run a kernel; return whether its output equals its input."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"conversion")
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
        equal = True
        for start in range(SLACK, SLACK + RUNS * size, size):
            want = self.given[start : start + size]
            found = self.result[start : start + size]
            found.copy_(~want)
            pointers = [want.data_ptr(), found.data_ptr(), 0, 0]
            held = [ctypes.c_uint64(pointer) for pointer in pointers]
            table = (ctypes.c_void_p * 4)(*[ctypes.addressof(h) for h in held])
            torch.cuda.synchronize()
            grid, block = (1, 1, 1), (threads, 1, 1)
            self.call(
                "cuLaunchKernel", function, *grid, *block, shared, None, table, None
            )
            torch.cuda.synchronize()
            equal = equal and bool(torch.equal(want, found))
        self.call("cuModuleUnload", module)
        return equal


def main() -> int:
    """Judge, run, compare, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--refuted", type=Path, help="results of ptx_conversions.py")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    started = time.monotonic()
    counts: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    pool = ProcessPoolExecutor(options.workers, mp_context=get_context("spawn"))
    asked = [
        random_conversion(Random(f"{options.seed}/{number}")).to_dict()
        for number in range(options.count)
    ]
    known = refuted(options.refuted) if options.refuted else []
    asked += known
    size = -(-len(asked) // (4 * options.workers))
    with pool:
        jobs = [
            pool.submit(batch, asked[first : first + size])
            for first in range(0, len(asked), size)
        ]
        for job in jobs:
            found, strays = job.result()
            counts.update(found)
            wrong += strays
    record = {
        "question": "Does a GPU do what the model of PTX says?",
        "command": "python benchmarks/ptx_conversions_gpu.py",
        "commit": options.commit,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "seed": options.seed,
        "conversions": len(asked),
        "of_them_known_to_be_wrong": len(known),
        "counts": dict(sorted(counts.items())),
        "disagreements": wrong,
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(record, indent=1))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if wrong else 0


def refuted(path: Path) -> list[dict[str, Any]]:
    """Return the known cases, and the conversions that the installed wheel fails."""
    import triton

    known = [case.conversion.to_dict() for case in MISCOMPILED]
    wheels = json.loads(path.read_text())["wheels"]
    cases = wheels.get(triton.__version__, {"not_proved": []})["not_proved"]
    return known + [
        case["conversion"] for case in cases if case["verdict"] == "Refuted"
    ]


def batch(given: list[dict[str, Any]]) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Judge and run some conversions and their mutants."""
    bench = Bench.open()
    counts: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    asked = [conversion_from_dict(conversion) for conversion in given]
    with ptx_wheel() as wheel:
        release = ".".join(wheel.version.split(".")[:2])
        outcomes = list(judge(wheel, asked))
    for outcome in outcomes:
        if outcome.verdict is None:
            counts["refused by the wheel"] += 1
            continue
        conversion = outcome.conversion
        layouts = conversion.layouts(release)
        bits = conversion.element_bits
        size = bits // 8
        for extent in conversion.shape:
            size *= extent
        texts: list[tuple[str, str, Verdict]] = [
            ("original", outcome.ptx, outcome.verdict)
        ]
        for fault in {*FAULTS, *EXCHANGES} - ADDRESSES:
            for mutant in list(mutants(outcome.ptx, fault))[:OF_A_KIND]:
                verdict = prove_conversion(
                    mutant.text, *layouts, bits, shared_bytes=outcome.shared_bytes
                )
                texts.append((fault, mutant.text, verdict))
        for name, text, verdict in texts:
            expected = expectation(verdict, repeats(layouts[1]))
            if expected == "not run":
                counts[f"{name}: not run"] += 1
                continue
            try:
                equal = bench.copies(
                    text, 32 * conversion.warps, outcome.shared_bytes, size
                )
            except (GpuError, RuntimeError) as error:
                counts[f"{name}: {error}"[:60]] += 1
                return counts, wrong
            seen = "equal" if equal else "different"
            counts[f"{name}: {expected}, {seen}"] += 1
            if expected != "any" and expected != seen:
                wrong.append(
                    {
                        "mutant": name,
                        "verdict": str(verdict),
                        "gpu": seen,
                        "conversion": conversion.to_dict(),
                        "ptx": text,
                    }
                )
    return counts, wrong


def repeats(layout: LinearLayout) -> bool:
    """Return whether a thread has two registers with the same element."""
    return any(not any(basis) for basis in layout.bases.get("register", ()))


def expectation(verdict: Verdict, repeated: bool) -> str:
    """Return what the GPU must show: equal, different, any, or not run."""
    if isinstance(verdict, Proved):
        return "equal"
    if not isinstance(verdict, Refuted):
        return "not run"
    kind = verdict.counterexample.kind
    if kind in PLAIN:
        # a copy that nobody stores is wrong in a register, not in memory
        return "different" if stored(verdict) and not repeated else "any"
    return "any" if kind in ("race", "unwritten memory") else "not run"


def stored(verdict: Refuted) -> bool:
    """Return whether the fault is in what memory gets."""
    fault = verdict.counterexample
    return fault.kind == "missing store" or not fault.instruction.startswith("@")


if __name__ == "__main__":
    sys.exit(main())
