"""Whole kernels with assigned layouts on a GPU, beside Triton's: right, and how fast.

Each kernel runs at four problem sizes. Both sides try the same tiles, numbers of warps
and, for products, slots of what loops copy ahead; every candidate is first compared
with float64 on random data, outputs poisoned before; then the best of each side run in
turns, timed by CUDA events around CUDA graphs of several calls, and medians are
compared. Processes without the GPU compile everything before, into Triton's cache on
disk. A kernel that is wrong, refused or not reached before the deadline is a row of its
own; with ``--resume`` rows of the same commit that are there are kept.

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
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

from benchmarks import turns
from benchmarks.assign_graphs import GRAPHS
from benchmarks.assign_triton import KERNELS, OTHERS, WRONG
from compiler.assign import assign
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import TileKernel, tile_kernel

CALLS = 10
"""Calls of a CUDA graph, which runs between two events."""
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


def attention_fp8(n: int, heads: int) -> Problem:
    """Attention forward in fp8 (e5m2), heads of 64.

    Probabilities are rounded to two bits of mantissa, so each is off by at most 1/8.
    """
    kind = torch.float8_e5m2
    q, k = (random(heads, n, 64, dtype=kind) for _ in range(2))
    v = random(heads, 64, n, dtype=kind)
    wide = [one.float().double() for one in (q, k, v)]
    expected = torch.empty(heads, n, 64, device=DEVICE, dtype=torch.float64)
    for head in range(heads):  # all heads at once would not fit
        score = wide[0][head] @ wide[1][head].T / 8
        expected[head] = score.softmax(1) @ wide[2][head].T
    return Problem(
        {"n": n, "heads": heads},
        {"q": q, "k": k, "v": v, "o": empty(heads, n, 64, dtype=torch.float16)},
        ("o",),
        {"o": expected},
        lambda tile: (n // tile[0], heads),
        0.125,
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
        [(32768, 1024), (16384, 4096), (65536, 768), (8192, 8192)],
        lambda m, n: [(r, power(n)) for r in (1, 2, 4) if r * power(n) <= 16384],
    ),
    "layernorm_backward": (
        layernorm_backward,
        [(32768, 1024), (16384, 2048), (65536, 768), (8192, 4096)],
        lambda m, n: [(r, power(n)) for r in (2, 4, 8, 16) if r * power(n) <= 16384],
    ),
    "transposed_add": (
        transposed_add,
        [(8192, 8192), (16384, 4096), (4096, 6144), (6144, 6144)],
        lambda m, n: [(32, 32), (64, 32), (32, 64), (64, 64)],
    ),
    "rope": (
        rope,
        [(8192, 64), (16384, 32), (8192, 40), (32768, 8)],
        lambda m, n: [(r, 128) for r in (8, 16, 32)],
    ),
    "cross_entropy": (
        cross_entropy,
        [(32768, 1024), (16384, 4096), (65536, 768), (8192, 8192)],
        lambda m, n: [(r, power(n)) for r in (1, 2, 4) if r * power(n) <= 16384],
    ),
    "gather_rows": (
        gather_rows,
        [(262144, 128), (131072, 256), (524288, 64), (65536, 512)],
        lambda m, n: [(r, n, n // 2) for r in (4, 8, 16) if r * n <= 8192],
    ),
    "reshaped_sum": (
        reshaped_sum,
        [(131072, 32), (65536, 64), (262144, 16), (32768, 128)],
        lambda m, n: [(r, 16, n) for r in (4, 8, 16) if r * n <= 1024],
    ),
    "attention": (
        attention,
        [(4096, 32), (2048, 64), (1024, 96), (8192, 16)],
        lambda m, n: [(64, 64, 64), (128, 64, 64), (128, 128, 64)],
    ),
    "attention_fp8": (
        attention_fp8,
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
PRODUCTS = ("attention", "attention_fp8", "int8_matmul", "mxfp4_matmul")
WARPS = (2, 4, 8)
STAGES = (2, 3, 4)
"""Slots of what loops copy ahead, on both sides."""
DEVICE = "cuda"


class Candidate(NamedTuple):
    """How a kernel is cut.

    Attributes:
        tile: Sizes of the tile [elements].
        warps: Of a program.
        stages: Slots of what loops copy ahead.
        version: Which of Triton's kernels, if there are several.
    """

    tile: tuple[int, ...]
    warps: int
    stages: int
    version: int = 0

    @property
    def name(self) -> str:
        """What the rows call it."""
        which = f", kernel {self.version}" if self.version else ""
        return f"{self.tile} x {self.warps}, {self.stages} stages{which}"


def candidates(name: str, size: tuple[int, int]) -> list[Candidate]:
    """Return what both sides try."""
    tiles = CASES[name][2](*size)
    if name in PRODUCTS:  # a group of wgmma is four warps
        return [
            Candidate(tile, warps, stages)
            for tile in tiles
            for warps in WARPS[1:]
            for stages in STAGES
        ]
    return [Candidate(tile, warps, 1) for tile in tiles for warps in WARPS]


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


def versions(name: str) -> list[Any]:
    """Return Triton's kernels of a name: of those that are right, the best counts."""
    return [KERNELS[name][0], *OTHERS.get(name, ())]


