"""Seven models with random weights on a GPU, inference under bfloat16 autocast.

Each runs by eager mode, by Inductor and by ours, both in their default mode and with
CUDA graphs, in turns; results are compared with float64's by RMS error over eager's.
"""

import copy
import math
import os
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

from benchmarks.fusing_gpu import (
    alternate,
    errors,
    geomean,
    poison,
    tensors_of,
    yield_rows,
)
from benchmarks.kernel_times import kernels, shares
from benchmarks.training_models import fill_zeros

_BERT: dict[str, Any] = {}
_GPT2: dict[str, Any] = {"use_cache": False}
_LLAMA: dict[str, Any] = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "use_cache": False,
}

MODELS: dict[str, tuple[str, ...]] = {
    "bert-base": ("BertConfig", "BertModel"),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel"),
    "llama-0.3b": ("LlamaConfig", "LlamaForCausalLM"),
    "resnet50": ("resnet50",),
    "vit-base": ("vit_base_patch16_224",),
    "convnext-tiny": ("convnext_tiny",),
    "mixer-b16": ("mixer_b16_224",),
}
"""Name -> config and model of transformers, or model of timm."""

_SETTINGS = {"bert-base": _BERT, "gpt2": _GPT2, "llama-0.3b": _LLAMA}
_TOKENS = {"bert-base": (16, 512), "gpt2": (8, 1024), "llama-0.3b": (8, 1024)}
_IMAGES = (64, 3, 224, 224)

WAYS = {
    "eager": None,
    "inductor": ("inductor", None),
    "tilewright": ("tilewright", None),
    "inductor_graphs": ("inductor", "reduce-overhead"),
    "tilewright_graphs": ("tilewright", "reduce-overhead"),
}
"""Way -> backend and mode."""


def model_of(name: str) -> torch.nn.Module:
    """Return a model in evaluation mode with random weights, on the GPU."""
    torch.manual_seed(0)
    if name in _SETTINGS:
        import transformers

        config_class, model_class = MODELS[name]
        config = getattr(transformers, config_class)(**_SETTINGS[name])
        made = getattr(transformers, model_class)(config)
    else:
        import timm

        made = timm.create_model(MODELS[name][0], pretrained=False)
        fill_zeros(made)
    ready: torch.nn.Module = made.eval().cuda()
    return ready


def batch_of(name: str) -> tuple[Any, ...]:
    """Return the arguments of a model."""
    torch.manual_seed(1)
    if name in _TOKENS:
        return (torch.randint(3, 30000, _TOKENS[name], device="cuda"),)
    return (torch.randn(_IMAGES, device="cuda"),)


def compiled_way(model: torch.nn.Module, way: str) -> Any:
    """Return the model as a way runs it."""
    chosen = WAYS[way]
    if chosen is None:
        return model
    backend, mode = chosen
    options: dict[str, Any] = {} if mode is None else {"mode": mode}
    if backend == "tilewright":
        from tilewright.backend import compile as ours

        return torch.compile(model, backend=ours, options=options)
    return torch.compile(model, backend=backend, mode=mode)


def measure(name: str, ways: list[str], rounds: int) -> dict[str, Any]:
    """Return the times of one model."""
    row: dict[str, Any] = {"name": name}
    model, batch = model_of(name), batch_of(name)
    wide = copy.deepcopy(model).double()
    with torch.no_grad():
        exact = wide(*(b.double() if b.is_floating_point() else b for b in batch))
        del wide
        exact = [tensor.float() for tensor in tensors_of(exact)]
        with torch.autocast("cuda", torch.bfloat16):
            eager = [t.clone() for t in tensors_of(model(*batch))]
    calls: dict[str, Callable[[], Any]] = {}
    for way in ways:
        try:
            calls[way] = _ready(row, model, batch, way, eager, exact)
        except Exception:
            row[f"{way}_failed"] = traceback.format_exc()[-1500:]
            print(name, way, "FAILED", row[f"{way}_failed"], flush=True)
    del eager, exact
    with torch.autocast("cuda", torch.bfloat16):
        for key, value in alternate(calls, rounds, 2).items():
            row[f"{key}_ms"] = value * 1e3
        if "tilewright" in calls:
            with torch.no_grad():
                row["tilewright_time"] = shares(kernels(calls["tilewright"], 1))
    return row


def _ready(
    row: dict[str, Any],
    model: torch.nn.Module,
    batch: tuple[Any, ...],
    way: str,
    eager: list[torch.Tensor],
    exact: list[torch.Tensor],
) -> Callable[[], Any]:
    torch._dynamo.reset()
    ready = compiled_way(model, way)

    def call() -> Any:
        return ready(*batch)

    start = time.perf_counter()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            call()
            torch.cuda.synchronize()
        row[f"{way}_compile_s"] = time.perf_counter() - start
        slower = [str(w.message)[:200] for w in told if "slower" in str(w.message)]
        if slower:
            row[f"{way}_fallbacks"] = slower
        for _ in range(3):
            call()
        poison()
        found = [tensor.clone() for tensor in tensors_of(call())]
    for key, value in errors(found, eager, exact).items():
        row[f"{way}_{key}"] = value
    return call


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    times = " ".join(f"{way} {row.get(f'{way}_ms', math.nan):.2f}" for way in WAYS)
    compiles = " ".join(
        f"{row.get(f'{way}_compile_s', math.nan):.1f}"
        for way in ("inductor", "tilewright")
    )
    error = row.get("tilewright_rms_over_eager", math.nan)
    print(
        f"{row['name']:14s} {times} ms  compile {compiles} s  error {error:.2f} "
        f"fallbacks {len(row.get('tilewright_fallbacks', []))}",
        flush=True,
    )


def models(
    names: list[str], ways: list[str], rounds: int, until: float
) -> list[dict[str, Any]]:
    """Return the rows of the models."""
    rows: list[dict[str, Any]] = []
    for name in MODELS:
        if names and name not in names:
            continue
        if time.monotonic() > until:
            rows.append({"name": name, "skipped": "deadline"})
            continue
        try:
            row = measure(name, ways or list(WAYS), rounds)
        except Exception:
            row = {"name": name, "failed": traceback.format_exc()[-1500:]}
            print(name, "FAILED", row["failed"], flush=True)
        else:
            show(row)
        rows.append(row)
        yield_rows(rows, "models.json")
        torch.cuda.empty_cache()
    return rows


def model_summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over the models; what failed is counted."""

    def mean(over: str, under: str) -> float:
        ratios = [
            row[f"{over}_ms"] / row[f"{under}_ms"]
            for row in rows
            if f"{over}_ms" in row and f"{under}_ms" in row
        ]
        return geomean(ratios)

    compiles = [
        row["tilewright_compile_s"] / row["inductor_compile_s"]
        for row in rows
        if "tilewright_compile_s" in row and "inductor_compile_s" in row
    ]
    return {
        "cases": len(rows),
        "measured": sum("tilewright_ms" in row for row in rows),
        "speed_over_inductor": mean("inductor", "tilewright"),
        "graphs_speed_over_inductor": mean("inductor_graphs", "tilewright_graphs"),
        "speed_over_eager": mean("eager", "tilewright"),
        "compile_over_inductor": geomean(compiles),
    }
