"""Training steps of seven models and an optimizer's step on a GPU.

    PYTHONPATH=. python benchmarks/training_gpu.py --deadline 500 --out training.json

Forward and backward under bfloat16 autocast, by eager mode, by Inductor and by ours,
both in their default mode and with CUDA graphs, in turns. Gradients are compared with
float64's by RMS error over eager's. Peak memory is what a way allocates beyond the
weights; with CUDA graphs, what it reserves. The optimizer is AdamW over 200 tensors of
100 million numbers in all, against a copy of the bytes that it must move: the time that
the device needs, and with the host's.
"""

import argparse
import copy
import gc
import json
import math
import statistics
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.fusing_gpu import (  # sets the caches' folders before torch is there
    alternate,
    copy_of,
    geomean,
    machine,
    poison,
    throw_away,
    yield_rows,
)

import torch  # isort: skip

from benchmarks import turns
from benchmarks.training_models import NAMES, Loss, batch_of, model_of

WAYS: dict[str, tuple[str, str | None] | None] = {
    "eager": None,
    "inductor": ("inductor", None),
    "tilewright": ("tilewright", None),
    "inductor_graphs": ("inductor", "reduce-overhead"),
    "tilewright_graphs": ("tilewright", "reduce-overhead"),
}
"""Way -> backend and mode."""

RESULTS = Path(__file__).parent / "results" / "training_gpu.json"


def compiled_way(model: Any, way: str) -> Any:
    """Return a callable as a way runs it."""
    chosen = WAYS[way]
    if chosen is None:
        return model
    backend, mode = chosen
    if backend == "tilewright":
        from tilewright.backend import compile as ours

        options: dict[str, Any] = {} if mode is None else {"mode": mode}
        return torch.compile(model, backend=ours, options=options)
    return torch.compile(model, backend=backend, mode=mode)


def step_of(model: Loss, ready: Any, batch: Any) -> Callable[[], Any]:
    """Return a training step without the optimizer; its gradients replace the last."""

    def step() -> Any:
        torch.compiler.cudagraph_mark_step_begin()
        model.zero_grad(set_to_none=True)
        with torch.enable_grad(), torch.autocast("cuda", torch.bfloat16):
            loss = ready(*batch)
        loss.backward()
        return loss

    return step


def gradients(model: Loss) -> list[torch.Tensor]:
    """Return a copy of all gradients in float32."""
    return [p.grad.float().clone() for p in model.parameters() if p.grad is not None]


def distance(found: list[torch.Tensor], exact: list[torch.Tensor]) -> float:
    """Return the RMS difference over all elements; infinite where it is undefined."""
    total = sum(
        float((a.double() - b.double()).square().sum())
        for a, b in zip(found, exact, strict=True)
    )
    error = math.sqrt(total / sum(a.numel() for a in found))
    return math.inf if math.isnan(error) else error


def measure(
    name: str, ways: list[str], rounds: int, *, dropout: bool
) -> dict[str, Any]:
    """Return the times, errors and memory of one model."""
    row: dict[str, Any] = {"name": name, "dropout": dropout}
    model, batch = model_of(name, dropout=dropout).cuda(), batch_of(name, "cuda")
    wide = copy.deepcopy(model).double()
    inputs, labels = batch
    inputs = inputs.double() if inputs.is_floating_point() else inputs
    with turns.beside():
        wide(inputs, labels).backward()
        exact = gradients(wide)
        torch.cuda.synchronize()
    del wide
    torch.cuda.empty_cache()
    buffers = {key: value.clone() for key, value in model.state_dict().items()}
    calls: dict[str, Callable[[], Any]] = {}
    for way in ways:
        model.load_state_dict(buffers)
        try:
            with turns.beside():
                calls[way] = _ready(row, model, batch, way, exact)
        except Exception:
            row[f"{way}_failed"] = traceback.format_exc()[-1500:]
            print(name, way, "FAILED", row[f"{way}_failed"], flush=True)
    del exact
    with turns.alone():
        for key, value in alternate(calls, rounds, 2).items():
            row[f"{key}_ms"] = value * 1e3
    return row