Key = tuple[str, Candidate]
Kernels = dict[Key, "Future[tuple[TileKernel, str]]"]


def prepared(
    name: str, candidate: Candidate, sizes: Sequence[tuple[int, int]]
) -> tuple[TileKernel, str]:
    """Return our kernel, and fill the cache on disk with both sides' machine code.

    Runs in a process of its own, which leaves the GPU alone.

    Args:
        name: Of the kernel.
        candidate: How it is cut.
        sizes: Problems that it will run on, which kernels are specialised for.

    Returns:
        The kernel, and what went wrong with Triton's, "" if nothing did.
    """
    from benchmarks import fake_triton

    global DEVICE
    DEVICE = "meta"
    fake_triton.install()
    tile, warps, stages, _ = candidate
    kernel = tile_kernel(assign(GRAPHS[name](*tile), warps), stages)
    fault = ""
    for size in sizes:
        problem = CASES[name][0](*size)
        arrays = {key: array.dtype for key, array in problem.arrays.items()}
        given: Any = {**problem.sizes, **arrays}
        function = getattr(load_module(kernel.text), kernel.name)
        arguments = [given[key] for key in kernel.parameters]
        made = function.warmup(*arguments, grid=(1,), num_warps=warps)
        fake_triton.loadable(made)
        _, signature, _, constants = KERNELS[name]
        arguments = [given[key] for key in signature]
        named = dict(zip(constants, tile, strict=True))
        for function in versions(name):
            try:
                function.warmup(
                    *arguments, grid=(1,), **named, num_warps=warps, num_stages=stages
                )
            except Exception as error:  # said in the row
                fault = f"{type(error).__name__}: {str(error)[:200]}"
    return kernel, fault


def our_call(
    kernel: TileKernel, problem: Problem, candidate: Candidate
) -> Callable[[], None]:
    """Return a function that launches our kernel."""
    function = getattr(load_module(kernel.text), kernel.name)
    arguments = [
        problem.arrays.get(key, problem.sizes.get(key)) for key in kernel.parameters
    ]
    grid = problem.grid(candidate.tile)

    def call() -> None:
        function[grid](*arguments, num_warps=kernel.warps)

    return call


def triton_call(
    name: str, problem: Problem, candidate: Candidate
) -> Callable[[], None]:
    """Return a function that launches Triton's kernel."""
    _, signature, _, constants = KERNELS[name]
    function = versions(name)[candidate.version]
    arguments = [problem.arrays.get(key, problem.sizes.get(key)) for key in signature]
    grid = problem.grid(candidate.tile)
    named: Any = dict(zip(constants, candidate.tile, strict=True))
    named |= {"num_warps": candidate.warps, "num_stages": candidate.stages}

    def call() -> None:
        function[grid](*arguments, **named)

    return call


def recorded(call: Callable[[], None]) -> Any:
    """Return a CUDA graph of several calls; one call must have run before."""
    torch.cuda.synchronize()
    graph: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    return graph


