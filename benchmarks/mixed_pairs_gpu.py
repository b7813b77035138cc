"""Which ordered pairs of operand types are multiplied right, by us and by Triton?

    PYTHONPATH=. python benchmarks/mixed_pairs_gpu.py --out results.json

Every ordered pair of nine types, three shapes, operands contiguous along k or along m
and n: the kernel of ``compiler.codegen.gluon.pair_matmul``, and on the same data

- "tl.dot": Triton's ``tl.dot`` on the two types as they are, or ``tl.dot_scaled`` where
  one is mxfp4: what the language promises;
- "tl.dot, upcast by hand": unpacked and upcast in the source to a type that holds both,
  the one that our rule names.

A result is right if integers are exact and else the error is less than 1e-4 of the
product in float64 (tf32 instead of float32 costs 3e-4). Outputs are poisoned. Each
kernel is compiled in a process of its own, since a compiler may abort; ours run first,
since a kernel that leaves its memory ends all that comes after it. What has been
counted is written after each pair; ``--resume`` goes on from there.
"""

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

CACHES = Path(tempfile.gettempdir()) / f"mixed-pairs-{os.getppid()}-{os.getpid()}"
for variable, folder in (
    ("TILEWRIGHT_CACHE", "tilewright"),
    ("TRITON_CACHE_DIR", "triton"),
):
    os.environ.setdefault(variable, str(CACHES / folder))

import torch
import triton
import triton.language as tl

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.pair_matmul import (
    KERNEL,
    NUM_WARPS,
    ORDERS,
    TILE,
    pair_kernel_text,
)
from compiler.mixed.pairs import OPERANDS, operand_type, unit_type
from compiler.triton_api import compile_gluon, compile_kernel, launch_compiled
from verify.mixed import random_operand

RESULTS = Path(__file__).parent / "results" / "mixed_pairs_gpu.json"
SHAPES = ((16, 32, 64), (512, 256, 1024), (4096, 4096, 4096))
"""m, n, k."""

