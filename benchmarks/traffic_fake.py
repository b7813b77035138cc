"""Bytes that the generated kernels of a training step move, ours and Inductor's.

    python benchmarks/traffic_fake.py --json benchmarks/results/traffic_fake.json

Seven models of full width under bfloat16 autocast are traced forward and backward on a
CUDA device that is not there (``fake_cuda.py``, ``pretended_gpu.py``); those made of
equal layers have three. Of each kernel the arrays that it touches are summed, one that
it reads and writes twice. Attention is taken apart in both, products and convolutions
are calls in both and not counted. Nothing runs: the figures are exact and need no GPU.
"""

import argparse
import importlib.metadata
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch

from benchmarks import training_models as models
from benchmarks.model_zoo import declare_vision_operators
from benchmarks.pretended_gpu import inductor_launches

LAYERS = 3
_DEPTH = {
    "gpt2": "n_layer",
    "bert-base": "num_hidden_layers",
    "llama-0.3b": "num_hidden_layers",
    "vit-base": "depth",
}
Moved = dict[str, tuple[int, int]]
"""Part -> number of launches, bytes."""


def model_of(name: str) -> torch.nn.Module:
    """Return a model that returns its loss."""
    declare_vision_operators()
    fewer: dict[str, Any] = {_DEPTH[name]: LAYERS} if name in _DEPTH else {}
    made: Any
    if name in models.LANGUAGE:
        import transformers

        language = models.LANGUAGE[name]
        settings = {**language.settings, **models._DROPLESS[language.config], **fewer}
        config = getattr(transformers, language.config)(use_cache=False, **settings)
        made = getattr(transformers, language.model)(config)
    else:
        import timm

        made = timm.create_model(models.VISION[name], pretrained=False, **fewer)
    return models.Loss(made, name in models.LANGUAGE)


def batch_of(name: str) -> dict[str, torch.Tensor]:
    """Return its arguments."""
    if name in models.LANGUAGE:
        tokens = models.LANGUAGE[name].tokens
        made = torch.zeros(tokens, dtype=torch.int64)
        return {"inputs": made, "labels": made}
    count = models._IMAGES[0]
    labels = torch.zeros(count, dtype=torch.int64)
    return {"inputs": torch.empty(models._IMAGES), "labels": labels}


def bytes_of(tensor: torch.Tensor) -> int:
    """Return how many bytes a tensor's elements take; expanded ones count once."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return math.prod(n for n, step in pairs if step) * tensor.element_size()


def ours(name: str) -> Moved:
    """Return what our schedule moves."""
    from compiler.codegen.triton.printer import bytes_moved
    from compiler.frontend.constants import lift_constants
    from compiler.ir.kernel import Kernel
    from compiler.lower import REWRITES, lower
    from compiler.options import Options
    from compiler.schedule import schedule

    found: Moved = {}
    graphs = fake_cuda.graphs(
        lambda: model_of(name), lambda: batch_of(name), training=True, half=True
    )
    for part, graph, _ in graphs:
        lift_constants(graph)
        for rewrite in REWRITES:
            rewrite(graph)
        options = Options()
        steps = schedule(lower(graph, options=options), options).steps
        kernels = [step for step in steps if isinstance(step, Kernel)]
        launches, moved = found.get(part, (0, 0))
        moved += sum(bytes_moved(kernel) or 0 for kernel in kernels)
        found[part] = launches + len(kernels), moved
    return found


def inductors(name: str) -> Moved:
    """Return what Inductor's wrapper launches."""
    launches: list[int] = []

    def launched(self: Any, *args: Any, **_: Any) -> None:
        touched = {}
        for argument, value in zip(self.fn.arg_names, args, strict=False):
            if isinstance(value, torch.Tensor):
                place = value.untyped_storage()._cdata, value.storage_offset()
                times = 2 if argument.startswith("in_out") else 1
                touched[(*place, value.shape)] = times * bytes_of(value)
        launches.append(sum(touched.values()))

    torch._dynamo.reset()
    with torch.device("meta"):
        model = model_of(name).train()
    with (
        inductor_launches(launched),
        torch.device("cuda"),
    ):
        fake_cuda._without_data(model, "cuda")
        batch = batch_of(name)
        compiled: Any = torch.compile(model, backend="inductor")
        for _ in range(2):  # the first step also launches what is tried
            launches.clear()
            with torch.autocast("cuda", torch.bfloat16):
                loss = compiled(**batch)
            forward = len(launches)
            loss.sum().backward()
    return {
        "forward": (forward, sum(launches[:forward])),
        "backward": (len(launches) - forward, sum(launches[forward:])),
    }


def main() -> int:
    """Count, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", default="", help="models whose name has this in it")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    ways: dict[str, Callable[[str], Moved]] = {
        "tilewright": ours,
        "inductor": inductors,
    }
    facts: dict[str, Any] = {"versions": {}, "layers": LAYERS, "models": {}}
    if chosen.json.exists():
        facts = json.loads(chosen.json.read_text())
    for package in ("torch", "triton", "transformers", "timm"):
        facts["versions"][package] = importlib.metadata.version(package)
    for name in (name for name in models.NAMES if chosen.only in name):
        started = time.monotonic()
        row: dict[str, Any] = {}
        for way, count in ways.items():
            for part, (launches, moved) in count(name).items():
                row[f"{way}_{part}_launches"] = launches
                row[f"{way}_{part}_megabytes"] = round(moved / 1e6, 1)
        for part in ("forward", "backward"):
            mine, other = (row[f"{way}_{part}_megabytes"] for way in ways)
            row[f"{part}_ratio"] = round(mine / other, 3)
        facts["models"][name] = row
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n")
        ratios = row["forward_ratio"], row["backward_ratio"]
        print(f"{name:15}", *ratios, f"{time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
