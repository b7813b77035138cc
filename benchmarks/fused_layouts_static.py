"""Conversions left in kernels that the compiler fuses, ours against Triton's; no GPU.

    python benchmarks/fused_layouts_static.py

The functions of ``fused_layouts_cases.py`` are traced on a CUDA device that is not
there and scheduled. Each kernel whose accesses lie across is printed both ways from one
plan and compiled for sm_90; the ``ttg.convert_layout`` of Triton's TTGIR are counted,
and the edges of our assignment on which registers do not suffice. Writes
``benchmarks/results/fused_layouts_static.json``.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch
import triton

from benchmarks.fused_layouts_cases import CASES, Case
from compiler.codegen.gluon.fused_kernel import print_assigned
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.codegen.triton.tile import lies_across
from compiler.errors import NotTiledError
from compiler.frontend.constants import lift_constants
from compiler.ir.kernel import Kernel
from compiler.lower import REWRITES, lower
from compiler.options import Options
from compiler.runtime.triton_kernel import TritonKernel
from compiler.schedule import schedule

INSTRUCTIONS = (
    r"\b(ld\.global|st\.global|ld\.shared|st\.shared|shfl|bar\.sync|ldmatrix|stmatrix)"
)


class Function(torch.nn.Module):
    """A case as a model without parameters."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def forward(self, **arguments: torch.Tensor) -> torch.Tensor:
        """Call it."""
        return self.case.call(*arguments.values())


def kernels_of(case: Case) -> list[Kernel]:
    """Return the kernels that a case becomes."""

    def batch() -> dict[str, torch.Tensor]:
        return {
            f"argument{number}": torch.empty(shape, dtype=case.dtype)
            for number, shape in enumerate(case.shapes)
        }

    found = []
    for _, graph, _ in fake_cuda.graphs(lambda: Function(case), batch):
        lift_constants(graph)
        for rewrite in REWRITES:
            rewrite(graph)
        options = Options(product_epilogues="always")
        steps = schedule(lower(graph, options=options), options).steps
        found += [step for step in steps if isinstance(step, Kernel)]
    return found


def counted(ptx: str) -> dict[str, int]:
    """Return how many instructions of each class a kernel has."""
    return dict(Counter(re.findall(INSTRUCTIONS, ptx)))


def row(case: Case, kernel: Kernel) -> dict[str, Any]:
    """Return what was counted for one kernel."""
    chosen = plan(kernel)
    printed = print_kernel(kernel, chosen)
    tile = {axis.name: axis.block for axis in chosen.tile}
    result: dict[str, Any] = {"case": case.name, "kernel": printed.name, "tile": tile}
    result["warps"] = chosen.num_warps
    result["lies_across"] = lies_across(chosen)
    if not result["lies_across"]:
        return result
    theirs = TritonKernel(printed).compile(arch=90)
    result["triton"] = {
        "conversions": theirs.asm["ttgir"].count("ttg.convert_layout"),
        "instructions": counted(theirs.asm["ptx"]),
        "shared_bytes": theirs.metadata.shared,
    }
    started = time.perf_counter()
    try:
        ours = print_assigned(chosen, printed)
    except NotTiledError as error:
        result["refused"] = str(error)
        return result
    seconds = time.perf_counter() - started
    compiled = TritonKernel(ours).compile(arch=90)
    left = re.search(r"conversions left: (\d+)", ours.comments)
    assert left is not None
    result["ours"] = {
        "conversions": int(left[1]),
        "instructions": counted(compiled.asm["ptx"]),
        "assigned_seconds": round(seconds, 2),
    }
    return result


def main() -> None:
    """Count, print the table, and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = ROOT / "benchmarks/results/fused_layouts_static.json"
    parser.add_argument("--out", type=Path, default=default)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    options = parser.parse_args()
    rows = []
    for case in CASES:
        if options.only not in case.name:
            continue
        for kernel in kernels_of(case):
            rows.append(row(case, kernel))
            one = rows[-1]
            mine, other = (one.get(side, {}) for side in ("ours", "triton"))
            print(
                f"{case.name:15} {one['tile']} conversions {mine.get('conversions')} "
                f"(Triton {other.get('conversions')}) "
                f"{one.get('refused', '' if one['lies_across'] else 'not across')}",
                flush=True,
            )
    across = [one for one in rows if one["lies_across"]]
    both = [one for one in across if "ours" in one]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    result = {
        "commit": commit,
        "triton": triton.__version__,
        "target": "sm_90",
        "kernels": len(rows),
        "across": len(across),
        "assigned": len(both),
        "conversions": {
            side: sum(one[side]["conversions"] for one in both)
            for side in ("ours", "triton")
        },
        "rows": rows,
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print({key: result[key] for key in ("across", "assigned", "conversions")})


if __name__ == "__main__":
    main()
