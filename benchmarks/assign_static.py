"""Conversions left in whole kernels, ours against Triton's, without a GPU.

Each kernel is written once as an operator graph and once in Triton, with the same tile
sizes and warps. Triton's is compiled for sm_90 by the installed wheel, and the
``ttg.convert_layout`` of its TTGIR are counted; ours is assigned, proved, printed and
compiled, and the edges are counted on which registers do not suffice. ``moving`` are
the conversions on which elements change their thread or are chosen by it: the others
rename registers and compile to nothing. ``--wheels`` compiles our kernels with other
releases too.

    .venv/bin/python benchmarks/assign_static.py [--wheels FOLDER,FOLDER]

writes benchmarks/results/assign_static.json.
"""

import argparse
import inspect
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

import triton

from algebra import Proved
from benchmarks.assign_graphs import GRAPHS
from benchmarks.assign_triton import KERNELS, OTHERS, WRONG
from compiler.assign import assign
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import tile_kernel
from compiler.triton_api import compile_gluon, compile_kernel
from tilewright.ttgir import conversions_left
from verify.mlir import read_module
from verify.oracle import gluon_child
from verify.oracle.wheel import Wheel

OTHER_SIZES = {
    "softmax": (2, 2048),
    "layernorm_backward": (4, 2048),
    "transposed_add": (32, 128),
    "rope": (16, 64),
    "cross_entropy": (1, 4096),
    "gather_rows": (32, 64, 64),
    "reshaped_sum": (8, 32, 16),
    "attention": (64, 128, 128),
    "attention_fp8": (64, 128, 128),
    "int8_matmul": (64, 128, 64),
    "mxfp4_matmul": (64, 128, 128),
}
"""A second shape of each tile, which nothing was tuned on."""
STAGES = 3
"""Slots of what loops copy ahead."""
INSTRUCTIONS = (
    r"\b(cp\.async\.c[ag]|wgmma\.mma|mma\.sync|ld\.global|st\.global|ld\.shared|"
    r"st\.shared|shfl|bar\.sync|ldmatrix)"
)


def counted(ptx: str) -> dict[str, int]:
    """Return how many instructions of each class a kernel has."""
    return dict(Counter(re.findall(INSTRUCTIONS, ptx)))


def count_theirs(name: str, function: Any, sizes: tuple[int, ...], warps: int) -> Any:
    """Return what Triton leaves in one of its kernels."""
    _, signature, aligned, names = KERNELS[name]
    compiled = compile_kernel(
        function,
        signature,
        dict(zip(names, sizes, strict=True)),
        aligned=aligned,
        num_warps=warps,
    )
    left = conversions_left(read_module(compiled.asm["ttgir"]))
    return {
        "conversions": len(left),
        "moving": sum(one.moves or one.way not in ("", "no-op") for one in left),
        "cost": sum(one.cost for one in left),
        "instructions": counted(compiled.asm["ptx"]),
        "shared_bytes": compiled.metadata.shared,
    }


def theirs_of(name: str, sizes: tuple[int, ...], warps: int) -> dict[str, Any]:
    """Return what Triton leaves: in the kernel with the least, if there are several."""
    functions = [KERNELS[name][0], *OTHERS.get(name, ())]
    every = {
        function.fn.__name__: count_theirs(name, function, sizes, warps)
        for function in functions
    }
    if len(every) == 1:
        return next(iter(every.values()))
    right = [key for key in every if key != name or name not in WRONG]
    best = min(right, key=lambda key: (every[key]["moving"], every[key]["conversions"]))
    found = {**every[best], "kernel": best}
    found["others"] = {
        key: {measure: one[measure] for measure in ("conversions", "moving", "cost")}
        for key, one in every.items()
        if key != best
    }
    if name in WRONG:
        found["wrong"] = {name: WRONG[name]}
    return found


def row(name: str, sizes: tuple[int, ...], warps: int) -> tuple[dict[str, Any], Any]:
    """Return what was counted for one kernel, and our kernel."""
    started = time.perf_counter()
    graph = GRAPHS[name](*sizes)
    found = assign(graph, warps)
    seconds = time.perf_counter() - started
    proved = isinstance(found.prove(), Proved)
    printed = tile_kernel(found, STAGES)
    names = tuple(
        key
        for key, kind in printed.parameters.items()
        if kind.startswith("*") or graph.divisible.get(key, 1) % 16 == 0
    )
    function = getattr(load_module(printed.text), printed.name)
    ours = compile_gluon(
        function, printed.parameters, {}, aligned=names, num_warps=warps
    )
    edges = found.conversions()
    cost = sum(found.plan(edge).cost for edge in edges)
    result = {
        "kernel": name,
        "sizes": list(sizes),
        "warps": warps,
        "triton": theirs_of(name, sizes, warps),
        "ours": {
            "conversions": len(edges),
            "moving": len(edges),
            "cost": cost,
            "instructions": counted(ours.asm["ptx"]),
            "assigned_seconds": round(seconds, 2),
            "exact": found.exact,
            "proved": proved,
            "cubin_bytes": len(ours.asm["cubin"]),
        },
    }
    return result, printed


def other_releases(
    rows: list[dict[str, Any]], kernels: list[Any], folders: list[str]
) -> None:
    """Compile our kernels with other wheels and note which did."""
    for folder in folders:
        with Wheel(folder, child=Path(gluon_child.__file__)) as wheel:
            version = wheel.version
            jobs = [
                ["compile", k.text, k.name, dict(k.parameters), k.warps, 90]
                for k in kernels
            ]
            for result, answer in zip(rows, wheel.ask(jobs), strict=True):
                good = "value" in answer and bool(answer["value"].get("cubin"))
                result["ours"].setdefault("compiled_by", {})[version] = good
                if not good:
                    print(version, result["kernel"], answer.get("error", "")[:300])


def main() -> None:
    """Count, print the table, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", default="", help="folders, with commas between")
    parser.add_argument(
        "--out", default=str(ROOT / "benchmarks/results/assign_static.json")
    )
    arguments = parser.parse_args()
    rows, kernels = [], []
    for name, make in GRAPHS.items():
        usual = [p.default for p in inspect.signature(make).parameters.values()]
        for sizes in (tuple(usual), OTHER_SIZES[name]):
            result, printed = row(name, sizes, 4)
            rows.append(result)
            kernels.append(printed)
            ours, theirs = result["ours"], result["triton"]
            print(
                f"{name:20} {sizes!s:14} conversions {ours['conversions']} "
                f"(Triton {theirs['conversions']}, {theirs['moving']} of them moving), "
                f"cost {ours['cost']:.1f} ({theirs['cost']:.1f}), "
                f"proved {ours['proved']}"
            )
    other_releases(rows, kernels, [f for f in arguments.wheels.split(",") if f])
    kept = [
        r
        for r in rows
        if all(r["ours"][m] <= r["triton"][m] for m in ("conversions", "moving"))
    ]
    fewer = {
        measure: sorted(
            name
            for name in GRAPHS
            if all(
                r["ours"][measure] < r["triton"][measure]
                for r in rows
                if r["kernel"] == name
            )
        )
        for measure in ("conversions", "moving")
    }
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    result = {
        "commit": commit,
        "triton": triton.__version__,
        "target": "sm_90",
        "cases": len(rows),
        "at_most_as_many": len(kept),
        "kernels_with_fewer_at_both_sizes": fewer,
        "rows": rows,
    }
    Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")
    print(f"at most Triton's: {len(kept)} of {len(rows)}; fewer: {fewer}")


if __name__ == "__main__":
    main()
