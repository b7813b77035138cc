"""Where the time of a model goes on a GPU: kernels by name, for each way to run it.

python benchmarks/models_profile_gpu.py --models gpt2 bert-base --out profile.json
python benchmarks/models_profile_gpu.py --train --models mixer-b16 --out profile.json

With ``--train`` a call is a training step, forward and backward; then the operators
that start kernels are listed too, by the shapes of their inputs, and the time of a step
without the profiler, on the device and until the host has queued it.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import training_gpu, training_models  # sets the caches' folders first

import torch  # isort: skip

from benchmarks.fusing_gpu_models import MODELS, batch_of, compiled_way, model_of
from benchmarks.kernel_times import kernels, kernels_and_operators, shares

TOP = 16
"""Rows that are printed of a list; the file has all."""


def inference(name: str, way: str) -> Callable[[], Any]:
    """Return a call of a model under bfloat16 autocast, without gradients."""
    torch._dynamo.reset()
    model, batch = model_of(name), batch_of(name)
    ready = compiled_way(model, way)

    def call() -> Any:
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            return ready(*batch)

    return call


def training(name: str, way: str) -> Callable[[], Any]:
    """Return a training step of a model under bfloat16 autocast."""
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    model = training_models.model_of(name).cuda()
    batch = training_models.batch_of(name, "cuda")
    return training_gpu.step_of(model, training_gpu.compiled_way(model, way), batch)


def step_times(call: Callable[[], Any], rounds: int = 10) -> dict[str, float]:
    """Return medians [ms] of a call: on the device, and until it is queued."""
    device, host = [], []
    for _ in range(rounds):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start = time.perf_counter()
        before.record()
        call()
        after.record()
        host.append((time.perf_counter() - start) * 1e3)
        torch.cuda.synchronize()
        device.append(before.elapsed_time(after))
    return {"ms": statistics.median(device), "host_ms": statistics.median(host)}


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a list's total and its first rows."""
    print(f"{title}: {sum(row['us'] for row in rows):.0f} us", flush=True)
    for row in rows[:TOP]:
        name = f"{row['name']} {row.get('shapes', '')}"[:180]
        print(f"  {row['us']:8.1f} us {row['launches']:5.1f} {name}")


def main() -> int:
    """Profile the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), required=True)
    parser.add_argument(
        "--ways", nargs="+", default=["eager", "inductor", "tilewright"]
    )
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--deadline", type=float, default=500, help="[s]")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    until = time.monotonic() + options.deadline
    found: dict[str, Any] = {"commit": options.commit}
    for name in options.models:
        for way in options.ways:
            if time.monotonic() > until:
                print(f"{name} {way}: skipped, deadline", flush=True)
                continue
            started = time.monotonic()
            if options.train:
                step = training(name, way)
                rows, operators = kernels_and_operators(step, options.calls)
                times = step_times(step)
                found[f"{name} {way} operators"] = operators
                found[f"{name} {way} times"] = times
                print(f"{name} {way}:", json.dumps(times))
            else:
                rows = kernels(inference(name, way), options.calls)
            found[f"{name} {way}"] = rows
            print(json.dumps(shares(rows))[:200])
            show(f"{name} {way}, kernels", rows)
            if options.train:
                show(f"{name} {way}, operators", operators)
            print(f"{name} {way}: took {time.monotonic() - started:.0f} s", flush=True)
            options.out.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
