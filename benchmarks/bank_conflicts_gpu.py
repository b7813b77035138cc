"""Do our bank-conflict counts agree with the hardware's own counters?

One warp does one shared-memory access with the addresses of a layout; Nsight Compute
counts the wavefronts. Loads and stores, elements of 1 to 16 bytes, accesses of 1 to 16
bytes a lane, encodings of real kernels and random swizzles, those finer than a word
among them, where the subspace count that Triton prints is too low.

    python benchmarks/bank_conflicts_gpu.py [--out FILE]

Needs a CUDA device, ncu, and cupy (for its run-time compiler).
"""

import argparse
import csv
import io
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from algebra import LinearLayout, gauss
from algebra.bank_conflicts import (
    bank_conflicts,
    shared_access,
    wavefront_columns,
)
from algebra.encodings import from_dict

SHARED_BYTES = 32768
METRICS = {
    "load": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "store": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
KERNEL = r"""
__device__ inline unsigned base() {
    extern __shared__ __align__(16) unsigned char memory[];
    return static_cast<unsigned>(__cvta_generic_to_shared(memory));
}
#define WORDS (BYTES < 4 ? 1 : BYTES / 4)
#if BYTES == 1
#define LD "ld.volatile.shared.u8 %0, [%1];"
#define ST "st.volatile.shared.u8 [%1], %0;"
#elif BYTES == 2
#define LD "ld.volatile.shared.u16 %0, [%1];"
#define ST "st.volatile.shared.u16 [%1], %0;"
#elif BYTES == 4
#define LD "ld.volatile.shared.u32 %0, [%1];"
#define ST "st.volatile.shared.u32 [%1], %0;"
#endif
__device__ inline void load(unsigned at, unsigned* v) {
#if BYTES == 16
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
        : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
#elif BYTES == 8
    asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];"
        : "=r"(v[0]), "=r"(v[1]) : "r"(at) : "memory");
#elif BYTES == 4
    asm volatile(LD : "=r"(v[0]) : "r"(at) : "memory");
#else
    unsigned short narrow;
    asm volatile(LD : "=h"(narrow) : "r"(at) : "memory");
    v[0] = narrow;
#endif
}
__device__ inline void store(unsigned at, const unsigned* v) {
#if BYTES == 16
    asm volatile("st.volatile.shared.v4.u32 [%4], {%0,%1,%2,%3};"
        :: "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(at) : "memory");
#elif BYTES == 8
    asm volatile("st.volatile.shared.v2.u32 [%2], {%0,%1};"
        :: "r"(v[0]), "r"(v[1]), "r"(at) : "memory");
#elif BYTES == 4
    asm volatile(ST :: "r"(v[0]), "r"(at) : "memory");
#else
    unsigned short narrow = v[0];
    asm volatile(ST :: "h"(narrow), "r"(at) : "memory");
#endif
}
extern "C" __global__ void NAME(const unsigned* addresses, unsigned* out) {
    const unsigned start = base();
    const unsigned at = start + addresses[threadIdx.x];
    unsigned v[WORDS];
#if IS_LOAD
    for (unsigned i = 4 * threadIdx.x; i < 32768; i += 128)
        asm volatile("st.volatile.shared.u32 [%1], %0;"
            :: "r"(i * 2654435761u), "r"(start + i) : "memory");
    __syncwarp();
    load(at, v);
#else
    for (int i = 0; i < WORDS; ++i)
        v[i] = (addresses[threadIdx.x] + 4 * i) * 2654435761u;
    store(at, v);
    __syncwarp();
    load(at, v);
#endif
    for (int i = 0; i < WORDS; ++i) out[WORDS * threadIdx.x + i] = v[i];
}
"""


def swizzled(vec: int, per_phase: int, max_phase: int, order: list[int]) -> Any:
    """Return the golden form of a swizzled shared encoding."""
    return {
        "kind": "swizzled_shared",
        "vec": vec,
        "per_phase": per_phase,
        "max_phase": max_phase,
        "order": order,
    }


def mma(major: int, warps: list[int], instr: list[int]) -> Any:
    """Return the golden form of an NVIDIA MMA encoding."""
    return {
        "kind": "nvidia_mma",
        "version": [major, 0],
        "warps_per_cta": warps,
        "instr_shape": instr,
    }


def blocked(per_thread: list[int], lanes: list[int], warps: list[int]) -> Any:
    """Return the golden form of a row-major blocked encoding."""
    return {
        "kind": "blocked",
        "size_per_thread": per_thread,
        "threads_per_warp": lanes,
        "warps_per_cta": warps,
        "order": [1, 0],
    }


def operand(op_idx: int, k_width: int, parent: Any) -> Any:
    """Return the golden form of a dot operand."""
    return {
        "kind": "dot_operand",
        "op_idx": op_idx,
        "k_width": k_width,
        "parent": parent,
    }


MMA2 = mma(2, [2, 2], [16, 8])
REAL: list[tuple[str, Any, Any, list[int], int]] = [
    ("int8 mma, swizzle of bytes", MMA2, swizzled(1, 2, 2, [1, 0]), [16, 128], 8),
    (
        "int8 mma, swizzle of bytes, 64 rows",
        MMA2,
        swizzled(1, 1, 4, [1, 0]),
        [64, 64],
        8,
    ),
    ("int8 mma, swizzle of two bytes", MMA2, swizzled(2, 1, 8, [1, 0]), [32, 64], 8),
    ("fp16 mma, swizzle of halves", MMA2, swizzled(1, 1, 8, [1, 0]), [32, 64], 16),
    (
        "fp16 mma, swizzle of halves, slow phase",
        MMA2,
        swizzled(1, 2, 4, [1, 0]),
        [64, 64],
        16,
    ),
    ("fp16 mma, swizzle of 16 bytes", MMA2, swizzled(8, 1, 8, [1, 0]), [64, 64], 16),
    ("fp16 mma, no swizzle", MMA2, swizzled(1, 1, 1, [1, 0]), [64, 64], 16),
    ("fp32 mma, no swizzle", MMA2, swizzled(1, 1, 1, [1, 0]), [64, 64], 32),
    (
        "fp16 A operand, no swizzle",
        operand(0, 2, MMA2),
        swizzled(1, 1, 1, [1, 0]),
        [64, 64],
        16,
    ),
    (
        "fp16 A operand, swizzled",
        operand(0, 2, MMA2),
        swizzled(8, 1, 8, [1, 0]),
        [64, 64],
        16,
    ),
    (
        "fp16 B operand, column-major",
        operand(1, 2, MMA2),
        swizzled(8, 1, 8, [0, 1]),
        [64, 64],
        16,
    ),
    (
        "int8 A operand, swizzle of bytes",
        operand(0, 4, MMA2),
        swizzled(1, 1, 8, [1, 0]),
        [32, 64],
        8,
    ),
    (
        "fp32 rows of 16 bytes",
        blocked([1, 4], [4, 8], [4, 1]),
        swizzled(4, 1, 8, [1, 0]),
        [32, 32],
        32,
    ),
    (
        "fp32 columns",
        blocked([1, 1], [32, 1], [1, 4]),
        swizzled(1, 1, 1, [1, 0]),
        [32, 32],
        32,
    ),
    (
        "fp32 columns, swizzled",
        blocked([1, 1], [32, 1], [1, 4]),
        swizzled(1, 1, 32, [1, 0]),
        [32, 32],
        32,
    ),
    (
        "fp64 columns",
        blocked([1, 1], [32, 1], [1, 4]),
        swizzled(1, 1, 16, [1, 0]),
        [32, 32],
        64,
    ),
    (
        "fp64 rows",
        blocked([1, 2], [4, 8], [4, 1]),
        swizzled(2, 1, 4, [1, 0]),
        [32, 32],
        64,
    ),
    (
        "complex128 columns",
        blocked([1, 1], [32, 1], [1, 4]),
        swizzled(1, 1, 8, [1, 0]),
        [32, 16],
        128,
    ),
    (
        "int8 columns",
        blocked([1, 1], [32, 1], [1, 4]),
        swizzled(1, 1, 32, [1, 0]),
        [32, 64],
        8,
    ),
    (
        "fp16 columns, swizzle of halves",
        blocked([1, 1], [32, 1], [1, 4]),
        swizzled(1, 1, 32, [1, 0]),
        [32, 64],
        16,
    ),
]


def cases(seed: int, count: int) -> list[dict[str, Any]]:
    """Return real encodings, then random swizzles, with what we predict."""
    found = []
    for name, distributed, shared, shape, bits in REAL:
        found.append(
            case(
                name,
                from_dict(distributed).to_linear_layout(shape),
                from_dict(shared).to_linear_layout(shape),
                bits,
                None,
            )
        )
    rng = random.Random(seed)
    while len(found) < len(REAL) + count:
        bits = rng.choice([8, 16, 32, 64, 128])
        vector = rng.choice([v for v in (1, 2, 4, 8, 16) if v * bits <= 128])
        total = rng.randint(9, 11)
        columns = random_swizzle(rng, total, vector)
        lanes = rng.sample(columns[vector.bit_length() - 1 :], 5)
        registers = [c for c in columns if c not in lanes]
        distributed = LinearLayout.from_columns(
            {"register": len(registers), "lane": 5}, {"dim0": total}, registers + lanes
        )
        shared = LinearLayout.from_columns(
            {"offset": total}, {"dim0": total}, [1 << i for i in range(total)]
        )
        if total + (bits // 8).bit_length() - 1 <= 15:
            found.append(
                case(f"random {len(found)}", distributed, shared, bits, vector)
            )
    return found


def random_swizzle(rng: random.Random, bits: int, vector: int) -> list[int]:
    """Return the columns of a random invertible map that keeps whole vectors."""
    low = vector.bit_length() - 1
    columns = [1 << i for i in range(low)]
    rest = [1 << i for i in range(low, bits)]
    rng.shuffle(rest)
    for _ in range(rng.randint(0, 2 * bits)):
        a, b = rng.sample(range(len(rest)), 2)
        rest[a] ^= rest[b]
    return columns + rest


def case(
    name: str,
    distributed: LinearLayout,
    shared: LinearLayout,
    bits: int,
    vector: int | None,
) -> dict[str, Any]:
    """Return the addresses of one access of warp 0, and the wavefronts predicted."""
    access = shared_access(distributed, shared)
    columns = wavefront_columns(access, bits, vector)
    lanes = [
        access.apply({**dict.fromkeys(access.in_names, 0), "lane": 1 << i})["offset"]
        for i in range(5)
    ]
    held = len(columns) - len([c for c in columns if c in lanes])
    size = vector or 1 << held
    access_bytes = size * bits // 8
    conflicts = bank_conflicts(distributed, shared, bits, vector)
    groups = max(1, access_bytes * 32 // 128)
    addresses = [gauss.apply(lanes, lane) * bits // 8 for lane in range(32)]
    return {
        "case": name,
        "element_bits": bits,
        "access_bytes": access_bytes,
        "distinct_addresses": len(set(addresses)),
        "addresses": addresses,
        "conflicts": conflicts,
        "predicted": groups * (1 + conflicts),
        "subspace_count": subspace_count(columns, bits),
    }


def subspace_count(columns: list[int], bits: int) -> int:
    """Return what intersecting subspaces gives: blind to swizzles within a word.

    Bank rows are taken as the offset bits above one row of banks, and two lanes
    conflict only if their difference lies in them exactly.
    """
    row = 1024 // bits
    above = [1 << i for i in range(row.bit_length() - 1, 20)]
    return (1 << len(gauss.intersection(columns, above))) - 1


def child(seed: int, count: int, out: Path) -> None:
    """Launch every case once as a load and once as a store."""
    import cupy

    modules = {}
    for number, one in enumerate(cases(seed, count)):
        for kind in METRICS:
            key = kind, one["access_bytes"]
            if key not in modules:
                options = (
                    f"-DBYTES={one['access_bytes']}",
                    f"-DIS_LOAD={int(kind == 'load')}",
                    f"-DNAME=access_{kind}_{one['access_bytes']}",
                )
                name = options[2].split("=")[1]
                modules[key] = cupy.RawKernel(KERNEL, name, options=options)
            words = max(1, one["access_bytes"] // 4)
            addresses = cupy.asarray(one["addresses"], dtype=cupy.uint32)
            result = cupy.zeros(32 * words, dtype=cupy.uint32)
            modules[key]((1,), (32,), (addresses, result), shared_mem=SHARED_BYTES)
            cupy.cuda.Device().synchronize()
            got = result.get().reshape(32, words)
            wrong = 0
            for lane, at in enumerate(one["addresses"]):
                for i in range(words):
                    word = at + 4 * i
                    if kind == "load" and one["access_bytes"] < 4:
                        whole = (word // 4 * 4) * 2654435761 & 0xFFFFFFFF
                        whole >>= 8 * (word % 4)
                    else:
                        whole = word * 2654435761 & 0xFFFFFFFF
                    mask = (1 << 8 * min(4, one["access_bytes"])) - 1
                    wrong += int(got[lane, i]) & mask != whole & mask
            if one["distinct_addresses"] == 32 or kind == "load":
                with out.open("a") as file:
                    file.write(json.dumps([number, kind, wrong]) + "\n")


def counted(seed: int, count: int, folder: Path) -> list[dict[str, Any]]:
    """Run the child under ncu and join its counters to the cases."""
    wrong_file = folder / "wrong.jsonl"
    command = [
        "ncu",
        "--clock-control",
        "none",
        "--csv",
        "--kernel-name",
        "regex:access_",
        "--metrics",
        ",".join(METRICS.values()),
        sys.executable,
        __file__,
        "--child",
        str(wrong_file),
        "--seed",
        str(seed),
        "--cases",
        str(count),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ncu failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    start = done.stdout.index('"ID"')
    rows = list(csv.DictReader(io.StringIO(done.stdout[start:])))
    launches: dict[int, dict[str, int]] = {}
    for row in rows:
        metric = row["Metric Name"]
        value = int(float(row["Metric Value"].replace(",", "")))
        launches.setdefault(int(row["ID"]), {})[metric] = value
    wrong = {
        (number, kind): bad
        for number, kind, bad in map(json.loads, wrong_file.read_text().splitlines())
    }
    results = []
    ordered = [launches[key] for key in sorted(launches)]
    index = 0
    for number, one in enumerate(cases(seed, count)):
        for kind, metric in METRICS.items():
            measured = ordered[index][metric]
            index += 1
            results.append(
                {
                    **{k: v for k, v in one.items() if k != "addresses"},
                    "access": kind,
                    "measured": measured,
                    "wrong_values": wrong.get((number, kind), 0),
                    "agrees": measured == one["predicted"],
                }
            )
    return results


def main() -> None:
    """Measure, print what disagrees and a summary, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--child", type=Path)
    results = ROOT / "benchmarks" / "results" / "bank_conflicts_gpu.json"
    parser.add_argument("--out", type=Path, default=results)
    parser.add_argument("--commit", default=os.environ.get("COMMIT", ""))
    options = parser.parse_args()
    if options.child:
        child(options.seed, options.cases, options.child)
        return
    folder = options.out.parent
    folder.mkdir(parents=True, exist_ok=True)
    rows = counted(options.seed, options.cases, folder)
    (folder / "wrong.jsonl").unlink()
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    agreeing = sum(row["agrees"] for row in rows)
    finer = [r for r in rows if r["subspace_count"] != r["conflicts"]]
    report = {
        "gpu": name,
        "cupy": cupy.__version__,
        "commit": options.commit,
        "date": time.strftime("%Y-%m-%d"),
        "seed": options.seed,
        "accesses": len(rows),
        "agreeing": agreeing,
        "where_subspaces_undercount": len(finer),
        "agreeing_there": sum(row["agrees"] for row in finer),
        "rows": rows,
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    for row in rows:
        if not row["agrees"] or row["wrong_values"]:
            print({k: row[k] for k in row if k != "case"}, row["case"])
    print(
        f"{name}: {agreeing} of {len(rows)} accesses agree; where the subspace count "
        f"is too low: {report['agreeing_there']} of {len(finer)}"
    )


if __name__ == "__main__":
    main()