def milliseconds(graph: Any, replays: int = 1) -> float:
    """Return the time of one call."""
    event: Any = torch.cuda.Event
    start, end = (event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / CALLS / replays


Calls = dict[Candidate, Callable[[], None]]


def best(
    problem: Problem, calls: Calls, until: float
) -> tuple[Candidate | None, dict[str, str], dict[str, float]]:
    """Check all candidates, and return the fastest right one.

    Returns:
        It, what was wrong with others, and the times of those that were right [ms].
    """
    faults: dict[str, str] = {}
    times: dict[Candidate, float] = {}
    for candidate, call in calls.items():
        if time.time() > until:
            faults[candidate.name] = "not reached before the deadline"
            continue
        poison(problem)
        try:
            call()
            torch.cuda.synchronize()
            fault = wrong(problem, candidate.tile)
            if fault:
                faults[candidate.name] = fault
                continue
            graph = recorded(call)
            milliseconds(graph)
            times[candidate] = min(milliseconds(graph) for _ in range(3))
        except Exception as error:  # said in the row
            faults[candidate.name] = f"{type(error).__name__}: {str(error)[:200]}"
    chosen = min(times, key=times.__getitem__) if times else None
    shown = {key.name: round(value, 6) for key, value in times.items()}
    return chosen, faults, shown


def measured(
    name: str, size: tuple[int, int], seen: bool, until: float, kernels: Kernels
) -> Any:
    """Return the row of one problem."""
    torch.manual_seed(0)
    problem = CASES[name][0](*size)
    sides: dict[str, Calls] = {"ours": {}, "triton": {}}
    refused: dict[str, str] = {}
    for candidate in candidates(name, size):
        for version in range(len(versions(name))):
            theirs = candidate._replace(version=version)
            sides["triton"][theirs] = triton_call(name, problem, theirs)
        try:
            left = max(0.0, until - time.time())
            kernel, _ = kernels[name, candidate].result(left)
        except Exception as error:  # said in the row
            refused[candidate.name] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        sides["ours"][candidate] = our_call(kernel, problem, candidate)
    row: dict[str, Any] = {"kernel": name, "size": size, "used_while_building": seen}
    with turns.alone():
        compare(row, problem, sides, refused, until)
    return row


def compare(
    row: dict[str, Any],
    problem: Problem,
    sides: dict[str, Calls],
    refused: dict[str, str],
    until: float,
) -> None:
    """Choose each side's best, and time the two; what is found goes into the row."""
    name = row["kernel"]
    chosen: dict[str, Callable[[], None]] = {}
    for side, calls in sides.items():
        found, faults, times = best(problem, calls, until)
        row[side] = {"faults": faults, "tried": len(calls), "ms": times}
        if found:
            row[side]["best"] = found.name
            chosen[side] = calls[found]
    row["ours"]["refused"] = refused
    if name in OTHERS:
        named = [function.fn.__name__ for function in versions(name)]
        row["triton"]["kernels"] = named
    if name in WRONG:
        row["triton"]["known"] = WRONG[name]
    # a candidate that needs more shared memory than there is counts for neither side
    wrongs = [f for f in row["ours"]["faults"].values() if "OutOfResources" not in f]
    row["right"] = bool(row["ours"]["ms"]) and not wrongs and not refused
    if len(chosen) < 2:
        return
    graphs = {side: recorded(call) for side, call in chosen.items()}
    rounds: dict[str, list[float]] = {side: [] for side in graphs}
    for number in range(ROUNDS):
        names = list(graphs)
        for side in names if number % 2 else reversed(names):
            rounds[side].append(milliseconds(graphs[side]))
    for side, values in rounds.items():
        row[side]["median_ms"] = statistics.median(values)
    row["ratio"] = row["ours"]["median_ms"] / row["triton"]["median_ms"]


def kept(target: Path, commit: str) -> list[dict[str, Any]]:
    """Return the rows of an earlier run of the same commit that have a ratio."""
    if not target.exists():
        return []
    before = json.loads(target.read_text())
    if before["commit"] != commit:
        raise SystemExit(
            f"{target} is of commit {before['commit']}, not {commit}; leave out "
            "--resume"
        )
    return [row for row in before["rows"] if "ratio" in row]


def main() -> None:
    """Run all, and write what there is after each problem."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", "--json", required=True, type=Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--deadline", type=float, default=500.0, help="seconds")
    parser.add_argument(
        "--only", "--kernels", default=",".join(CASES), help="kernels, commas between"
    )
    parser.add_argument("--sizes", type=int, default=4, help="how many of the four")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        parser.error(f"no kernels {unknown}; there are {', '.join(CASES)}")
    started = time.time()
    until = started + options.deadline
    import triton

    rows = kept(options.out, options.commit) if options.resume else []
    there = {(row["kernel"], tuple(row["size"])) for row in rows}
    result: dict[str, Any] = {
        "commit": options.commit,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "rows": rows,
    }
    # every kernel at its first size before any at its second
    order = [
        (name, at)
        for at in range(options.sizes)
        for name in names
        if (name, CASES[name][1][at]) not in there
    ]
    # compiling needs no GPU: all of it at once, in the order in which it is wanted
    wanted: dict[Key, list[tuple[int, int]]] = {}
    for name, at in order:
        size = CASES[name][1][at]
        for candidate in candidates(name, size):
            wanted.setdefault((name, candidate), []).append(size)
    pool = ProcessPoolExecutor(options.workers, mp_context=get_context("spawn"))
    kernels: Kernels = {
        key: pool.submit(prepared, *key, sizes) for key, sizes in wanted.items()
    }
    for name, at in order:
        size = CASES[name][1][at]
        if time.time() > until:
            rows.append({"kernel": name, "size": size, "skipped": "the deadline"})
            continue
        try:
            rows.append(measured(name, size, at < 2, until, kernels))
        except Exception:  # said in the row
            fault = traceback.format_exc()[-1500:]
            rows.append({"kernel": name, "size": size, "error": fault})
        result["seconds"] = round(time.time() - started, 1)
        result["summary"] = summary(rows)
        options.out.write_text(json.dumps(result, indent=1) + "\n")
        last = rows[-1]
        shown = last.get("ratio", last.get("error", "no ratio"))
        print(f"{result['seconds']:6} s", name, size, shown, flush=True)
    pool.shutdown(wait=False, cancel_futures=True)
    result["seconds"] = round(time.time() - started, 1)
    result["summary"] = summary(rows)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["summary"], indent=1))


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
