"""Speed of the fusing compiler on a GPU, against Inductor and a copy of the same bytes.

In each round a copy, ours and Inductor's run on the same inputs in turns, timed by
CUDA events; medians are compared. The roofline of an item is the time of a
device-to-device copy of as many bytes, reads and writes together, in the same run.
Results are compared with float64: root-mean-square error over eager mode's.
"""

import argparse
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

CACHES = Path(tempfile.mkdtemp(prefix="fusing-"))
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(CACHES / "inductor"))
os.environ.setdefault("TILEWRIGHT_CACHE", str(CACHES / "tilewright"))
os.environ.setdefault("TRITON_CACHE_DIR", str(CACHES / "triton"))

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from benchmarks.micro import GPU, ITEMS, Item, moved_bytes

BACKENDS = ("tilewright", "inductor")
RESULTS = Path(__file__).parent / "results" / "fusing_gpu.json"
CALLS = 8
"""Calls between two events."""


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Return all tensors of an output."""
    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "items"):
        value = [part for _, part in value.items()]
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in tensors_of(part)]
    return []


def compiled(function: Any, backend: str, args: Sequence[Any]) -> tuple[Any, float]:
    """Return a compiled function and the seconds of its first call."""
    torch._dynamo.reset()
    ready: Any
    if backend == "tilewright":
        from tilewright.backend import compile as ours

        options: dict[str, Any] = {"fallback": False}
        ready = torch.compile(function, backend=ours, options=options)
    else:
        ready = torch.compile(function, backend=backend)
    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.no_grad():
        ready(*args)
    torch.cuda.synchronize()
    return ready, time.perf_counter() - start


def _event() -> Any:
    event: Any = torch.cuda.Event
    return event(enable_timing=True)


def seconds(call: Callable[[], Any], count: int = CALLS) -> float:
    """Return the mean time of a call on the device [s]."""
    first, last = (_event() for _ in range(2))
    call()  # the device is busy while the host queues the calls that are timed
    first.record()
    for _ in range(count):
        call()
    last.record()
    last.synchronize()
    taken: float = first.elapsed_time(last)
    return taken * 1e-3 / count


def alternate(
    calls: dict[str, Callable[[], Any]], rounds: int, count: int = CALLS
) -> dict[str, float]:
    """Return the median time of each call, run in turns [s]."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    with torch.no_grad():
        for call in calls.values():
            seconds(call, 3)
        for number in range(rounds):
            names = list(calls)
            for name in names if number % 2 else reversed(names):
                times[name].append(seconds(calls[name], count))
    return {name: statistics.median(found) for name, found in times.items()}


