"""Rehearse ``ttir_inductor_collect.py`` without a GPU, and check what it collects.

    python benchmarks/ttir_inductor_rehearse.py --out FOLDER
    python benchmarks/ttir_inductor.py FOLDER/inductor.jsonl.gz --json FOLDER/out.json

Its ten models are compiled on tensors without data; a kernel that would be launched is
compiled to TTIR, with its first configuration, and handed to the script as a launcher.
"""

import argparse
import sys
import types
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch

from benchmarks import ttir_inductor_collect as collect
from benchmarks import ttir_inductor_fake as fake
from benchmarks.pretended_gpu import H200, pretended


def run(tuner: Any, *args: Any, **options: Any) -> None:
    """Give a kernel the launcher that a run on a GPU would leave."""
    if getattr(tuner, "launchers", None):
        return
    first = next(fake.records_of(tuner, args))
    made = types.SimpleNamespace(asm={"ttir": first["ttir"]})
    launcher = types.SimpleNamespace(config=tuner.configs[0], bin=made)
    tuner.launchers = [launcher]


def moved(model: torch.nn.Module) -> torch.nn.Module:
    """Move a model to the device that is not there."""
    kinds = [parameter.dtype for parameter in model.parameters()]
    fake.to_device(model, (kinds or [torch.float32])[0])
    return model


def main() -> int:
    """Rehearse, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True, parents=True)
    warnings.simplefilter("ignore")
    from torch._inductor import config
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    from torch._subclasses.fake_tensor import FakeTensorMode

    made = collect.models()
    arguments = ["collect", "--out", str(options.out), "--seconds", "1000"]
    with (
        config.patch(size_asserts=False, alignment_asserts=False, shape_padding=False),
        mock.patch.object(sys, "argv", arguments),
        mock.patch.object(collect, "models", lambda: made),
        mock.patch.object(collect, "described", fake.described),
        mock.patch.object(CachingAutotuner, "run", run),
        mock.patch.object(CachingAutotuner, "precompile", lambda self, *a, **k: None),
        mock.patch.object(torch.nn.Module, "cuda", moved),
        mock.patch.object(torch.cuda, "get_device_name", lambda i: H200["name"]),
        pretended(),
        FakeTensorMode(allow_non_fake_inputs=True),
    ):
        return collect.main()


if __name__ == "__main__":
    raise SystemExit(main())
