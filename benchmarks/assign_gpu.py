"""Whole kernels with assigned layouts on a GPU, beside Triton's: right, and how fast.

Each kernel runs at four problem sizes. Both sides try the same tiles and numbers of
warps; every candidate is first compared with float64 on random data, outputs poisoned
before; then the best of each side run in turns, timed by CUDA events around several
calls, and medians are compared. A kernel that is wrong, refused or not reached before
the deadline is a row of its own.

    python benchmarks/assign_gpu.py --commit HASH --out assign_gpu.json --deadline 500
"""

import argparse
import json
import math
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

from benchmarks.assign_graphs import GRAPHS
from benchmarks.assign_triton import KERNELS
from compiler.assign import assign
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import TileKernel, tile_kernel

CALLS = 10
"""Calls between two events."""
ROUNDS = 15
Arrays = dict[str, torch.Tensor]
Sizes = dict[str, int]


def power(size: int) -> int:
    """Return the least power of two that is not smaller."""
    return 1 << max(0, size - 1).bit_length()


@dataclass(frozen=True)
class Problem:
    """What a kernel is run on.

    Attributes:
        sizes: Of the arrays.
        arrays: Inputs, and outputs that are poisoned.
        outputs: Names of the outputs.
        expected: Outputs in float64.
        grid: Tile's sizes -> programs.
        bound: Largest error, relative to the largest expected number.
    """

    sizes: Sizes
    arrays: Arrays
    outputs: tuple[str, ...]
    expected: Arrays
    grid: Callable[[tuple[int, ...]], tuple[int, ...]]
    bound: float


