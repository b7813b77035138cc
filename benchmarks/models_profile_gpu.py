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

from benchmarks.fusing_gpu_models import MODELS, batch_of, compiled_way, model_of
from benchmarks.kernel_times import kernels, shares


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
            print(json.dumps(shares(rows))[:200])
            print(f"{name} {way}: {total:.0f} us", flush=True)
            for row in rows[:12]:
                print(f"  {row['us']:8.1f} us {row['launches']:5.1f} {row['name']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