TOLERANCE = 1e-4
POISON = -0x55555556
WAYS = ("ours", "tl.dot", "tl.dot, upcast by hand")
POINTERS = {
    "fp32": "*fp32",
    "tf32": "*fp32",
    "fp16": "*fp16",
    "bf16": "*bf16",
    "fp8e4m3": "*fp8e4nv",
    "fp8e5m2": "*fp8e5",
    "int8": "*i8",
    "int4": "*i8",
    "mxfp4": "*u8",
}
SCALED = {
    "mxfp4": "e2m1",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8e4m3": "e4m3",
    "fp8e5m2": "e5m2",
}
UNITS = {
    "int8": tl.int8,
    "fp16": tl.float16,
    "bf16": tl.bfloat16,
    "tf32": tl.float32,
    "fp32": tl.float32,
}


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def load_rows(base, first, start, rows, k, ROWS: tl.constexpr, DEPTH: tl.constexpr, ALONG_K: tl.constexpr, PACKED: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501, N803  # one line for triton; its spelling of constants
    """Load [rows, k], two elements in one where packed along the contiguous axis."""
    height: tl.constexpr = ROWS if ALONG_K else ROWS // PACKED
    width: tl.constexpr = DEPTH // PACKED if ALONG_K else DEPTH
    row = first * height + tl.arange(0, height)[:, None]
    if ALONG_K:
        column = start // PACKED + tl.arange(0, width)[None, :]
        inside = (row < rows) & (column < k // PACKED)
        place = row.to(tl.int64) * (k // PACKED) + column
    else:
        column = start + tl.arange(0, width)[None, :]
        inside = (row < rows // PACKED) & (column < k)
        place = column.to(tl.int64) * (rows // PACKED) + row
    return tl.load(base + place, mask=inside)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def load_scales(base, first, start, rows, k, ROWS: tl.constexpr, DEPTH: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: N803  # its spelling of constants
    """Load the e8m0 scales of a tile [rows, depth / 32]."""
    row = first * ROWS + tl.arange(0, ROWS)[:, None]
    column = start // 32 + tl.arange(0, DEPTH // 32)[None, :]
    inside = (row < rows) & (column < k // 32)
    return tl.load(base + row * (k // 32) + column, mask=inside, other=127)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def upcast(x, scale, NAME: tl.constexpr, TARGET: tl.constexpr, ALONG_K: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: N803  # its spelling of constants
    """Unpack and convert a tile as one does by hand."""
    if NAME == "int4":
        low = ((x << 4) >> 4).to(tl.int8)
        high = (x >> 4).to(tl.int8)
    if NAME == "mxfp4":
        code = x.to(tl.uint16)
        low = (((code & 8) << 12) | ((code & 7) << 9)).to(tl.uint16)
        low = low.to(tl.float16, bitcast=True) * 16384.0
        code = code >> 4
        high = (((code & 8) << 12) | ((code & 7) << 9)).to(tl.uint16)
        high = high.to(tl.float16, bitcast=True) * 16384.0
    if NAME == "int4" or NAME == "mxfp4":
        pair = tl.join(low, high)
        if ALONG_K:
            x = tl.reshape(pair, [x.shape[0], 2 * x.shape[1]])
        else:
            x = tl.reshape(tl.permute(pair, [0, 2, 1]), [2 * x.shape[0], x.shape[1]])
    if NAME == "mxfp4":
        factor = tl.exp2(scale.to(tl.float32) - 127.0)
        x = x.to(tl.float32) * factor
    elif TARGET != tl.int8:  # noqa: SIM300  # triton's spelling of constants
        x = x.to(tl.float32)
    return x.to(TARGET)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def store(out, acc, tile_m, tile_n, m, n, TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: N803  # its spelling of constants
    """Store a tile of the result."""
    row = tile_m * TILE + tl.arange(0, TILE)[:, None]
    column = tile_n * TILE + tl.arange(0, TILE)[None, :]
    place = row.to(tl.int64) * n + column
    tl.store(out + place, acc, mask=(row < m) & (column < n))


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def plain(a, b, a_scale, b_scale, out, m, n, k, A: tl.constexpr, B: tl.constexpr, A_K: tl.constexpr, B_K: tl.constexpr, A_PACKED: tl.constexpr, B_PACKED: tl.constexpr, TARGET: tl.constexpr, ACC: tl.constexpr, HAND: tl.constexpr, PRECISION: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501, N803  # one line for triton; its spelling of constants
    """Multiply by ``tl.dot``, with or without upcasts by hand."""
    tile_m, tile_n = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros([TILE, TILE], ACC)
    for start in range(0, k, 32):
        x = load_rows(a, tile_m, start, m, k, TILE, 32, A_K, A_PACKED)
        y = load_rows(b, tile_n, start, n, k, TILE, 32, B_K, B_PACKED)
        if HAND:
            if A == "mxfp4":
                s = load_scales(a_scale, tile_m, start, m, k, TILE, 32)
            else:
                s = 0
            x = upcast(x, s, A, TARGET, A_K)
            if B == "mxfp4":
                t = load_scales(b_scale, tile_n, start, n, k, TILE, 32)
            else:
                t = 0
            y = upcast(y, t, B, TARGET, B_K)
        acc = tl.dot(x, tl.trans(y), acc, input_precision=PRECISION, out_dtype=ACC)
    store(out, acc, tile_m, tile_n, m, n, TILE)


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def scaled(a, b, a_scale, b_scale, out, m, n, k, A: tl.constexpr, B: tl.constexpr, A_K: tl.constexpr, B_K: tl.constexpr, A_PACKED: tl.constexpr, B_PACKED: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501, N803  # one line for triton; its spelling of constants
    """Multiply by ``tl.dot_scaled``."""
    tile_m, tile_n = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, k, 64):
        x = load_rows(a, tile_m, start, m, k, TILE, 64, A_K, A_PACKED)
        y = load_rows(b, tile_n, start, n, k, TILE, 64, B_K, B_PACKED)
        s = None
        if A == "e2m1":
            s = load_scales(a_scale, tile_m, start, m, k, TILE, 64)
        t = None
        if B == "e2m1":
            t = load_scales(b_scale, tile_n, start, n, k, TILE, 64)
        acc = tl.dot_scaled(x, s, A, tl.trans(y), t, B, acc, lhs_k_pack=A_K or A_PACKED == 1, rhs_k_pack=B_K or B_PACKED == 1)  # fmt: skip  # noqa: E501  # one line for triton
    store(out, acc, tile_m, tile_n, m, n, TILE)


class Job(NamedTuple):
    """One kernel."""

    way: str
    a: str
    b: str
    order: str


def compile_job(job: Job, arch: int) -> Any:
    """Compile a kernel, from the cache on disk where it is there.

    Raises:
        TypeError: The language has no such operand.
    """
    kinds = operand_type(job.a), operand_type(job.b)
    aligned = ("a", "b", "a_scale", "b_scale", "out", "m", "n", "k")
    if job.way == "ours":
        text = pair_kernel_text(*kinds, (job.order, job.order))
        return compile_gluon(
            getattr(load_module(text.text), KERNEL),
            text.signature,
            {},
            aligned=aligned,
            num_warps=NUM_WARPS,
            arch=arch,
        )
    unit = unit_type(*kinds)
    along_k = job.order == "k"
    hand = job.way != "tl.dot"
    signature = {
        "a": POINTERS[job.a],
        "b": POINTERS[job.b],
        "a_scale": "*u8",
        "b_scale": "*u8",
        "out": "*i32" if unit.whole else "*fp32",
        "m": "i32",
        "n": "i32",
        "k": "i32",
    }
    packed = [2 if kind.bits == 4 else 1 for kind in kinds]
    constants: dict[str, Any] = {
        "A": job.a,
        "B": job.b,
        "A_K": along_k,
        "B_K": along_k,
        "A_PACKED": packed[0],
        "B_PACKED": packed[1],
        "TILE": TILE,
    }
    if not hand and "int4" in (job.a, job.b):
        raise TypeError("the language has no int4")
    if not hand and "mxfp4" in (job.a, job.b):
        if job.a not in SCALED or job.b not in SCALED:
            raise TypeError("tl.dot_scaled does not take this type")
        constants |= {"A": SCALED[job.a], "B": SCALED[job.b]}
        return compile_kernel(
            scaled, signature, constants, aligned=aligned, num_warps=4, arch=arch
        )
    precision = "ieee" if "fp32" in (job.a, job.b) else "tf32"
    constants |= {
        "TARGET": UNITS[unit.name],
        "ACC": tl.int32 if unit.whole else tl.float32,
        "HAND": hand,
        "PRECISION": precision,
    }
    return compile_kernel(
        plain, signature, constants, aligned=aligned, num_warps=4, arch=arch
    )


def compile_alone(job: Job, arch: int, sender: Any) -> None:
    """Compile in this process and send what went wrong, or nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the compiler prints its modules
    try:
        compile_job(job, arch)
    except Exception as error:  # the answer
        lines = [line for line in str(error).splitlines() if line.strip()]
        said = f"{type(error).__name__}: {lines[-1] if lines else ''}"
        sender.send(said[:200])
    else:
        sender.send("")


def compile_apart(job: Job, arch: int) -> str:
    """Compile in a process of its own; return what went wrong, or nothing."""
    context = get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=compile_alone, args=(job, arch, sender))
    process.start()
    sender.close()
    try:
        answer: str = receiver.recv() if receiver.poll(120) else "no answer in 120 s"
    except EOFError:
        answer = "the process died"
    if process.is_alive():
        process.join(10)
    if process.is_alive():
        process.kill()
    return answer


def all_jobs(types: Sequence[str], ways: tuple[str, ...] = WAYS) -> list[Job]:
    """Return all kernels."""
    pairs = itertools.product(types, types)
    return [Job(w, a, b, o) for (a, b), o, w in itertools.product(pairs, ORDERS, ways)]


def compile_all(jobs: list[Job], workers: int, arch: int) -> dict[Job, str]:
    """Return what went wrong with each kernel, or nothing."""
    context: Any = get_context("forkserver")
    context.set_forkserver_preload(["torch", "triton"])
    with ThreadPoolExecutor(workers) as pool:
        answers = pool.map(lambda job: compile_apart(job, arch), jobs)
        return dict(zip(jobs, answers, strict=True))


def judge(job: Job, compiled: Any, shape: tuple[int, int, int], data: Any) -> str:
    """Run a kernel; return what is wrong with its result, or nothing."""
    m, n, k = shape
    a, b, exact = data
    out = torch.full((m, n), POISON, dtype=torch.int32, device="cuda")
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE), 1)
    arguments: tuple[Any, ...] = (a.data, b.data, a.scales, b.scales, out, m, n, k)
    # constants are arguments too, which are not looked at
    arguments += (None,) * (len(compiled.src.signature) - len(arguments))
    launch_compiled(compiled, grid, arguments)
    torch.cuda.synchronize()
    whole = unit_type(operand_type(job.a), operand_type(job.b)).whole
    got = (out if whole else out.view(torch.float32)).double()
    error = float((got - exact).norm() / exact.norm())
    right = error == 0 if whole else error < TOLERANCE
    return "" if right else f"error {error:.3g}"


def main() -> int:
    """Run the grid; return 1 if one of ours is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", "--json", type=Path, default=RESULTS)
    parser.add_argument("--commit", default="unknown", help="the commit measured")
    parser.add_argument("--deadline", type=float, default=540, help="[s]")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--compile-only", action="store_true", help="no GPU; sm_90")
    parser.add_argument("--only", nargs="+", default=list(OPERANDS), choices=OPERANDS)
    parser.add_argument("--resume", action="store_true", help="keep what --out has")
    options = parser.parse_args()
    begin = time.monotonic()
    jobs = all_jobs(options.only)
    arch = 90
    if not options.compile_only:
        major, minor = torch.cuda.get_device_capability()
        arch = 10 * major + minor
    failed = compile_all(jobs, options.workers, arch)
    compiled_in = round(time.monotonic() - begin, 1)
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": options.commit,
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "shapes": SHAPES,
        "orders": ORDERS,
        "tolerance": TOLERANCE,
        "compile_seconds": compiled_in,
        "compiled": dict(Counter(job.way for job in jobs if not failed[job])),
        "kernels": dict(Counter(job.way for job in jobs)),
    }
    print(f"compiled in {compiled_in} s: {report['compiled']}", flush=True)
    if options.compile_only:
        for said, count in Counter(
            (job.way, failed[job]) for job in jobs if failed[job]
        ).most_common(30):
            print(count, *said)
        return 1 if report["compiled"]["ours"] < report["kernels"]["ours"] else 0
    report["gpu"] = torch.cuda.get_device_name()
    report |= {"done": [], "right": {}, "cases": {}, "wrong": []}
    if options.resume and options.out.exists():
        before = json.loads(options.out.read_text())
        if before["commit"] != options.commit:
            parser.error(f"{options.out} is of commit {before['commit']}")
        report |= {key: before[key] for key in ("done", "right", "cases", "wrong")}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    run(jobs, failed, arch, begin + options.deadline, report, options.out)
    report["seconds"] = round(time.monotonic() - begin, 1)
    save(report, options.out)
    ours = report["ways"]["ours"]
    return 1 if ours["right"] < ours["cases"] or report["skipped"] else 0


def save(report: dict[str, Any], target: Path) -> None:
    """Write what has been counted."""
    report["ways"] = {
        way: {
            "right": report["right"].get(way, 0),
            "cases": cases,
            "rate": round(report["right"].get(way, 0) / cases, 4),
        }
        for way, cases in report["cases"].items()
    }
    target.write_text(json.dumps(report, indent=1) + "\n")


def run(
    jobs: list[Job],
    failed: dict[Job, str],
    arch: int,
    until: float,
    report: dict[str, Any],
    target: Path,
) -> None:
    """Run all kernels on all shapes, ours first, and count."""
    report["skipped"] = 0
    kernels = {job: compile_job(job, arch) for job in jobs if not failed[job]}
    by_pair: dict[tuple[str, str, str], list[Job]] = {}
    for job in jobs:
        by_pair.setdefault((job.a, job.b, job.order), []).append(job)
    passes = [(way,) for way in WAYS]
    for ways, shape, (pair, given) in itertools.product(
        (passes[0], sum(passes[1:], ())), SHAPES, by_pair.items()
    ):
        key = f"{' '.join(pair)} {shape} {', '.join(ways)}"
        wanted = [job for job in given if job.way in ways]
        if key in report["done"]:
            continue
        if time.monotonic() > until:
            report["skipped"] += len(wanted)
            continue
        m, n, k = shape
        first, second, order = pair
        a = random_operand(first, m, k, order, seed=1, device="cuda")
        b = random_operand(second, n, k, order, seed=2, device="cuda")
        data = a, b, a.values @ b.values.T
        for job in wanted:
            report["cases"][job.way] = report["cases"].get(job.way, 0) + 1
            said = failed[job]
            if not said:
                try:
                    said = judge(job, kernels[job], shape, data)
                except Exception as error:  # counted, and the run goes on
                    said = f"{type(error).__name__}: {str(error)[:200]}"
            report["right"][job.way] = report["right"].get(job.way, 0) + (not said)
            if said:
                report["wrong"].append({**job._asdict(), "shape": shape, "what": said})
        report["done"].append(key)
        save(report, target)
        if pair == list(by_pair)[-1]:
            print(f"{shape}: {report['ways']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
