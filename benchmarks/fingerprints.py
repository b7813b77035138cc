"""Do two commits generate the same code for the programs whose speed was measured?

    python benchmarks/fingerprints.py --commit HASH [--json OUT.json]

Prints a hash for each program: of the source of its kernels and of its schedule, for an
H200 that is not there. A time measured at one commit holds at another one where the
hashes agree. To compare, run this file with PYTHONPATH set to a clone of each commit.
"""

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch

from benchmarks.fusing_gpu_models import MODELS
from benchmarks.micro import GPU, ITEMS, Item
from benchmarks.ttir_own import large_batch, large_model

RESULTS = Path(__file__).parent / "results" / "fingerprints.json"


def texts(graphs: Iterable[Any]) -> Iterator[str]:
    """Yield what is generated for graphs: steps, and the kernels' sources."""
    from compiler.codegen.triton import print_kernel
    from compiler.frontend.constants import lift_constants
    from compiler.ir.kernel import Kernel
    from compiler.lower import REWRITES, lower
    from compiler.options import Options
    from compiler.schedule import schedule

    for part, graph, _ in graphs:
        lift_constants(graph)
        for rewrite in REWRITES:
            rewrite(graph)
        options = Options()
        found = schedule(lower(graph, options=options), options)
        yield part
        for step in found.steps:
            if isinstance(step, Kernel):
                # releases before kernels of Gluon's have hashes too
                yield repr(print_kernel(step)).replace(", gluon=False)", ")")
            else:
                yield repr(step)
        yield repr(getattr(found, "parts", None) or {})


class Micro(torch.nn.Module):
    """An item of the micro suite as a model."""

    def __init__(self, item: Item) -> None:
        super().__init__()
        self.item = item

    def forward(self, **inputs: torch.Tensor) -> Any:
        """Return what the item's function does."""
        return self.item.function(*inputs.values())


def hash_of(parts: Iterable[str]) -> str:
    """Return the start of a hash of texts, without the places that they name."""
    text = re.sub(r"(?<=[' ])/[^\s']*", "", "\0".join(parts))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def micro_hash(item: Item) -> str:
    """Return the hash of an item of the micro suite."""

    def batch() -> dict[str, torch.Tensor]:
        return {f"x{n}": tensor for n, tensor in enumerate(item.inputs(GPU))}

    return hash_of(texts(fake_cuda.graphs(lambda: Micro(item), batch)))


def model_hash(name: str) -> str:
    """Return the hash of a model in inference under bfloat16 autocast."""
    make, batch = partial(large_model, name), partial(large_batch, name)
    return hash_of(texts(fake_cuda.graphs(make, batch, half=True)))


def main() -> int:
    """Write the hashes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--items", nargs="*", default=[item.name for item in ITEMS])
    chosen = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    found: dict[str, str] = {}
    report = {
        "question": "What is generated for the programs whose speed was measured?",
        "commit": chosen.commit,
        "versions": {"torch": torch.__version__},
        "hashes": found,
    }
    for name in (*chosen.items, *chosen.models):
        items = [item for item in ITEMS if item.name == name]
        found[name] = micro_hash(items[0]) if items else model_hash(name)
        print(name, found[name], flush=True)
        chosen.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