def _ready(
    row: dict[str, Any],
    model: Loss,
    batch: Any,
    way: str,
    exact: list[torch.Tensor],
) -> Callable[[], Any]:
    torch._dynamo.reset()
    model.zero_grad(set_to_none=True)
    gc.collect()  # what earlier ways left in cycles would be freed in the middle
    torch.cuda.empty_cache()
    memory = _reserved if way.endswith("_graphs") else torch.cuda.max_memory_allocated
    torch.cuda.reset_peak_memory_stats()
    before = memory()
    step = step_of(model, compiled_way(model, way), batch)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        step()
        torch.cuda.synchronize()
    row[f"{way}_compile_s"] = time.perf_counter() - start
    slower = [str(w.message)[:200] for w in told if "slower" in str(w.message)]
    if slower:
        row[f"{way}_fallbacks"] = slower
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    row[f"{way}_peak_mb"] = (memory() - before) / 2**20
    poison()
    step()
    error = distance(gradients(model), exact)
    row[f"{way}_gradient_rms"] = error
    if way != "eager":
        row[f"{way}_rms_over_eager"] = error / row["eager_gradient_rms"]
    model.zero_grad(set_to_none=True)
    return step


def _reserved() -> int:
    """Return the most memory taken from the device [bytes].

    What CUDA graphs replay into is no allocation, but reserved for them.
    """
    return torch.cuda.max_memory_reserved()


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    cells = "  ".join(
        f"{way} {row.get(f'{way}_ms', math.nan):.2f} ms "
        f"{row.get(f'{way}_peak_mb', math.nan):.0f} MB"
        for way in WAYS
    )
    compiles = " ".join(
        f"{row.get(f'{way}_compile_s', math.nan):.1f}"
        for way in ("inductor", "tilewright")
    )
    print(
        f"{row['name']:14s} {cells}  compile {compiles} s  error "
        f"{row.get('tilewright_rms_over_eager', math.nan):.2f} "
        f"{row.get('tilewright_graphs_rms_over_eager', math.nan):.2f} "
        f"fallbacks {len(row.get('tilewright_fallbacks', []))}",
        flush=True,
    )


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over the models; what failed is counted."""

    def mean(over: str, under: str) -> float:
        return geomean(
            row[over] / row[under]
            for row in rows
            if row.get(over, 0) > 0 and row.get(under, 0) > 0
        )

    return {
        "cases": len(rows),
        "measured": sum("tilewright_ms" in row for row in rows),
        "measured_graphs": sum("tilewright_graphs_ms" in row for row in rows),
        "speed_over_eager": mean("eager_ms", "tilewright_ms"),
        "speed_over_inductor": mean("inductor_ms", "tilewright_ms"),
        "graphs_speed_over_inductor": mean(
            "inductor_graphs_ms", "tilewright_graphs_ms"
        ),
        "compile_over_inductor": mean("tilewright_compile_s", "inductor_compile_s"),
        "peak_over_inductor": mean("tilewright_peak_mb", "inductor_peak_mb"),
        "graphs_peak_over_inductor": mean(
            "tilewright_graphs_peak_mb", "inductor_graphs_peak_mb"
        ),
    }


def queued(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median time that the device needs for each call [s], in turns.

    The device is kept busy while the host puts three calls into its queue: an
    optimizer's step comes behind a backward pass, and checks hundreds of tensors. A
    call for which the host takes longer than a second has no time.
    """
    times: dict[str, list[float]] = {key: [] for key in calls}
    cycles = dict.fromkeys(calls, 200_000_000)  # 0.1 s
    for _ in range(rounds):
        for key, call in calls.items():
            while cycles[key] <= 2_000_000_000:
                took = _behind_sleep(call, cycles[key])
                if took is not None:
                    times[key].append(took / 3e3)
                    break
                cycles[key] *= 2
    return {key: statistics.median(found) for key, found in times.items() if found}


