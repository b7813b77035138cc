"""Layer norm's backward pass: column sums on the way over rows, apart, and Inductor's.

    python benchmarks/column_sums_gpu.py --commit HASH --out column_sums.json

``folded`` is what the compiler does; ``unpiped`` loads rows only when they are needed,
``wide`` has tiles of twice the elements, ``apart`` has sums in kernels of their own.
Gradients are compared with float64's on random data before anything is timed. Outputs
are new memory; the cache of the GPU holds none of the larger cases.
"""

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from torch import Tensor

from compiler.codegen.triton import folding
from compiler.schedule import pipeline, reductions

ROWS = (2048, 8192, 32768)
LENGTHS = (768, 1024, 4096, 8192)
TYPES = {"bfloat16": (torch.bfloat16, 1e-2), "float32": (torch.float32, 1e-4)}
"""Name -> type, and the greatest relative error (of norms)."""

WAYS = ("folded", "unpiped", "wide", "apart", "inductor")
CALLS = 20
ROUNDS = 5


def gradients(
    dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of input, weight and bias."""
    made: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.native_layer_norm_backward(
        dy, x, [x.shape[-1]], mean, rstd, weight, weight, [True, True, True]
    )
    return made


def arguments(
    rows: int, length: int, dtype: torch.dtype, device: str = "cuda"
) -> tuple[Tensor, ...]:
    """Return random arguments of :func:`gradients`."""
    dy, x = (torch.randn(rows, length, device=device, dtype=dtype) for _ in range(2))
    weight = torch.rand(length, device=device, dtype=dtype)
    whole = x.float()
    mean = whole.mean(-1, keepdim=True)
    rstd = (whole.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()
    return dy, x, mean, rstd, weight


def errors(found: tuple[Tensor, ...], args: tuple[Tensor, ...]) -> list[float]:
    """Return the relative errors of the gradients, by norms."""
    dy, x, mean, rstd, weight = (arg.double() for arg in args)
    norm = (x - mean) * rstd
    g = dy * weight
    along = g.mean(-1, keepdim=True) + norm * (g * norm).mean(-1, keepdim=True)
    exact = rstd * (g - along), (dy * norm).sum(0), dy.sum(0)
    return [
        float((mine.double() - right).norm() / right.norm())
        for mine, right in zip(found, exact, strict=True)
    ]


@contextlib.contextmanager
def way_of(name: str) -> Iterator[None]:
    """Let the compiler work in another way."""
    with contextlib.ExitStack() as stack:

        def put(module: Any, what: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(module, what, value))

        if name == "unpiped":
            put(folding, "_PIPELINED", 1 << 30)
        elif name == "wide":
            put(folding, "_TILE", 2 * folding._TILE)
            put(folding, "_LANE_ELEMENTS", 2 * folding._LANE_ELEMENTS)
        elif name == "apart":
            put(pipeline, "with_column_sums", lambda *_: None)
            put(reductions, "rows_beside", lambda _: lambda _: None)
        yield


def compiled(name: str, args: tuple[Tensor, ...]) -> Callable[[], Any]:
    """Return a call of the compiled gradients."""
    torch._dynamo.reset()
    ready: Any
    if name == "inductor":
        ready = torch.compile(gradients, dynamic=False)
    else:
        from tilewright.backend import compile as ours

        options: dict[str, Any] = {"fallback": False, "cache": False}
        ready = torch.compile(gradients, backend=ours, options=options, dynamic=False)
    with way_of(name), torch.no_grad():
        ready(*args)
    return lambda: ready(*args)


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of one call [s]."""
    event: Any = torch.cuda.Event
    start, end = event(enable_timing=True), event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / CALLS / 1e3


def measured(rows: int, length: int, kind: str) -> dict[str, Any]:
    """Return the times of one shape in all ways, alternating.

    Raises:
        SystemExit: gradients are wrong.
    """
    dtype, most = TYPES[kind]
    args = arguments(rows, length, dtype)
    calls = {}
    with torch.no_grad():
        for name in WAYS:
            calls[name] = compiled(name, args)
            found = errors(calls[name](), args)
            if not max(found) < most:
                raise SystemExit(f"{rows} x {length} {kind} {name}: errors {found}")
        times: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                times[name].append(seconds(call))
    moved = 3 * rows * length * args[0].element_size()
    return {
        "seconds": {name: statistics.median(some) for name, some in times.items()},
        "bytes": moved,
    }


def main() -> int:
    """Measure, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--deadline", type=float, default=240, help="seconds")
    options = parser.parse_args()
    until = time.monotonic() + options.deadline
    cases: list[dict[str, Any]] = []
    shapes = [(r, n, kind) for kind in TYPES for n in LENGTHS for r in ROWS]
    for rows, length, kind in shapes:
        row: dict[str, Any] = {"rows": rows, "length": length, "type": kind}
        if time.monotonic() > until:
            cases.append({**row, "skipped": "deadline"})
            continue
        row |= measured(rows, length, kind)
        cases.append(row)
        found = row["seconds"]
        shares = " ".join(f"{name} {1e6 * found[name]:7.1f}" for name in WAYS)
        print(f"{rows:6} x {length:5} {kind:9} us: {shares}", flush=True)
        report = {
            "question": "Do column sums on the way over rows pay?",
            "commit": options.commit,
            "machine": torch.cuda.get_device_name(),
            "versions": {"torch": torch.__version__},
            "cases": cases,
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
