"""Collect the Triton kernels that Inductor generates for an H200, without one.

    python benchmarks/ttir_inductor_fake.py --out FOLDER --only resnet50

Ten models of full width are compiled by Inductor on tensors without data, whose device
says that it is an H200; what its wrapper launches is written down instead of run: TTIR
of each configuration that would be tried, arguments, grid. The language models have
three layers: all layers have the same kernels. Inference is in
bfloat16, training in float32. The texts are not committed; ``ttir_inductor.py`` checks
them and writes figures. ``ttir_inductor_collect.py`` does the same on a GPU.
"""

import argparse
import gzip
import importlib.metadata
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
os.environ["TIMM_FUSED_ATTN"] = "0"

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch

from benchmarks.model_zoo import declare_vision_operators, tensors_of
from benchmarks.pretended_gpu import H200, inductor_launches

BATCH, TOKENS, VOCABULARY, LAYERS = 8, 200, 32000, 3

LANGUAGE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert_base": ("BertConfig", "BertForMaskedLM", {"num_hidden_layers": LAYERS}),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_layer": LAYERS}),
    "llama_0.3b": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {
            "hidden_size": 1024,
            "intermediate_size": 2816,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "vocab_size": VOCABULARY,
        },
    ),
    "t5_small": ("T5Config", "T5ForConditionalGeneration", {"num_layers": LAYERS}),
}
VISION = {
    "resnet50": "resnet50",
    "vit_base": "vit_base_patch16_224",
    "convnext_tiny": "convnext_tiny",
    "mixer_b16": "mixer_b16_224",
    "efficientnet_b0": "efficientnet_b0",
    "mobilenetv3": "mobilenetv3_small_100",
}


def model_of(name: str) -> torch.nn.Module:
    """Return a model; its weights are without data, on the device."""
    declare_vision_operators()
    made: torch.nn.Module
    if name in VISION:
        import timm

        made = timm.create_model(VISION[name], pretrained=False)
    else:
        import transformers

        config_class, model_class, settings = LANGUAGE[name]
        config = getattr(transformers, config_class)(**settings)
        config.use_cache = False
        config._attn_implementation = "eager"
        made = getattr(transformers, model_class)(config)
    return made


def to_device(model: torch.nn.Module, dtype: torch.dtype) -> None:
    """Replace each weight by one without data on the device of the fake mode."""

    def empty(tensor: torch.Tensor) -> torch.Tensor:
        kind = dtype if tensor.is_floating_point() else tensor.dtype
        return torch.empty(tensor.shape, dtype=kind, device="cuda")

    seen: dict[int, torch.nn.Parameter] = {}
    for module in model.modules():
        for key, weight in list(module._parameters.items()):
            if weight is not None:
                if id(weight) not in seen:
                    seen[id(weight)] = torch.nn.Parameter(empty(weight))
                module._parameters[key] = seen[id(weight)]
        for key, buffer in list(module._buffers.items()):
            if buffer is not None:
                module._buffers[key] = empty(buffer)


def batch_of(name: str, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return a model's named arguments, without data."""
    if name in VISION:
        return {"x": torch.empty(BATCH, 3, 224, 224, dtype=dtype, device="cuda")}

    def tokens() -> torch.Tensor:
        return torch.zeros(BATCH, TOKENS, dtype=torch.int64, device="cuda")

    batch = {"input_ids": tokens(), "labels": tokens()}
    if name == "t5_small":
        batch["decoder_input_ids"] = tokens()
    return batch


def described(value: Any) -> dict[str, Any]:
    """Return an argument; tensors in one memory have comparable addresses."""
    if isinstance(value, torch.Tensor):
        start = value.untyped_storage()._cdata << 40
        return {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "strides": list(value.stride()),
            "address": start + value.storage_offset() * value.element_size(),
        }
    return {"value": value}


def records_of(tuner: Any, args: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Yield a launch of each configuration of a kernel."""
    from torch._inductor.runtime.triton_heuristics import GridExpr

    from compiler.triton_api import ttir_text

    order = tuner.fn.arg_names
    fixed = {parameter.name for parameter in tuner.fn.params if parameter.is_constexpr}
    names = [name for name in order if name not in fixed]
    for place, config in enumerate(tuner.configs):
        meta = tuner._create_compile_meta(config)
        constants = {
            order[key[0]] if isinstance(key, tuple) else key: value
            for key, value in meta["constants"].items()
        }
        divisible = {
            order[key[0]]: by
            for key, attributes in meta["configs"][0].items()
            for kind, by in attributes
            if kind == "tt.divisibility"
        }
        given = {n: k for n, k in meta["signature"].items() if n not in constants}
        named = dict(zip(names, args, strict=False))
        grid = GridExpr.from_meta(tuner.inductor_meta, config)
        extents = grid.eval_slow({**named, **config.kwargs})
        yield {
            "kernel": tuner.fn.__name__,
            "configuration": place,
            "constants": dict(config.kwargs),
            "ttir": ttir_text(
                tuner.fn,
                given,
                constants,
                divisible=divisible,
                checks=bool(meta["debug"]),
            ),
            "arguments": {n: described(v) for n, v in named.items() if n in given},
            "grid": [int(n) for n in extents],
        }


def collected(name: str, training: bool) -> list[dict[str, Any]]:
    """Return the launches of a model's kernels, each once."""
    found: dict[str, dict[str, Any]] = {}

    def launched(self: Any, *args: Any, **kwargs: Any) -> None:
        if hasattr(self, "noted"):
            return
        self.noted = True
        for record in records_of(self, args):
            record |= {"model": name, "training": training}
            found.setdefault(json.dumps([record["ttir"], record["grid"]]), record)

    dtype = torch.float32 if training else torch.bfloat16
    model = model_of(name)
    torch._dynamo.reset()
    with (
        inductor_launches(launched),
        torch.set_grad_enabled(training),
    ):
        to_device(model, dtype)
        compiled: Any = torch.compile(model.train(training))
        outputs = tensors_of(compiled(**batch_of(name, dtype)))
        if training:
            outputs[0].float().sum().backward()
    return list(found.values())


def main() -> int:
    """Compile, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--trace", action="store_true", help="of what failed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.out.mkdir(exist_ok=True, parents=True)
    versions = {
        "torch": torch.__version__,
        "triton": importlib.metadata.version("triton"),
        "device": f"none: compiled for {H200['name']}",
    }
    (options.out / "versions.json").write_text(json.dumps(versions))
    for name in (*LANGUAGE, *VISION):
        target = options.out / f"{name}.jsonl.gz"
        if options.only not in name or target.exists():
            continue
        started = time.monotonic()
        records = []
        for training in (False, True):
            try:
                records += collected(name, training)
            except Exception as error:
                said = f"{type(error).__name__} {str(error)[:300]}"
                print(name, f"training={training} failed:", said, flush=True)
                if options.trace:
                    traceback.print_exc()
        with gzip.open(target, "wt") as file:
            for one in records:
                file.write(json.dumps(one) + "\n")
        seconds = time.monotonic() - started
        print(name, len(records), f"launches in {seconds:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