def _behind_sleep(call: Callable[[], Any], cycles: int) -> float | None:
    """Return what three calls take on the device [ms], None if the host was late."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(cycles)
    start.record()
    for _ in range(3):
        call()
    end.record()
    late = start.query()
    torch.cuda.synchronize()
    return None if late else start.elapsed_time(end)


def adamw(rounds: int) -> dict[str, Any]:
    """Return the time of an AdamW step by eager mode, Inductor and ours.

    200 tensors of 100 million float32 in all: weights and both moments are read and
    written, gradients are read.
    """
    count, total = 200, 100_000_000
    row: dict[str, Any] = {"tensors": count, "numbers": total, "bytes": 7 * 4 * total}
    calls: dict[str, Callable[[], Any]] = {"copy": copy_of(row["bytes"])}
    exact: list[torch.Tensor] = []
    for way in ("eager", "inductor", "tilewright"):
        torch.manual_seed(0)
        weights = [
            torch.nn.Parameter(torch.randn(total // count, device="cuda"))
            for _ in range(count)
        ]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        optimizer = torch.optim.AdamW(
            weights, lr=torch.tensor(1e-3, device="cuda"), capturable=True
        )
        torch._dynamo.reset()
        step = compiled_way(optimizer.step, way)
        with turns.beside():
            start = time.perf_counter()
            for _ in range(3):
                step()
            torch.cuda.synchronize()
            row[f"{way}_compile_s"] = time.perf_counter() - start
        if exact:
            row[f"{way}_worst"] = max(
                float((a - b).abs().max()) for a, b in zip(weights, exact, strict=True)
            )
        else:
            exact = [weight.detach().clone() for weight in weights]
        calls[way] = step
    with turns.alone():
        for key, value in alternate(calls, rounds, 2).items():
            row[f"{key}_host_us"] = value * 1e6
        for key, value in queued(calls, rounds).items():
            row[f"{key}_us"] = value * 1e6
    row["over_bytes"] = row.get("tilewright_us", math.inf) / row["copy_us"]
    return row


def merged(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one report of runs on like GPUs, each of some of the models.

    Raises:
        SystemExit: they are of several commits or machines.
    """
    first = reports[0]
    for other in reports[1:]:
        for key in ("commit", "rounds"):
            if other[key] != first[key]:
                raise SystemExit(f"one {key} is needed, not {first[key]}, {other[key]}")
    rows = [row for report in reports for row in report["models"]]
    rows.sort(key=lambda row: NAMES.index(row["name"]))
    adamw = [report["adamw"] for report in reports if "adamw" in report]
    whole = {**first, "models": rows, "runs": [r["machine"] for r in reports]}
    if adamw:
        whole["adamw"] = adamw[0]
    return {**whole, "summary": summary(rows)}


def main() -> int:
    """Run the models and write JSON after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(NAMES))
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--dropout", action="store_true", help="as configured")
    parser.add_argument("--no-adamw", action="store_true")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--deadline", type=float, default=500, help="[s]")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="*", help="write one of several")
    chosen = parser.parse_args()
    if chosen.merge:
        whole = merged([json.loads(path.read_text()) for path in chosen.merge])
        chosen.out.write_text(json.dumps(whole, indent=1) + "\n")
        print(json.dumps(whole["summary"], indent=1))
        return 0
    until = time.monotonic() + chosen.deadline
    throw_away()
    found: dict[str, Any] = {
        "commit": chosen.commit,
        "machine": machine(),
        "rounds": chosen.rounds,
        "models": [],
    }
    if not chosen.no_adamw:
        try:
            found["adamw"] = adamw(chosen.rounds)
        except Exception:
            found["adamw"] = {"failed": traceback.format_exc()[-1500:]}
        print("AdamW", json.dumps(found["adamw"]), flush=True)
        torch.cuda.empty_cache()
    rows = found["models"]
    for name in chosen.models:
        if time.monotonic() > until:
            rows.append({"name": name, "skipped": "deadline"})
            continue
        try:
            rows.append(
                measure(name, chosen.ways, chosen.rounds, dropout=chosen.dropout)
            )
            show(rows[-1])
        except Exception:
            rows.append({"name": name, "failed": traceback.format_exc()[-1500:]})
            print(name, "FAILED", rows[-1]["failed"], flush=True)
        yield_rows(rows, "training_rows.json")
        torch.cuda.empty_cache()
        found["summary"] = summary(rows)
        chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(summary(rows), indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
