"""Where the time of a model goes on a GPU: kernels by name, for each way to run it.

python benchmarks/models_profile_gpu.py --models gpt2 bert-base --out profile.json
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.fusing_gpu_models import MODELS, batch_of, compiled_way, model_of


def kernels(call: Any, calls: int) -> list[dict[str, Any]]:
    """Return the kernels of a call: name, launches, time [us], the longest first."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    rows = [
        {
            "name": event.key[:160],
            "launches": event.count / calls,
            "us": event.self_device_time_total / calls,
        }
        for event in seen.key_averages()
        if str(event.device_type).endswith("CUDA")
    ]
    return sorted(rows, key=lambda row: -row["us"])


def inference(name: str, way: str) -> Any:
    """Return a call of a model under bfloat16 autocast, without gradients."""
    torch._dynamo.reset()
    model, batch = model_of(name), batch_of(name)
    ready = compiled_way(model, way)

    def call() -> Any:
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            return ready(*batch)

    return call


def main() -> int:
    """Profile the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), required=True)
    parser.add_argument(
        "--ways", nargs="+", default=["eager", "inductor", "tilewright"]
    )
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.models:
        for way in options.ways:
            rows = kernels(inference(name, way), options.calls)
            found[f"{name} {way}"] = rows
            options.out.write_text(json.dumps(found, indent=1))
            total = sum(row["us"] for row in rows)
            print(f"{name} {way}: {total:.0f} us", flush=True)
            for row in rows[:12]:
                print(f"  {row['us']:8.1f} us {row['launches']:5.1f} {row['name']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