def random(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """Return random numbers on the device."""
    return torch.randn(*shape, device=DEVICE).to(dtype)


def empty(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    """Return poisoned memory on the device."""
    return torch.full(shape, float("nan"), device=DEVICE, dtype=dtype)


def softmax(m: int, n: int) -> Problem:
    """Rows of fp16."""
    x = random(m, n)
    return Problem(
        {"m": m, "n": n},
        {"x": x, "y": empty(m, n, dtype=torch.float16)},
        ("y",),
        {"y": x.double().softmax(1)},
        lambda tile: (m // tile[0],),
        2e-3,
    )


def layernorm_backward(m: int, n: int) -> Problem:
    """Gradients; the weights' are checked as sums over programs."""
    x, dy, w = random(m, n), random(m, n), random(n)
    wide = x.double()
    mean = wide.mean(1)
    rstd = 1 / (wide.var(1, unbiased=False) + 1e-5).sqrt()
    mean, rstd = mean.float(), rstd.float()
    xhat = (wide - mean.double()[:, None]) * rstd.double()[:, None]
    wdy = dy.double() * w.double()
    c1, c2 = (xhat * wdy).mean(1, keepdim=True), wdy.mean(1, keepdim=True)
    dx = (wdy - (xhat * c1 + c2)) * rstd.double()[:, None]
    arrays = {"x": x, "dy": dy, "dx": torch.full_like(x, float("nan")), "w": w}
    arrays |= {"mean": mean, "rstd": rstd}
    arrays |= {k: torch.zeros(m, n, device=DEVICE) for k in ("dw", "db")}
    expected = {"dx": dx, "dw": (dy.double() * xhat).sum(0), "db": dy.double().sum(0)}
    return Problem(
        {"m": m, "n": n},
        arrays,
        ("dx", "dw", "db"),
        expected,
        lambda tile: (m // tile[0],),
        2e-3,
    )


def transposed_add(m: int, n: int) -> Problem:
    """Sum of a matrix and a transposed one, fp32."""
    x, y = random(m, n, dtype=torch.float32), random(n, m, dtype=torch.float32)
    return Problem(
        {"m": m, "n": n},
        {"x": x, "y": y, "z": empty(m, n, dtype=torch.float32)},
        ("z",),
        {"z": x.double() + y.double().T},
        lambda tile: (m // tile[0], n // tile[1]),
        1e-6,
    )


def rope(m: int, heads: int) -> Problem:
    """Rotary embedding of heads of 128."""
    x = random(m, heads, 128)
    cos, sin = (random(m, 64, dtype=torch.float32) for _ in range(2))
    low, high = x.double()[..., 0::2], x.double()[..., 1::2]
    c, s = cos.double()[:, None], sin.double()[:, None]
    expected = torch.stack([low * c - high * s, high * c + low * s], -1)
    return Problem(
        {"m": m, "heads": heads},
        {"x": x, "y": torch.full_like(x, float("nan")), "cos": cos, "sin": sin},
        ("y",),
        {"y": expected.reshape(m, heads, 128)},
        lambda tile: (m // tile[0], heads),
        2e-3,
    )


def cross_entropy(m: int, n: int) -> Problem:
    """Losses and gradients of fp16 logits."""
    x = random(m, n)
    label = torch.randint(0, n, (m,), device=DEVICE, dtype=torch.int32)
    wide = x.double()
    rows = torch.arange(m, device=DEVICE)
    loss = wide.logsumexp(1) - wide[rows, label.long()]
    dx = wide.softmax(1)
    dx[rows, label.long()] -= 1
    return Problem(
        {"m": m, "n": n},
        {
            "x": x,
            "label": label,
            "loss": empty(m, dtype=torch.float32),
            "dx": torch.full_like(x, float("nan")),
        },
        ("loss", "dx"),
        {"loss": loss, "dx": dx},
        lambda tile: (m // tile[0],),
        2e-3,
    )


def gather_rows(m: int, n: int) -> Problem:
    """Elements of rows of ``n``, half as many as there are."""
    x = random(m, n, dtype=torch.float32)
    index = torch.randint(0, n, (m, n // 2), device=DEVICE, dtype=torch.int32)
    return Problem(
        {"m": m},
        {"x": x, "index": index, "y": empty(m, n // 2, dtype=torch.float32)},
        ("y",),
        {"y": x.double().gather(1, index.long())},
        lambda tile: (m // tile[0],),
        0.0,
    )


def reshaped_sum(m: int, n: int) -> Problem:
    """Sums over the 16 matrices' rows that a row of 16 * n is."""
    x = random(m, 16 * n)
    return Problem(
        {"m": m},
        {"x": x, "y": empty(m, n, dtype=torch.float16)},
        ("y",),
        {"y": x.double().reshape(m, 16, n).sum(1)},
        lambda tile: (m // tile[0],),
        2e-3,
    )


def attention(n: int, heads: int) -> Problem:
    """Attention forward, heads of 64."""
    q, k, v = (random(heads, n, 64) for _ in range(3))
    expected = torch.empty(heads, n, 64, device=DEVICE, dtype=torch.float64)
    for head in range(heads):  # all heads at once would not fit
        score = q[head].double() @ k[head].double().T / 8
        expected[head] = score.softmax(1) @ v[head].double()
    return Problem(
        {"n": n, "heads": heads},
        {"q": q, "k": k, "v": v, "o": torch.full_like(q, float("nan"))},
        ("o",),
        {"o": expected},
        lambda tile: (n // tile[0], heads),
        4e-3,
    )


def int8_matmul(m: int, n: int) -> Problem:
    """fp16 by int8, K of 4096."""
    k = 4096
    a = random(m, k)
    w = torch.randint(-128, 128, (k, n), device=DEVICE, dtype=torch.int8)
    scale = torch.rand(n, device=DEVICE) / 512
    expected = (a.double() @ w.double()) * scale.double()
    return Problem(
        {"m": m, "n": n, "k": k},
        {
            "a": a,
            "w": w,
            "scale": scale,
            "c": empty(m, n, dtype=torch.float16),
        },
        ("c",),
        {"c": expected},
        lambda tile: (m // tile[0], n // tile[1]),
        2e-3,
    )


def mxfp4_matmul(m: int, n: int) -> Problem:
    """bf16 by fp4 with scales of 32, K of 4096."""
    k = 4096
    a = random(m, k, dtype=torch.bfloat16)
    w = torch.randint(0, 256, (k // 2, n), device=DEVICE, dtype=torch.uint8)
    scale = torch.randint(120, 130, (k // 32, n), device=DEVICE, dtype=torch.uint8)
    half = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device=DEVICE).double()
    values = torch.cat([half, -half])
    pairs = torch.stack([values[(w & 15).long()], values[(w >> 4).long()]], 1)
    powers = torch.pow(2.0, scale.double() - 127).repeat_interleave(32, 0)
    expected = a.double() @ (pairs.reshape(k, n) * powers)
    return Problem(
        {"m": m, "n": n, "k": k},
        {"a": a, "w": w, "scale": scale, "c": empty(m, n, dtype=torch.bfloat16)},
        ("c",),
        {"c": expected},
        lambda tile: (m // tile[0], n // tile[1]),
        8e-3,
    )


Tiles = Callable[[int, int], list[tuple[int, ...]]]
CASES: dict[str, tuple[Any, list[tuple[int, int]], Tiles]] = {
    "softmax": (
        softmax,
        [(8192, 1024), (4096, 4096), (16384, 768), (2048, 8192)],
        lambda m, n: [(r, power(n)) for r in (1, 2, 4) if r * power(n) <= 16384],
    ),
    "layernorm_backward": (
        layernorm_backward,
        [(8192, 1024), (4096, 2048), (16384, 768), (2048, 4096)],
        lambda m, n: [(r, power(n)) for r in (2, 4, 8, 16) if r * power(n) <= 16384],
    ),
    "transposed_add": (
        transposed_add,
        [(4096, 4096), (8192, 2048), (2048, 3072), (6144, 6144)],
        lambda m, n: [(32, 32), (64, 32), (32, 64), (64, 64)],
    ),
    "rope": (
        rope,
        [(4096, 32), (8192, 16), (2048, 40), (16384, 8)],
        lambda m, n: [(r, 128) for r in (8, 16, 32)],
    ),
    "cross_entropy": (
        cross_entropy,
        [(8192, 1024), (4096, 4096), (16384, 768), (2048, 8192)],
        lambda m, n: [(r, power(n)) for r in (1, 2, 4) if r * power(n) <= 16384],
    ),
    "gather_rows": (
        gather_rows,
        [(65536, 128), (32768, 256), (131072, 64), (16384, 512)],
        lambda m, n: [(r, n, n // 2) for r in (4, 8, 16) if r * n <= 8192],
    ),
    "reshaped_sum": (
        reshaped_sum,
        [(65536, 32), (32768, 64), (131072, 16), (16384, 128)],
        lambda m, n: [(r, 16, n) for r in (4, 8, 16) if r * n <= 1024],
    ),
    "attention": (
        attention,
        [(4096, 32), (2048, 64), (1024, 96), (8192, 16)],
        lambda m, n: [(64, 64, 64), (128, 64, 64), (128, 128, 64)],
    ),
    "int8_matmul": (
        int8_matmul,
        [(4096, 4096), (1024, 8192), (2048, 3072), (512, 11008)],
        lambda m, n: [(64, 128, 64), (128, 128, 64)],
    ),
    "mxfp4_matmul": (
        mxfp4_matmul,
        [(4096, 4096), (1024, 8192), (2048, 3072), (512, 11008)],
        lambda m, n: [(64, 128, 64), (128, 128, 64)],
    ),
}
"""Name -> problem, sizes (the first two were used while building), tiles to try."""
WARPS = (2, 4, 8)
STAGES = 3
"""Slots of what loops copy ahead, on both sides."""
DEVICE = "cuda"


def wrong(problem: Problem, tile: tuple[int, ...]) -> str:
    """Return what is wrong with the outputs, "" if nothing is."""
    for name in problem.outputs:
        found, expected = problem.arrays[name].double(), problem.expected[name]
        if found.shape != expected.shape:  # a part for each program
            programs = problem.grid(tile)[0]
            found = found.reshape(-1)[: programs * expected.numel()]
            found = found.reshape(programs, -1).sum(0)
        error = float((found - expected).abs().max() / expected.abs().max())
        if not error <= problem.bound:
            return f"{name}: relative error {error:.3g}"
    return ""


def poison(problem: Problem) -> None:
    """Overwrite the outputs."""
    for name in problem.outputs:
        kind = problem.arrays[name]
        kind.fill_(float("nan") if name not in ("dw", "db") else 0)


def ours(name: str, tile: tuple[int, ...], warps: int) -> TileKernel:
    """Return our kernel for a tile."""
    return tile_kernel(assign(GRAPHS[name](*tile), warps), STAGES)


def our_call(
    kernel: TileKernel, problem: Problem, tile: tuple[int, ...]
) -> Callable[[], None]:
    """Return a function that launches our kernel."""
    function = getattr(load_module(kernel.text), kernel.name)
    arguments = [
        problem.arrays.get(key, problem.sizes.get(key)) for key in kernel.parameters
    ]
    grid = problem.grid(tile)

    def call() -> None:
        function[grid](*arguments, num_warps=kernel.warps)

    return call


def triton_call(
    name: str, problem: Problem, tile: tuple[int, ...], warps: int
) -> Callable[[], None]:
    """Return a function that launches Triton's kernel."""
    function, signature, _, constants = KERNELS[name]
    arguments = [problem.arrays.get(key, problem.sizes.get(key)) for key in signature]
    grid = problem.grid(tile)
    named = dict(zip(constants, tile, strict=True))

    def call() -> None:
        function[grid](*arguments, **named, num_warps=warps, num_stages=STAGES)

    return call


def milliseconds(call: Callable[[], None]) -> float:
    """Return the time of one call."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / CALLS


def best(
    problem: Problem, calls: dict[str, tuple[tuple[int, ...], Callable[[], None]]]
) -> tuple[str, dict[str, str], dict[str, float]]:
    """Check all candidates, and return the fastest right one.

    Returns:
        Its name, what was wrong with others, and the times of those that were right.
    """
    faults: dict[str, str] = {}
    times: dict[str, float] = {}
    for key, (tile, call) in calls.items():
        poison(problem)
        try:
            call()
            torch.cuda.synchronize()
        except Exception as error:
            faults[key] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        fault = wrong(problem, tile)
        if fault:
            faults[key] = fault
            continue
        milliseconds(call)
        times[key] = min(milliseconds(call) for _ in range(3))
    chosen = min(times, key=times.__getitem__) if times else ""
    return chosen, faults, times


Key = tuple[str, tuple[int, ...], int]
Kernels = dict[Key, "Future[TileKernel]"]


def measured(
    name: str, size: tuple[int, int], seen: bool, until: float, kernels: Kernels
) -> Any:
    """Return the row of one problem."""
    make, _, tiles_of = CASES[name]
    torch.manual_seed(0)
    problem = make(*size)
    sides: dict[str, dict[str, tuple[tuple[int, ...], Callable[[], None]]]]
    sides = {"ours": {}, "triton": {}}
    refused: dict[str, str] = {}
    for tile in tiles_of(*size):
        for warps in WARPS:
            key = f"{tile} x {warps}"
            sides["triton"][key] = tile, triton_call(name, problem, tile, warps)
            try:
                left = max(0.0, until - time.time())
                kernel = kernels[name, tile, warps].result(left)
            except Exception as error:
                refused[key] = f"{type(error).__name__}: {str(error)[:200]}"
                continue
            sides["ours"][key] = tile, our_call(kernel, problem, tile)
    row: dict[str, Any] = {"kernel": name, "size": size, "used_while_building": seen}
    chosen = {}
    for side, calls in sides.items():
        key, faults, times = best(problem, calls)
        row[side] = {"best": key, "faults": faults, "tried": len(calls), "ms": times}
        if key:
            chosen[side] = calls[key][1]
    row["ours"]["refused"] = refused
    row["right"] = not row["ours"]["faults"] and not refused
    if len(chosen) < 2:
        return row
    rounds: dict[str, list[float]] = {side: [] for side in chosen}
    for _ in range(ROUNDS):
        for side, call in chosen.items():
            rounds[side].append(milliseconds(call))
    for side, values in rounds.items():
        row[side]["median_ms"] = statistics.median(values)
    row["ratio"] = row["ours"]["median_ms"] / row["triton"]["median_ms"]
    return row


def main() -> None:
    """Run all, and write what there is after each problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", "--json", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--deadline", type=float, default=500.0, help="seconds")
    parser.add_argument("--kernels", default=",".join(CASES))
    parser.add_argument("--workers", type=int, default=12)
    options = parser.parse_args()
    started = time.time()
    until = started + options.deadline
    import triton

    rows: list[dict[str, Any]] = []
    result = {
        "commit": options.commit,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "rows": rows,
    }
    # every kernel at its first size before any at its second
    order = [
        (name, at) for at in range(4) for name in options.kernels.split(",") if name
    ]
    # assignments need no GPU: all of them at once, in the order they are wanted
    pool = ProcessPoolExecutor(options.workers, mp_context=get_context("spawn"))
    kernels: Kernels = {}
    for name, at in order:
        _, sizes, tiles_of = CASES[name]
        for tile in tiles_of(*sizes[at]):
            for warps in WARPS:
                if (name, tile, warps) not in kernels:
                    kernels[name, tile, warps] = pool.submit(ours, name, tile, warps)
    for name, at in order:
        size = CASES[name][1][at]
        if time.time() > until:
            rows.append({"kernel": name, "size": size, "skipped": "the deadline"})
            continue
        try:
            rows.append(measured(name, size, at < 2, until, kernels))
        except Exception:
            fault = traceback.format_exc()[-1500:]
            rows.append({"kernel": name, "size": size, "error": fault})
        result["seconds"] = round(time.time() - started, 1)
        result["summary"] = summary(rows)
        Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
        last = rows[-1]
        print(name, size, last.get("ratio", last.get("error", "no ratio")), flush=True)
    pool.shutdown(wait=False, cancel_futures=True)
    print(json.dumps(summary(rows), indent=1))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return cases, right ones, and ratios; what did not run counts against it."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if "ratio" in row:
            ratios.setdefault(row["kernel"], []).append(row["ratio"])
    every = [ratio for values in ratios.values() for ratio in values]

    def mean(values: list[float]) -> float:
        logs = [math.log(value) for value in values]
        return math.exp(sum(logs) / len(logs)) if logs else float("nan")

    return {
        "cases": len(rows),
        "right": sum(bool(row.get("right")) for row in rows),
        "timed": len(every),
        "geometric_mean": mean(every),
        "by_kernel": {name: mean(values) for name, values in ratios.items()},
    }


if __name__ == "__main__":
    main()