def copy_of(bytes_moved: int) -> Callable[[], Any]:
    """Return a copy that reads and writes so many bytes together."""
    source = torch.randint(
        0, 255, (bytes_moved // 2,), dtype=torch.uint8, device="cuda"
    )
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def poison() -> None:
    """Fill the memory that the next outputs will be given with NaN."""
    torch.empty(1 << 31, dtype=torch.uint8, device="cuda").fill_(255)


def wide(value: Any) -> Any:
    """Return a floating tensor in float64."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def errors(found: Any, eager: Any, exact: Any) -> dict[str, Any]:
    """Return the worst RMS error over eager's, and whether types and strides agree."""
    worst, same = 0.0, True
    for ours, theirs, right in zip(
        tensors_of(found), tensors_of(eager), tensors_of(exact), strict=True
    ):
        same &= ours.dtype == theirs.dtype and ours.stride() == theirs.stride()
        if not theirs.is_floating_point():
            worst = max(worst, 0.0 if torch.equal(ours, theirs) else math.inf)
            continue
        scale = right.double().square().mean().sqrt().item() or 1.0
        a = (ours.double() - right).square().mean().sqrt().item()
        b = (theirs.double() - right).square().mean().sqrt().item()
        tiny = torch.finfo(ours.dtype).eps * scale * 1e-3
        worst = max(worst, math.inf if math.isnan(a) else a / max(b, tiny))
    return {"rms_over_eager": worst, "same_types_and_strides": same}


def micro(names: list[str], rounds: int, variants: bool, until: float) -> list[Any]:
    """Return the rows of the micro suite."""
    rows = []
    for item in ITEMS:
        if names and item.name not in names:
            continue
        if time.monotonic() > until:
            rows.append({"name": item.name, "skipped": "deadline"})
            continue
        try:
            row = _item(item, rounds, variants)
        except Exception:
            row = {"name": item.name, "failed": traceback.format_exc()[-1500:]}
            print(item.name, "FAILED", row["failed"], flush=True)
        rows.append(row)
        torch.cuda.empty_cache()
        yield_rows(rows)
    return rows


def yield_rows(rows: list[Any], name: str = "micro.json") -> None:
    """Write what there is to ``$OUT``, in case the run is cut short."""
    out = os.environ.get("OUT")
    if out:
        Path(out, name).write_text(json.dumps(rows, indent=1))


def _item(item: Item, rounds: int, variants: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    args = item.inputs(GPU)
    row: dict[str, Any] = {"name": item.name}
    with torch.no_grad():
        eager = item.function(*args)
        exact = item.function(*map(wide, args))
    row["bytes"] = moved_bytes(tensors_of(args), tensors_of(eager))
    calls: dict[str, Callable[[], Any]] = {"copy": copy_of(row["bytes"])}
    kernels: list[Any] = []
    for backend in BACKENDS:
        with recorded(kernels if backend == "tilewright" else []):
            ready, taken = compiled(item.function, backend, args)
        poison()
        with torch.no_grad():
            found = errors(ready(*args), eager, exact)
        row.update({f"{backend}_{key}": value for key, value in found.items()})
        row[f"{backend}_compile_s"] = taken
        calls[backend] = _bound(ready, args)
    del eager, exact
    for key, value in alternate(calls, rounds).items():
        row[f"{key}_us"] = value * 1e6
    row["over_roofline"] = row["tilewright_us"] / row["copy_us"]
    row["inductor_over_roofline"] = row["inductor_us"] / row["copy_us"]
    row["over_inductor"] = row["tilewright_us"] / row["inductor_us"]
    row["kernels"] = [kernel.name for kernel in kernels]
    show(row)
    if variants:
        row["variants"] = [variants_of(kernel) for kernel in kernels]
    return row


class recorded:  # noqa: N801 - a context manager
    """Remember the kernels that are built meanwhile."""

    def __init__(self, kernels: list[Any]) -> None:
        self.kernels = kernels

    def __enter__(self) -> None:
        import compiler.codegen.triton as printer

        self.printer, self.build = printer, printer.build

        def build(kernels: Iterable[Any], *rest: Any, **options: Any) -> Any:
            found = list(kernels)
            self.kernels.extend(found)
            return self.build(found, *rest, **options)

        printer.build = build

    def __exit__(self, *_: object) -> None:
        self.printer.build = self.build


def variants_of(kernel: Any) -> dict[str, Any]:
    """Return the time of each candidate plan of a kernel, on random data."""
    from compiler.codegen.triton import print_kernel
    from compiler.codegen.triton.candidates import candidates
    from compiler.codegen.triton.plan import plan
    from compiler.ir.points import size
    from compiler.ir.scalar import torch_type
    from compiler.runtime.triton_kernel import TritonKernel
    from compiler.runtime.triton_pool import POOL

    tensors = {}
    for name, buffer in kernel.buffers.items():
        shape = [size(extent, {}) for extent in buffer.shape]
        strides = [size(stride, {}) for stride in buffer.strides]
        tensor = torch.empty_strided(
            shape, strides, dtype=torch_type(buffer.dtype), device="cuda"
        )
        tensors[name] = (
            tensor.normal_() if tensor.is_floating_point() else tensor.random_(0, 2)
        )
    major, minor = torch.cuda.get_device_capability()
    plans = candidates(plan(kernel))
    built = [TritonKernel(print_kernel(kernel, chosen)) for chosen in plans]
    POOL.compile([b.job(10 * major + minor) for b in built])
    rows = []
    for chosen, ready in zip(plans, built, strict=True):
        row: dict[str, Any] = {
            "tile": {axis.name: axis.block for axis in chosen.tile},
            "warps": chosen.num_warps,
            "stages": chosen.num_stages,
        }
        try:
            arguments = [tensors[name] for name in ready.parameters]
            call = _bound(ready, arguments)
            seconds(call, 2)
            row["us"] = 1e6 * min(seconds(call) for _ in range(5))
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}"[:200]
        rows.append(row)
    base = rows[0].get("us", math.nan)
    best = min((r for r in rows if "us" in r), key=lambda r: r["us"], default=rows[0])
    print(
        f"    {kernel.name[:40]:40s} {base:8.1f} us, best {best.get('us', 0):8.1f} "
        f"{best['tile']} warps {best['warps']} stages {best['stages']}",
        flush=True,
    )
    return {"kernel": kernel.name, "plans": rows}


def _bound(call: Any, args: Sequence[Any]) -> Callable[[], Any]:
    return lambda: call(*args)


def geomean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    found = list(values)
    return math.exp(sum(map(math.log, found)) / len(found)) if found else math.nan


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    print(
        f"{row['name']:16s} copy {row['copy_us']:7.1f} "
        f"ours {row['tilewright_us']:7.1f} inductor {row['inductor_us']:7.1f} us  "
        f"roofline {row['over_roofline']:.3f} "
        f"inductor's {row['inductor_over_roofline']:.3f}  compile "
        f"{row['tilewright_compile_s']:.1f} {row['inductor_compile_s']:.1f} s  error "
        f"{row['tilewright_rms_over_eager']:.2f} "
        f"{row['inductor_rms_over_eager']:.2f}",
        flush=True,
    )


def summary(rows: list[Any]) -> dict[str, Any]:
    """Return the means of the suite; rows that failed are counted."""
    good = [row for row in rows if "over_roofline" in row]
    slow = [row["name"] for row in good if row["over_roofline"] > 1.35]
    behind = [row["name"] for row in good if row["over_inductor"] > 1.03]
    level = [
        row["name"]
        for row in good
        if row["inductor_over_roofline"] > 1.10 and row["over_inductor"] > 0.95
    ]
    return {
        "cases": len(rows),
        "measured": len(good),
        "time_over_roofline": geomean(r["over_roofline"] for r in good),
        "inductor_over_roofline": geomean(r["inductor_over_roofline"] for r in good),
        "time_over_inductor": geomean(r["over_inductor"] for r in good),
        "compile_over_inductor": geomean(
            r["tilewright_compile_s"] / r["inductor_compile_s"] for r in good
        ),
        "above_1.35_of_roofline": slow,
        "above_1.03_of_inductor": behind,
        "not_5_percent_faster_where_inductor_is_above_1.10": level,
    }


def machine() -> dict[str, Any]:
    """Return where and with what this runs."""
    import triton

    return {
        "gpu": torch.cuda.get_device_name(),
        "driver_cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def throw_away() -> None:
    """Pay once for what the first compile of a process costs."""
    x = torch.randn(64, 64, device="cuda")
    for backend in BACKENDS:
        _, taken = compiled(lambda x: (x + 1).sum(), backend, (x,))
        print(f"first compile of {backend}: {taken:.1f} s", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the suite and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--variants", action="store_true", help="time other plans too")
    parser.add_argument("--no-micro", action="store_true", help="models only")
    parser.add_argument("--models", nargs="*", help="time models, all or these")
    parser.add_argument("--ways", nargs="*", default=[], help="of running a model")
    parser.add_argument("--deadline", type=float, default=500, help="[s]")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--write", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    until = time.monotonic() + chosen.deadline
    throw_away()
    rows = []
    if not chosen.no_micro:
        rows = micro(chosen.items, chosen.rounds, chosen.variants, until)
        print(json.dumps(summary(rows), indent=1), flush=True)
    found: dict[str, Any] = {
        "commit": chosen.commit,
        "machine": machine(),
        "rounds": chosen.rounds,
        "calls_a_round": CALLS,
        "summary": summary(rows),
        "micro": rows,
    }
    chosen.write.write_text(json.dumps(found, indent=1) + "\n")
    if chosen.models is not None:
        from benchmarks.fusing_gpu_models import model_summary, models

        found["models"] = models(chosen.models, chosen.ways, 10, until)
        found["models_summary"] = model_summary(found["models"])
        print(json.dumps(found["models_summary"], indent=1))
        chosen.write.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
