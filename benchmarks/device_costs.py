"""What one instruction of a warp takes, measured: the constants of compiler/cost.

Each class runs in a loop of one block of PTX between two reads of the clock:
``saturated`` with 32 warps on each multiprocessor, which gives the throughput;
``alone`` with one block of 4 warps, as where a kernel has little else to do; and with
``two`` warps and ``one``, where partitions of the multiprocessor are idle. Costs are
cycles of a multiprocessor for one instruction of one warp. Barriers are measured as
rounds of store, barrier, load, barrier, less the stores and loads.

    python benchmarks/device_costs.py [--compile-only]

writes benchmarks/results/device_costs.json and prints the lines of the device table.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import triton
import triton.language as tl

ROUNDS = 512
COPIES = 16
SATURATED = (1024, 1)
ALONE = (128, 1)
FEW = {"two": (64, 1), "one": (32, 1)}
CHAINS = 4

HEAD = """{{
    .reg .b32 a<8>; .reg .b32 t<8>; .reg .b32 i; .reg .b32 s; .reg .b32 z;
    .reg .b32 base; .reg .b32 word;
    .reg .pred p; .reg .pred q; .reg .b64 c0; .reg .b64 c1;
    .shared .align 1024 .b8 tile[32768];
    mov.u32 s, %tid.x;
    mov.u32 base, tile;
    shl.b32 word, s, 2;
    add.u32 word, word, base;
    and.b32 i, s, 2047;
    shl.b32 i, i, 4;
    and.b32 i, i, 32767;
    add.u32 base, base, i;
    setp.ne.u32 q, s, 7;
    mov.u32 z, %clock_hi;
    shr.u32 z, z, 31;
    shl.b32 z, z, 4;
{init}
    st.shared.v4.b32 [base], {{a0, a1, a2, a3}};
    or.b32 s, s, 0x5410;
    bar.sync 0;
    mov.u64 c0, %clock64;
    mov.u32 i, 0;
LOOP:
{body}
    add.u32 i, i, 1;
    setp.lt.u32 p, i, {rounds};
    @p bra LOOP;
    bar.sync 0;
    mov.u64 c1, %clock64;
    sub.u64 $0, c1, c0;
    xor.b32 a0, a0, a1;
    xor.b32 a2, a2, a3;
    xor.b32 $1, a0, a2;
}}"""
INIT = "\n".join(f"    add.u32 a{j}, $2, {j};" for j in range(8))
STEP = "xor.b32 base, base, z;\n    "  # z is zero, which only the clock knows
STORE4 = STEP + "st.volatile.shared.v4.b32 [base], {a0, a1, a2, a3};"
LOAD4 = STEP + "ld.volatile.shared.v4.b32 {t0, t1, t2, t3}, [base];"
FOLD = "\n".join(f"    xor.b32 a{j}, a{j}, t{j};" for j in range(4))
MATRICES = "sync.aligned.m8n8.x4.shared.b16"

BODIES: dict[str, list[str]] = {
    "shfl": [f"shfl.sync.bfly.b32 a{j}, a{j}, 1, 31, -1;" for j in range(CHAINS)],
    "prmt": [f"prmt.b32 a{j}, a{j}, a{j + 1}, s;" for j in range(CHAINS)],
    "selp": [f"selp.b32 a{j}, a{j + 1}, a{j}, q;" for j in range(CHAINS)],
    "alu": [f"lop3.b32 a{j}, a{j}, a{j + 1}, s, 0xe8;" for j in range(CHAINS)],
    "st.shared.b32": [
        f"st.volatile.shared.b32 [word+{4096 * j}], a{j};" for j in range(4)
    ],
    "st.shared.v4": [STORE4],
    "ld.shared.b32": [
        "ld.volatile.shared.b32 t0, [word];\n    xor.b32 a0, a0, t0;",
    ],
    "ld.shared.v4": [f"{LOAD4}\n{FOLD}"],
    "stmatrix": [f"{STEP}stmatrix.{MATRICES} [base], {{a0, a1, a2, a3}};"],
    "ldmatrix": [f"{STEP}ldmatrix.{MATRICES} {{t0, t1, t2, t3}}, [base];\n{FOLD}"],
    "store and load": [f"{STORE4}\n    {LOAD4}\n{FOLD}"],
    "warp round": [
        f"{STORE4}\n    bar.warp.sync -1;\n    {LOAD4}\n{FOLD}\n    bar.warp.sync -1;"
    ],
    "block round": [f"{STORE4}\n    bar.sync 0;\n    {LOAD4}\n{FOLD}\n    bar.sync 0;"],
}
"""Class -> what is repeated; costs are divided by the number of entries."""


def assembly(name: str) -> str:
    """Return the block of PTX of a class."""
    copies = max(1, COPIES // len(BODIES[name]))
    body = "\n".join(f"    {line}" for line in BODIES[name] * copies)
    return HEAD.format(init=INIT, body=body, rounds=ROUNDS)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def measure(  # type: ignore[no-untyped-def]
    cycles, values, asm: tl.constexpr, threads: tl.constexpr
):
    """Run a block of PTX once; store the cycles and a value of each thread."""
    place = tl.arange(0, threads)
    spent, value = tl.inline_asm_elementwise(
        asm,
        "=l,=r,r",
        [place],
        dtype=(tl.int64, tl.int32),
        is_pure=False,
        pack=1,
    )
    start = tl.program_id(0) * threads
    tl.store(cycles + start + place, spent)
    tl.store(values + start + place, value)


def run(name: str, shape: tuple[int, int]) -> float:
    """Return cycles of a multiprocessor for one instruction of one warp."""
    import torch

    threads, blocks = shape
    count = torch.cuda.get_device_properties(0).multi_processor_count
    grid = count * blocks
    cycles = torch.zeros(grid * threads, dtype=torch.int64, device="cuda")
    values = torch.zeros(grid * threads, dtype=torch.int32, device="cuda")
    copies = max(1, COPIES // len(BODIES[name])) * len(BODIES[name])
    found = []
    for _ in range(7):
        measure[(grid,)](
            cycles, values, assembly(name), threads, num_warps=threads // 32
        )
        torch.cuda.synchronize()
        spent = cycles.view(grid, threads).max(dim=1).values.double()
        found.append(float(spent.median()))
    warps = threads * blocks // 32
    return statistics.median(found) / (ROUNDS * copies * warps)


def table(measured: dict[str, float]) -> dict[str, float]:
    """Return the constants of the device table from one column of measurements."""
    wavefront = measured["ld.shared.v4"] / 4
    both = measured["store and load"]
    return {
        "shfl": measured["shfl"],
        "prmt": measured["prmt"],
        "selp": measured["selp"],
        "alu": measured["alu"],
        "wavefronts": wavefront,
        "st.shared": max(0.0, measured["st.shared.b32"] - wavefront),
        "ld.shared": max(0.0, measured["ld.shared.b32"] - wavefront),
        "stmatrix": max(0.0, measured["stmatrix"] - 4 * wavefront),
        "ldmatrix": max(0.0, measured["ldmatrix"] - 4 * wavefront),
        "bar.warp": max(0.0, (measured["warp round"] - both) / 2),
        "bar.sync": max(0.0, (measured["block round"] - both) / 2),
    }


def compile_only() -> None:
    """Compile every class for sm_90, without a GPU."""
    from compiler.triton_api import compile_kernel

    for name in BODIES:
        compile_kernel(
            measure,
            {"cycles": "*i64", "values": "*i32"},
            {"asm": assembly(name), "threads": ALONE[0]},
            num_warps=ALONE[0] // 32,
        )
        print("compiled", name)


def main() -> None:
    """Measure all classes, print the table and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument(
        "--out", default=str(ROOT / "benchmarks/results/device_costs.json")
    )
    parser.add_argument("--commit", help="the commit measured, where git is not")
    arguments = parser.parse_args()
    if arguments.compile_only:
        compile_only()
        return
    import torch

    columns: dict[str, Any] = {}
    shapes = {"saturated": SATURATED, "alone": ALONE, **FEW}
    for column, shape in shapes.items():
        measured = {name: run(name, shape) for name in BODIES}
        columns[column] = {
            "warps": shape[0] // 32,
            "measured": measured,
            "table": table(measured),
        }
        print(column)
        for kind, value in columns[column]["table"].items():
            print(f'    ("{kind}", Constant({value:.3f}, "device_costs.json")),')
    commit = (
        arguments.commit
        or subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
        ).stdout.strip()
    )
    result = {
        "commit": commit,
        "device": torch.cuda.get_device_name(0),
        "triton": triton.__version__,
        "torch": torch.__version__,
        "cases": len(BODIES) * len(shapes),
        "columns": columns,
    }
    Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
